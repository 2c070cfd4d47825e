// Writes one slot in each of many contracts, so that each write changes another storage trie. Calls the contracts
// at the low 20 bytes of keccak256(seed, i), which are SpreadTargets.
// Calldata, 32-byte words: seed, slot, value, (start, count)*. Calls i in start..start+count of each pair and
// returns nothing. Reverts if the words are not three and whole pairs, or if a call fails.
// Gas per slot above a cold account and a cold SSTORE: 122 in the unrolled loop of 8 slots, 170 in that of the rest.
object "SpreadStorm" {
    code {
        datacopy(0, dataoffset("SpreadStorm_deployed"), datasize("SpreadStorm_deployed"))
        return(0, datasize("SpreadStorm_deployed"))
    }
    object "SpreadStorm_deployed" {
        code {
            // Three words, then whole pairs.
            if or(lt(calldatasize(), 0x60), iszero(eq(and(calldatasize(), 0x3f), 0x20))) { revert(0, 0) }

            mstore(0x00, calldataload(0x00))
            // The calldata of every call: slot, value.
            calldatacopy(0x40, 0x20, 0x40)
            let ok := 1
            // A call takes the low 20 bytes of a word for an address.
            for { let pair := 0x60 } lt(pair, calldatasize()) { pair := add(pair, 0x40) } {
                let i := calldataload(pair)
                let count := calldataload(add(pair, 0x20))
                for { let blocks := shr(3, count) } blocks { blocks := sub(blocks, 1) } {
                    mstore(0x20, add(i, 0)) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    mstore(0x20, add(i, 1)) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    mstore(0x20, add(i, 2)) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    mstore(0x20, add(i, 3)) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    mstore(0x20, add(i, 4)) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    mstore(0x20, add(i, 5)) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    mstore(0x20, add(i, 6)) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    mstore(0x20, add(i, 7)) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    i := add(i, 8)
                }
                for { let rest := and(count, 7) } rest { rest := sub(rest, 1) } {
                    mstore(0x20, i) ok := and(ok, call(gas(), keccak256(0x00, 0x40), 0, 0x40, 0x40, 0x00, 0x00))
                    i := add(i, 1)
                }
            }
            if iszero(ok) { revert(0, 0) }
            stop()
        }
    }
}
