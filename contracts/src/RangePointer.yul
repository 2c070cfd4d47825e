// Has a storm read the range of slots that begins where slot 0 says, and leaves in slot 0 where the next
// transaction begins: which keys it reads is known only to who has run all transactions before it.
// Slot 0 holds the next index plus one, so that it is never empty.
// Calldata, 32-byte words: seed, storm, count. Returns what the storm returns: the digest of the values.
// Reverts when the words are not three, or the storm fails or is none.
// Gas above the storm's own: two accesses of a slot, an account, and at most 600.
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
