// One link of a chain of transactions: hashes that depend on no state, then a read and a write of slot 0. An early
// execution is aborted, with its hashes, if another transaction has changed slot 0 since.
// Calldata, a 32-byte word: count. Hashes the word 1, and then each hash, count times in all. Adds the last hash to
// slot 0, and returns the sum. Deployed with 1 in slot 0. Reverts if the calldata is not one word.
// Gas of a hash: 84. Gas beside the hashes: an update of a cold slot, and at most 200.
object "HashChain" {
    code {
        sstore(0, 1)
        datacopy(0, dataoffset("HashChain_deployed"), datasize("HashChain_deployed"))
        return(0, datasize("HashChain_deployed"))
    }
    object "HashChain_deployed" {
        code {
            if iszero(eq(calldatasize(), 0x20)) { revert(0, 0) }

            mstore(0x00, 1)
            for { let left := calldataload(0x00) } left { left := sub(left, 1) } {
                mstore(0x00, keccak256(0x00, 0x20))
            }
            let sum := add(sload(0), mload(0x00))
            sstore(0, sum)
            mstore(0x00, sum)
            return(0x00, 0x20)
        }
    }
}
