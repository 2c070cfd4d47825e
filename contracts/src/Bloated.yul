// The code of an account with very many slots, at the keys 1 to N, which delegates to it (EIP-7702).
// Calldata, 32-byte words: op, where, count.
// op 0: reads `count` slots from the key in slot 0 on, and sets slot 0 to the key after the last.
// op 1: sets slot 0 to `where`, and reads `count` slots from the old key in slot 0 on.
// op 2: writes `count` slots from the key `where` on: to each its key plus 2.
// Returns the digest of the read values, as KeccakStorm; 0 for op 2.
// Reverts if the words are not three, or on another op.
// Gas per slot above that of the cold operation: 70 to read, 53 to write.
object "Bloated" {
    code {
        datacopy(0, dataoffset("Bloated_deployed"), datasize("Bloated_deployed"))
        return(0, datasize("Bloated_deployed"))
    }
    object "Bloated_deployed" {
        code {
            if iszero(eq(calldatasize(), 0x60)) { revert(0, 0) }

            let op := calldataload(0x00)
            let where := calldataload(0x20)
            let count := calldataload(0x40)
            let acc := 0
            switch op
            case 0 {
                let key := sload(0)
                let end := add(key, count)
                acc := digest(key, end)
                sstore(0, end)
            }
            case 1 {
                let key := sload(0)
                sstore(0, where)
                acc := digest(key, add(key, count))
            }
            case 2 {
                for { let end := add(where, count) } lt(where, end) {} {
                    sstore(where, add(where, 2))
                    where := add(where, 1)
                }
            }
            default { revert(0, 0) }
            mstore(0x00, acc)
            return(0x00, 0x20)

            function digest(key, end) -> sum {
                // Odd, so a product loses no bits. The power of m by which a value counts depends on its position.
                for { let m := 0x5851f42d4c957f2d } lt(key, end) { key := add(key, 1) } {
                    sum := add(sload(key), mul(sum, m))
                }
            }
        }
    }
}
