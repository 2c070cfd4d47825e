// Calls a ChaseStorm, which follows its linked list from the key in slot 0 on. Sets slot 0 to the last key,
// where the next transaction begins. Each key is known only after the read of the key before it, in this
// transaction or an earlier one.
// Calldata, 32-byte words: address of the storm, count. Returns the last key, as the storm does.
// Reverts if the words are not two, if the storm fails, or if it does not return a word.
// Gas above the storm's own: a read and a write of a slot, a cold account, and at most 600.
object "ChainPointer" {
    code {
        datacopy(0, dataoffset("ChainPointer_deployed"), datasize("ChainPointer_deployed"))
        return(0, datasize("ChainPointer_deployed"))
    }
    object "ChainPointer_deployed" {
        code {
            if iszero(eq(calldatasize(), 0x40)) { revert(0, 0) }

            mstore(0x00, sload(0))
            mstore(0x20, calldataload(0x20))
            if iszero(staticcall(gas(), calldataload(0x00), 0x00, 0x40, 0x00, 0x20)) { revert(0, 0) }
            if iszero(eq(returndatasize(), 0x20)) { revert(0, 0) }
            sstore(0, mload(0x00))
            return(0x00, 0x20)
        }
    }
}
