// Follows a linked list through storage: each value is the next key, so reads are strictly serial. A client can
// read ahead only with a block-level access list.
// Calldata, 32-byte words: key, count. Sets key = sload(key) count times and returns the last key.
// Reverts if the last key is 0, since the linked list then has ended early, or if the words are not two.
// Gas per slot: 2,101 in the unrolled loop of 64 slots, 2,141 in the loop of the rest.
object "ChaseStorm" {
    code {
        datacopy(0, dataoffset("ChaseStorm_deployed"), datasize("ChaseStorm_deployed"))
        return(0, datasize("ChaseStorm_deployed"))
    }
    object "ChaseStorm_deployed" {
        code {
            if iszero(eq(calldatasize(), 0x40)) { revert(0, 0) }

            let key := calldataload(0x00)
            let count := calldataload(0x20)
            for { let blocks := shr(6, count) } blocks { blocks := sub(blocks, 1) } {
                key := sload(sload(sload(sload(sload(sload(sload(sload(key))))))))
                key := sload(sload(sload(sload(sload(sload(sload(sload(key))))))))
                key := sload(sload(sload(sload(sload(sload(sload(sload(key))))))))
                key := sload(sload(sload(sload(sload(sload(sload(sload(key))))))))
                key := sload(sload(sload(sload(sload(sload(sload(sload(key))))))))
                key := sload(sload(sload(sload(sload(sload(sload(sload(key))))))))
                key := sload(sload(sload(sload(sload(sload(sload(sload(key))))))))
                key := sload(sload(sload(sload(sload(sload(sload(sload(key))))))))
            }
            for { let rest := and(count, 63) } rest { rest := sub(rest, 1) } { key := sload(key) }
            if iszero(key) { revert(0, 0) }
            mstore(0x00, key)
            return(0x00, 0x20)
        }
    }
}
