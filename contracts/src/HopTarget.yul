// A contract of a HopStorm's chain: returns the value of the slot at a key. All contracts of the chain have this
// code, and slots of their own.
// Calldata: key, 32 bytes. Reverts on calldata of another length.
object "HopTarget" {
    code {
        datacopy(0, dataoffset("HopTarget_deployed"), datasize("HopTarget_deployed"))
        return(0, datasize("HopTarget_deployed"))
    }
    object "HopTarget_deployed" {
        code {
            if iszero(eq(calldatasize(), 0x20)) { revert(0, 0) }

            mstore(0x00, sload(calldataload(0x00)))
            return(0x00, 0x20)
        }
    }
}
