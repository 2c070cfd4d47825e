// SPDX-License-Identifier: MIT OR Apache-2.0
// A contract of any size: bytes after the creation code are deployed as padding that never runs. Slot 0 begins
// as 1. Each call adds 1 to slot 0 and returns the sum.
object "Deployed" {
    code {
        sstore(0, 1)
        let from := dataoffset("Deployed_deployed")
        let size := sub(codesize(), from)
        codecopy(0, from, size)
        return(0, size)
    }
    object "Deployed_deployed" {
        code {
            let next := add(sload(0), 1)
            sstore(0, next)
            mstore(0, next)
            return(0, 32)
        }
    }
}
