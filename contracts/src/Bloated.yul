// What an account with very many slots delegates to (EIP-7702): slots at the keys 1 to N, one after the other.
// Calldata, 32-byte words: op, where, count.
// op 0: reads count slots from the one that slot 0 names on, and leaves in slot 0 the key after the last.
// op 1: the same, but leaves where in slot 0 before it reads.
// op 2: writes to count slots from where on their key plus 2.
// Returns the digest of the values that were read, as KeccakStorm; 0 for op 2.
// Reverts when the words are not three, or op is none of these.
// Gas of a slot above that of the operation when it is cold: 70 to read, 53 to write.
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
                // Odd, so no value is lost; a value that stands elsewhere has another power of it.
                for { let m := 0x5851f42d4c957f2d } lt(key, end) { key := add(key, 1) } {
                    sum := add(sload(key), mul(sum, m))
                }
            }
        }
    }
}
