// Calls a KeccakStorm or a WeylStorm to read a range of slots that begins at the index in slot 0. Sets slot 0 to
// the index after the range, where the next transaction begins. So the keys of a transaction are known only
// after the execution of all transactions before it. Slot 0 has the index plus one, so that it is never empty.
// Calldata, 32-byte words: seed, address of the storm, count. Returns the digest of the values, as the storm
// does.
// Reverts if the words are not three, if the storm fails, or if it does not return a word.
// Gas above the storm's own: a read and a write of a slot, a cold account, and at most 600.
object "RangePointer" {
    code {
        datacopy(0, dataoffset("RangePointer_deployed"), datasize("RangePointer_deployed"))
        return(0, datasize("RangePointer_deployed"))
    }
    object "RangePointer_deployed" {
        code {
            if iszero(eq(calldatasize(), 0x60)) { revert(0, 0) }

            let next := sload(0)
            let count := calldataload(0x40)
            mstore(0x00, calldataload(0x00))
            mstore(0x20, sub(next, 1))
            mstore(0x40, count)
            if iszero(staticcall(gas(), calldataload(0x20), 0x00, 0x60, 0x00, 0x20)) { revert(0, 0) }
            if iszero(eq(returndatasize(), 0x20)) { revert(0, 0) }
            sstore(0, add(next, count))
            return(0x00, 0x20)
        }
    }
}
