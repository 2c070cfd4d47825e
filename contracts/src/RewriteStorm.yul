// Reads pseudorandom slots, keccak256(seed, i), and writes value XOR change back to each. With a change of 0, the
// client has to find that no value changes. (The change is calldata, since solc would remove an SSTORE of a value
// that was just loaded.)
// Calldata, 32-byte words: seed, change, (start, count)*. Reads and writes i in start..start+count of each pair.
// Returns the digest of all old values, as KeccakStorm. Reverts if the words are not two and whole pairs.
// Gas per slot above that of SLOAD and SSTORE: 101 in the unrolled loop of 8 slots, 156 in the loop of the rest.
object "RewriteStorm" {
    code {
        datacopy(0, dataoffset("RewriteStorm_deployed"), datasize("RewriteStorm_deployed"))
        return(0, datasize("RewriteStorm_deployed"))
    }
    object "RewriteStorm_deployed" {
        code {
            // Two words, then whole pairs.
            if or(iszero(calldatasize()), and(calldatasize(), 0x3f)) { revert(0, 0) }

            mstore(0x00, calldataload(0x00))
            let change := calldataload(0x20)
            // Odd, so a product loses no bits. The power of m by which a value counts depends on its position.
            let m := 0x5851f42d4c957f2d
            let acc := 0
            for { let pair := 0x40 } lt(pair, calldatasize()) { pair := add(pair, 0x40) } {
                let i := calldataload(pair)
                let count := calldataload(add(pair, 0x20))
                for { let blocks := shr(3, count) } blocks { blocks := sub(blocks, 1) } {
                    mstore(0x20, add(i, 0)) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    mstore(0x20, add(i, 1)) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    mstore(0x20, add(i, 2)) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    mstore(0x20, add(i, 3)) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    mstore(0x20, add(i, 4)) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    mstore(0x20, add(i, 5)) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    mstore(0x20, add(i, 6)) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    mstore(0x20, add(i, 7)) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    i := add(i, 8)
                }
                for { let rest := and(count, 7) } rest { rest := sub(rest, 1) } {
                    mstore(0x20, i) { let k := keccak256(0x00, 0x40) let v := sload(k) acc := add(v, mul(acc, m)) sstore(k, xor(v, change)) }
                    i := add(i, 1)
                }
            }
            mstore(0x00, acc)
            return(0x00, 0x20)
        }
    }
}
