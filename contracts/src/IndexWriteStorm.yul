// Writes one value to the slots keccak256(seed, i) whose indices calldata has: who knows which slots lie
// together in a trie can have just those written.
// Calldata: seed and value, 32 bytes each, then indices of 4 bytes each. Returns nothing. Reverts when there
// are no two words, or a part of an index.
// Gas per slot above that of a cold SSTORE: 78 in blocks of 8 slots, 111 in the rest; the calldata of its index
// is 16 to 64 more.
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
