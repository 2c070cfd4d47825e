// Writes one value to the slots keccak256(seed, i) for the indices i in calldata. So a sender can choose slots that
// are neighbours in a trie.
// Calldata: seed and value, 32 bytes each, then indices of 4 bytes each. Returns nothing.
// Reverts without the two whole words, or if the last index is cut off.
// Gas per slot above that of a cold SSTORE: 78 in the unrolled loop of 8 slots, 111 in the loop of the rest. The
// calldata of the slot's index costs 16 to 64 more.
object "IndexWriteStorm" {
    code {
        datacopy(0, dataoffset("IndexWriteStorm_deployed"), datasize("IndexWriteStorm_deployed"))
        return(0, datasize("IndexWriteStorm_deployed"))
    }
    object "IndexWriteStorm_deployed" {
        code {
            if or(lt(calldatasize(), 0x40), and(calldatasize(), 3)) { revert(0, 0) }

            mstore(0x00, calldataload(0x00))
            let value := calldataload(0x20)
            let at := 0x40
            for { let blocks := shr(5, sub(calldatasize(), 0x40)) } blocks { blocks := sub(blocks, 1) } {
                let eight := calldataload(at)
                mstore(0x20, shr(224, eight)) sstore(keccak256(0x00, 0x40), value)
                mstore(0x20, and(shr(192, eight), 0xffffffff)) sstore(keccak256(0x00, 0x40), value)
                mstore(0x20, and(shr(160, eight), 0xffffffff)) sstore(keccak256(0x00, 0x40), value)
                mstore(0x20, and(shr(128, eight), 0xffffffff)) sstore(keccak256(0x00, 0x40), value)
                mstore(0x20, and(shr(96, eight), 0xffffffff)) sstore(keccak256(0x00, 0x40), value)
                mstore(0x20, and(shr(64, eight), 0xffffffff)) sstore(keccak256(0x00, 0x40), value)
                mstore(0x20, and(shr(32, eight), 0xffffffff)) sstore(keccak256(0x00, 0x40), value)
                mstore(0x20, and(eight, 0xffffffff)) sstore(keccak256(0x00, 0x40), value)
                at := add(at, 0x20)
            }
            for { } lt(at, calldatasize()) { at := add(at, 4) } {
                mstore(0x20, shr(224, calldataload(at))) sstore(keccak256(0x00, 0x40), value)
            }
            stop()
        }
    }
}
