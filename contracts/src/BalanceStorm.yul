// Asks a token for the balances of holders whose addresses are hashes, the low 20 bytes of
// keccak256(seed, i). Each answer is one cold slot of the token, at the key that Solidity gives a mapping.
// Calldata, 32-byte words: seed, token, (start, count)*. Asks for i in start..start+count of each pair and
// returns the digest of all balances, as KeccakStorm.
// Reverts if the words are not two and whole pairs, if a call fails, or if the last answer is not one word.
// Gas per balance: 2,703 in the unrolled loop of 8, 2,741 in the loop of the rest.
object "BalanceStorm" {
    code {
        datacopy(0, dataoffset("BalanceStorm_deployed"), datasize("BalanceStorm_deployed"))
        return(0, datasize("BalanceStorm_deployed"))
    }
    object "BalanceStorm_deployed" {
        code {
            // Two words, then whole pairs.
            if or(iszero(calldatasize()), and(calldatasize(), 0x3f)) { revert(0, 0) }

            mstore(0x00, calldataload(0x00))
            mstore(0x40, shl(224, 0x70a08231)) // balanceOf(address)
            let token := calldataload(0x20)
            let mask := sub(shl(160, 1), 1)
            // Odd, so a product loses no bits. The power of m by which a value counts depends on its position.
            let m := 0x5851f42d4c957f2d
            let acc := 0
            let ok := 1
            let asked := 0
            for { let pair := 0x40 } lt(pair, calldatasize()) { pair := add(pair, 0x40) } {
                let i := calldataload(pair)
                let count := calldataload(add(pair, 0x20))
                asked := or(asked, count)
                for { let blocks := shr(3, count) } blocks { blocks := sub(blocks, 1) } {
                    mstore(0x20, add(i, 0))
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    mstore(0x20, add(i, 1))
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    mstore(0x20, add(i, 2))
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    mstore(0x20, add(i, 3))
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    mstore(0x20, add(i, 4))
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    mstore(0x20, add(i, 5))
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    mstore(0x20, add(i, 6))
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    mstore(0x20, add(i, 7))
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    i := add(i, 8)
                }
                for { let rest := and(count, 7) } rest { rest := sub(rest, 1) } {
                    mstore(0x20, i)
                    mstore(0x44, and(keccak256(0x00, 0x40), mask))
                    ok := and(ok, staticcall(gas(), token, 0x40, 0x24, 0x80, 0x20)) acc := add(mload(0x80), mul(acc, m))
                    i := add(i, 1)
                }
            }
            if asked { ok := and(ok, eq(returndatasize(), 0x20)) }
            if iszero(ok) { revert(0, 0) }
            mstore(0x00, acc)
            return(0x00, 0x20)
        }
    }
}
