// Accesses accounts whose addresses are hashes, the low 20 bytes of keccak256(seed, i). The operation is BALANCE
// for op 0, EXTCODESIZE for 1, EXTCODEHASH for 2, EXTCODECOPY of the first `bytes` bytes for 3, and CALL without
// value for 4.
// Calldata, 32-byte words: seed, op, bytes, (start, count)*. Accesses i in start..start+count of each pair. Returns
// the digest, as KeccakStorm, of the results: balances, sizes, hashes, first words of code, successes of calls.
// Reverts if the words are not three and whole pairs, or if op is another and there is a pair.
// Gas per account above that of the cold operation: 80 in the unrolled loop of 8 accounts, 123 in the loop of the
// rest. A copy or a call costs 17 more, and the copied bytes or the called code.
object "AccountStorm" {
    code {
        datacopy(0, dataoffset("AccountStorm_deployed"), datasize("AccountStorm_deployed"))
        return(0, datasize("AccountStorm_deployed"))
    }
    object "AccountStorm_deployed" {
        code {
            // Three words, then whole pairs.
            if or(lt(calldatasize(), 0x60), iszero(eq(and(calldatasize(), 0x3f), 0x20))) { revert(0, 0) }

            mstore(0x00, calldataload(0x00))
            let op := calldataload(0x20)
            let bytes := calldataload(0x40)
            // Odd, so a product loses no bits. The power of m by which a value counts depends on its position.
            let m := 0x5851f42d4c957f2d
            let acc := 0
            for { let pair := 0x60 } lt(pair, calldatasize()) { pair := add(pair, 0x40) } {
                let i := calldataload(pair)
                let count := calldataload(add(pair, 0x20))
                switch op
                case 0 {
                    for { let blocks := shr(3, count) } blocks { blocks := sub(blocks, 1) } {
                        mstore(0x20, add(i, 0)) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 1)) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 2)) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 3)) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 4)) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 5)) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 6)) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 7)) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        i := add(i, 8)
                    }
                    for { let rest := and(count, 7) } rest { rest := sub(rest, 1) } {
                        mstore(0x20, i) acc := add(balance(keccak256(0x00, 0x40)), mul(acc, m))
                        i := add(i, 1)
                    }
                }
                case 1 {
                    for { let blocks := shr(3, count) } blocks { blocks := sub(blocks, 1) } {
                        mstore(0x20, add(i, 0)) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 1)) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 2)) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 3)) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 4)) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 5)) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 6)) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 7)) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        i := add(i, 8)
                    }
                    for { let rest := and(count, 7) } rest { rest := sub(rest, 1) } {
                        mstore(0x20, i) acc := add(extcodesize(keccak256(0x00, 0x40)), mul(acc, m))
                        i := add(i, 1)
                    }
                }
                case 2 {
                    for { let blocks := shr(3, count) } blocks { blocks := sub(blocks, 1) } {
                        mstore(0x20, add(i, 0)) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 1)) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 2)) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 3)) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 4)) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 5)) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 6)) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        mstore(0x20, add(i, 7)) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        i := add(i, 8)
                    }
                    for { let rest := and(count, 7) } rest { rest := sub(rest, 1) } {
                        mstore(0x20, i) acc := add(extcodehash(keccak256(0x00, 0x40)), mul(acc, m))
                        i := add(i, 1)
                    }
                }
                case 3 {
                    for { let blocks := shr(3, count) } blocks { blocks := sub(blocks, 1) } {
                        mstore(0x20, add(i, 0)) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        mstore(0x20, add(i, 1)) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        mstore(0x20, add(i, 2)) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        mstore(0x20, add(i, 3)) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        mstore(0x20, add(i, 4)) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        mstore(0x20, add(i, 5)) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        mstore(0x20, add(i, 6)) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        mstore(0x20, add(i, 7)) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        i := add(i, 8)
                    }
                    for { let rest := and(count, 7) } rest { rest := sub(rest, 1) } {
                        mstore(0x20, i) extcodecopy(keccak256(0x00, 0x40), 0x40, 0, bytes) acc := add(mload(0x40), mul(acc, m))
                        i := add(i, 1)
                    }
                }
                case 4 {
                    for { let blocks := shr(3, count) } blocks { blocks := sub(blocks, 1) } {
                        mstore(0x20, add(i, 0)) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        mstore(0x20, add(i, 1)) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        mstore(0x20, add(i, 2)) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        mstore(0x20, add(i, 3)) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        mstore(0x20, add(i, 4)) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        mstore(0x20, add(i, 5)) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        mstore(0x20, add(i, 6)) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        mstore(0x20, add(i, 7)) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        i := add(i, 8)
                    }
                    for { let rest := and(count, 7) } rest { rest := sub(rest, 1) } {
                        mstore(0x20, i) acc := add(call(gas(), keccak256(0x00, 0x40), 0, 0, 0, 0, 0), mul(acc, m))
                        i := add(i, 1)
                    }
                }
                default { revert(0, 0) }
            }
            mstore(0x00, acc)
            return(0x00, 0x20)
        }
    }
}
