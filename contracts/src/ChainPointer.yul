// Has a storm follow a linked list from the key in slot 0 on, and leaves in slot 0 the key that it came to:
// the next transaction begins there. No key is known before the one before it has been read, in this
// transaction or in those before.
// Calldata, 32-byte words: storm, count. Returns the last key, as the storm does.
// Reverts when the words are not two, or the storm fails or is none.
// Gas above the storm's own: two accesses of a slot, an account, and at most 600.
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
