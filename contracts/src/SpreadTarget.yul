// A contract of a SpreadStorm: writes a value to a slot.
// Calldata, 32-byte words: slot, value. Returns nothing. Reverts on calldata of another length.
object "SpreadTarget" {
    code {
        datacopy(0, dataoffset("SpreadTarget_deployed"), datasize("SpreadTarget_deployed"))
        return(0, datasize("SpreadTarget_deployed"))
    }
    object "SpreadTarget_deployed" {
        code {
            if iszero(eq(calldatasize(), 0x40)) { revert(0, 0) }

            sstore(calldataload(0x00), calldataload(0x20))
            stop()
        }
    }
}
