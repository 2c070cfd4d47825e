// Reads pseudorandom slots, keccak256(seed, i): nothing is near anything in the store, and each key
// costs the client a hash besides the read. The keys do not depend on values: a prefetcher may guess.
// Calldata, 32-byte words: seed, (start, count)*. Reads i in start..start+count of each pair and
// returns the XOR of all values. Reverts when the words are not a seed and whole pairs.
// Gas per slot: 2,166 in blocks of 64 slots, 2,221 in the rest.
object "KeccakStorm" {
    code {
        datacopy(0, dataoffset("KeccakStorm_deployed"), datasize("KeccakStorm_deployed"))
        return(0, datasize("KeccakStorm_deployed"))
    }
    object "KeccakStorm_deployed" {
        code {
            // A seed, then whole pairs.
            if iszero(eq(and(calldatasize(), 0x3f), 0x20)) { revert(0, 0) }

            mstore(0x00, calldataload(0x00))
            let acc := 0
            for { let pair := 0x20 } lt(pair, calldatasize()) { pair := add(pair, 0x40) } {
                let i := calldataload(pair)
                let count := calldataload(add(pair, 0x20))
                for { let blocks := shr(6, count) } blocks { blocks := sub(blocks, 1) } {
                    mstore(0x20, add(i,  0)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  1)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  2)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  3)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  4)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  5)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  6)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  7)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  8)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i,  9)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 10)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 11)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 12)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 13)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 14)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 15)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 16)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 17)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 18)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 19)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 20)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 21)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 22)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 23)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 24)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 25)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 26)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 27)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 28)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 29)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 30)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 31)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 32)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 33)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 34)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 35)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 36)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 37)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 38)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 39)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 40)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 41)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 42)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 43)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 44)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 45)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 46)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 47)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 48)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 49)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 50)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 51)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 52)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 53)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 54)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 55)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 56)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 57)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 58)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 59)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 60)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 61)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 62)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    mstore(0x20, add(i, 63)) acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    i := add(i, 64)
                }
                for { let rest := and(count, 63) } rest { rest := sub(rest, 1) } {
                    mstore(0x20, i)
                    acc := xor(acc, sload(keccak256(0x00, 0x40)))
                    i := add(i, 1)
                }
            }
            mstore(0x00, acc)
            return(0x00, 0x20)
        }
    }
}
