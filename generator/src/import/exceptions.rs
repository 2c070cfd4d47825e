//! Names of the rules that an invalid block breaks, in execution-spec-tests (`expectException`,
//! `validationError`). Each name has texts by which the errors of this crate show the same rule.
//! `complete.rs` asks whether a block was refused for an expected reason.

/// Separator of alternatives: of the rules that a test names, and of the texts in [`REASONS`].
const OR: char = '|';

/// Names of rules, each with texts. The error of a block that breaks the rule contains at least one
/// of the texts.
const REASONS: &[(&str, &str)] = &[
    ("TransactionException.SENDER_NOT_EOA", "senders with deployed code"),
    ("TransactionException.NONCE_MISMATCH_TOO_HIGH", "too high, expected"),
    ("TransactionException.NONCE_MISMATCH_TOO_LOW", "too low, expected"),
    ("TransactionException.NONCE_IS_MAX", "nonce overflow|too high, expected"),
    ("TransactionException.NONCE_OVERFLOW", "of 64 bits|overflow"),
    ("TransactionException.NONCE_TOO_BIG", "of 64 bits|overflow"),
    ("TransactionException.GASPRICE_OVERFLOW", "of 128 bits|overflow"),
    ("TransactionException.PRIORITY_OVERFLOW", "of 128 bits|overflow"),
    ("TransactionException.GASLIMIT_OVERFLOW", "of 64 bits|overflow"),
    ("TransactionException.VALUE_OVERFLOW", "of 256 bits|overflow"),
    ("TransactionException.GASLIMIT_PRICE_PRODUCT_OVERFLOW", "overflow payment|lack of funds"),
    ("TransactionException.INSUFFICIENT_ACCOUNT_FUNDS", "lack of funds|overflow payment"),
    ("TransactionException.INSUFFICIENT_MAX_FEE_PER_GAS", "gas price is less than basefee"),
    ("TransactionException.PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS", "priority fee is greater"),
    ("TransactionException.PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS_2", "priority fee is greater"),
    ("TransactionException.INSUFFICIENT_MAX_FEE_PER_BLOB_GAS", "blob gas price ("),
    ("TransactionException.INTRINSIC_GAS_TOO_LOW", "call gas cost (|gas floor ("),
    ("TransactionException.INTRINSIC_GAS_BELOW_FLOOR_GAS_COST", "gas floor (|call gas cost ("),
    ("TransactionException.INITCODE_SIZE_EXCEEDED", "create initcode size limit"),
    ("TransactionException.INVALID_CHAINID", "invalid chain|of chain |: chain "),
    ("TransactionException.INVALID_SIGNATURE_VRS", "an invalid signature|a v of no signature"),
    ("TransactionException.EC_RECOVERY_FAIL", "an invalid signature"),
    ("TransactionException.TYPE_NOT_SUPPORTED", "a type that is not 0 to 4"),
    ("TransactionException.GAS_ALLOWANCE_EXCEEDED", "has left after|exceeds the block gas limit"),
    (
        "TransactionException.GAS_LIMIT_EXCEEDS_MAXIMUM",
        "transaction gas limit (|has a gas limit of",
    ),
    ("TransactionException.TYPE_3_TX_ZERO_BLOBS", "empty blobs"),
    ("TransactionException.TYPE_3_TX_BLOB_COUNT_EXCEEDED", "too many blobs| blobs; "),
    ("TransactionException.TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED", " blobs; |too many blobs"),
    ("TransactionException.TYPE_3_TX_INVALID_BLOB_VERSIONED_HASH", "blob version not supported"),
    ("TransactionException.TYPE_3_TX_CONTRACT_CREATION", "no recipient"),
    ("TransactionException.TYPE_4_TX_CONTRACT_CREATION", "no recipient"),
    ("TransactionException.TYPE_4_EMPTY_AUTHORIZATION_LIST", "empty authorization list"),
    (
        "TransactionException.TYPE_4_INVALID_AUTHORIZATION_FORMAT",
        "signed transactions; transaction",
    ),
    ("BlockException.EXTRA_DATA_TOO_BIG", "extra data have"),
    ("BlockException.UNKNOWN_PARENT", "its parent is"),
    ("BlockException.UNKNOWN_PARENT_ZERO", "its parent is"),
    ("BlockException.INVALID_BLOCK_NUMBER", "its number is"),
    ("BlockException.INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT", "its timestamp"),
    ("BlockException.INVALID_DIFFICULTY", "its difficulty is"),
    ("BlockException.IMPORT_IMPOSSIBLE_DIFFICULTY_OVER_PARIS", "its difficulty is"),
    ("BlockException.INVALID_UNCLES_HASH", "ommers' hash|no ommers"),
    ("BlockException.IMPORT_IMPOSSIBLE_UNCLES_OVER_PARIS", "ommers"),
    ("BlockException.INVALID_GASLIMIT", "its gas limit|gas limit of"),
    ("BlockException.GASLIMIT_TOO_BIG", "its gas limit|gas limit of"),
    ("BlockException.INVALID_BASEFEE_PER_GAS", "its base fee is"),
    ("BlockException.INCORRECT_EXCESS_BLOB_GAS", "excess blob gas is|excess blob gas of"),
    ("BlockException.INCORRECT_BLOB_GAS_USED", "blob gas is"),
    ("BlockException.BLOB_GAS_USED_ABOVE_LIMIT", " blobs; |blob gas is"),
    ("BlockException.INVALID_GAS_USED", "gas used is"),
    ("BlockException.INVALID_GAS_USED_ABOVE_LIMIT", "its gas used,"),
    ("BlockException.GAS_USED_OVERFLOW", "has left after|its gas used,|gas used is"),
    ("BlockException.INVALID_STATE_ROOT", "state root is"),
    ("BlockException.INVALID_RECEIPTS_ROOT", "receipts root is"),
    ("BlockException.INVALID_TRANSACTIONS_ROOT", "transactions root is"),
    ("BlockException.INVALID_WITHDRAWALS_ROOT", "withdrawals root is"),
    ("BlockException.INVALID_LOG_BLOOM", "logs bloom is"),
    ("BlockException.INVALID_REQUESTS", "requests hash is|requests, each"),
    ("BlockException.INVALID_VERSIONED_HASHES", "versioned hashes of"),
    ("BlockException.INVALID_DEPOSIT_EVENT_LAYOUT", "invalid deposit"),
    ("BlockException.SYSTEM_CONTRACT_EMPTY", "system contract"),
    ("BlockException.SYSTEM_CONTRACT_CALL_FAILED", "system call to"),
    ("BlockException.INVALID_BLOCK_HASH", "block hash is|blockHash is"),
    ("BlockException.RLP_BLOCK_LIMIT_EXCEEDED", "EIP-7934"),
    ("BlockException.RLP_STRUCTURES_ENCODING", "the RLP of a block|an RLP list"),
    ("BlockException.RLP_INVALID_FIELD_OVERFLOW_64", "the RLP of a block|an RLP list"),
    ("BlockException.RLP_INVALID_ADDRESS", "the RLP of a block|an RLP list"),
    ("BlockException.RLP_WITHDRAWALS_NOT_READ", "the RLP of a block"),
    (
        "BlockException.INCORRECT_BLOCK_FORMAT",
        "the RLP of a block|an RLP list|is missing|list is|list hash is|: headers of|: payloads of",
    ),
    ("BlockException.INVALID_BAL_HASH", "list hash is"),
    ("BlockException.INVALID_BLOCK_ACCESS_LIST", "list is|list hash is"),
    ("BlockException.INVALID_BAL_EXTRA_ACCOUNT", "list is|list hash is"),
    ("BlockException.INVALID_BAL_MISSING_ACCOUNT", "list is|list hash is"),
    ("BlockException.BLOCK_ACCESS_LIST_GAS_LIMIT_EXCEEDED", "the block-level access list has"),
    ("TransactionException.TYPE_3_TX_PRE_FORK", " blobs; "),
    // Codes of the Engine API: invalid parameters, and a payload of another fork.
    ("-32602", "is missing|: payloads of|, of payloads of|requests, each|versioned hashes of"),
    ("-38005", "is missing|: payloads of|, of payloads of"),
    // Names of older tests (ethereum/legacytests).
    ("TR_FeeCapLessThanBlocks", "gas price is less than basefee"),
    ("TR_FeeCapLessThanBlocksORGasLimitReached", "gas price is less than basefee|has left after"),
    ("TR_FeeCapLessThanBlocksORNoFunds", "gas price is less than basefee|lack of funds"),
    ("TR_GasLimitReached", "has left after"),
    ("TR_IntrinsicGas", "call gas cost ("),
    ("IntrinsicGas", "call gas cost ("),
    ("TR_NoFunds", "lack of funds|overflow payment"),
    ("TR_NoFundsOrGas", "lack of funds|call gas cost ("),
    ("TR_NonceHasMaxValue", "nonce overflow|too high, expected"),
    ("TR_NonceTooHigh", "too high, expected"),
    ("TR_NonceTooLow", "too low, expected"),
    ("TR_TipGtFeeCap", "priority fee is greater"),
    ("TR_BLOBLIST_OVERSIZE", " blobs; "),
    ("SenderNotEOA", "senders with deployed code"),
    ("SenderNotEOAorNoCASH", "senders with deployed code|lack of funds"),
    ("1559BlockImportImpossible_BaseFeeWrong", "its base fee is"),
    ("ExtraDataTooBig", "extra data have"),
    ("InvalidGasLimit", "gas limit of"),
    ("InvalidGasLimit2", "its gas limit|gas limit of"),
    ("InvalidGasUsed", "gas used is"),
    ("TooMuchGasUsed", "its gas used,"),
    ("InvalidLogBloom", "logs bloom is"),
    ("InvalidNumber", "its number is"),
    ("InvalidReceiptsStateRoot", "receipts root is"),
    ("InvalidStateRoot", "state root is"),
    ("InvalidTimestampOlderParent", "its timestamp"),
    ("InvalidTransactionsRoot", "transactions root is"),
    ("InvalidWithdrawals", "withdrawals root is"),
    ("ParisBlockImportImpossible", "headers of"),
    ("ShanghaiBlockImportImpossible", "headers of"),
    ("PostParisDifficultyIsNot0", "its difficulty is"),
    ("RLP_ExpectedAsList", "the RLP of a block"),
    ("INPUT_UNMARSHAL_ERROR", "the RLP of a block"),
    ("UnknownParent2", "its parent is"),
];

/// Whether `reason` shows one of the rules that `exception` names; `None` if none of its names is
/// known.
pub(super) fn is_expected(exception: &str, reason: &str) -> Option<bool> {
    let known: Vec<&str> = exception
        .split(OR)
        .filter_map(|name| REASONS.iter().find(|(known, _)| *known == name.trim()))
        .map(|(_, texts)| *texts)
        .collect();
    let mut texts = known.iter().flat_map(|texts| texts.split(OR));
    (!known.is_empty()).then(|| texts.any(|text| reason.contains(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_names_is_enough_and_unknown_names_are_told_apart() {
        let exception = "TransactionException.NONCE_IS_MAX|BlockException.INVALID_STATE_ROOT";
        assert_eq!(is_expected(exception, "state root is 0x1"), Some(true));
        assert_eq!(is_expected(exception, "gas used is 1"), Some(false));
        assert_eq!(is_expected("BlockException.NO_SUCH_RULE", "state root is 0x1"), None);
    }

    #[test]
    fn names_stand_once() {
        let mut names: Vec<_> = REASONS.iter().map(|(name, _)| name).collect();
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
