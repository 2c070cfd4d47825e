// Reads pseudorandom slots, keccak256(seed, i). No two are near each other in the store, and each key costs the
// client a hash beside the read. Keys do not depend on values, so an early execution finds the right keys.
// Calldata, 32-byte words: seed, (start, count)*. Reads i in start..start+count of each pair. Returns a digest of
// the values in their order: from 0 on, digest = digest * m + value for each.
// Reverts if the words are not a seed and whole pairs.
// Gas per slot: 2,175 in the unrolled loop of 64 slots, 2,236 in the loop of the rest.
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
            // Odd, so a product loses no bits. The power of m by which a value counts depends on its position.
            let m := 0x5851f42d4c957f2d
            let acc := 0
            for { let pair := 0x20 } lt(pair, calldatasize()) { pair := add(pair, 0x40) } {
                let i := calldataload(pair)
                let count := calldataload(add(pair, 0x20))
                for { let blocks := shr(6, count) } blocks { blocks := sub(blocks, 1) } {
                    mstore(0x20, add(i,  0)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  1)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  2)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  3)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  4)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  5)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  6)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  7)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  8)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i,  9)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 10)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 11)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 12)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 13)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 14)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 15)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 16)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 17)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 18)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 19)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 20)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 21)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 22)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 23)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 24)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 25)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 26)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 27)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 28)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 29)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 30)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 31)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 32)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 33)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 34)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 35)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 36)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 37)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 38)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 39)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 40)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 41)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 42)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 43)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 44)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 45)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 46)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 47)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 48)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 49)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 50)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 51)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 52)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 53)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 54)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 55)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 56)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 57)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 58)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 59)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 60)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 61)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 62)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    mstore(0x20, add(i, 63)) acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    i := add(i, 64)
                }
                for { let rest := and(count, 63) } rest { rest := sub(rest, 1) } {
                    mstore(0x20, i)
                    acc := add(sload(keccak256(0x00, 0x40)), mul(acc, m))
                    i := add(i, 1)
                }
            }
            mstore(0x00, acc)
            return(0x00, 0x20)
        }
    }
}
