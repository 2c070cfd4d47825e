//! Reads accounts, transactions, receipts and withdrawals from JSON, in the dialects that
//! go-ethereum, execution-spec-tests and nodes write. Also decodes transactions from RLP. All other
//! modules of the import read these values here.

use std::{collections::BTreeMap, fmt};

use alloy_consensus::proofs;
use alloy_eips::eip4895;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::list_length;
use evm::system;
use workload::{
    BlobSchedule, Fork, GenesisAccount, SenderFamily, Transaction, TxType, Withdrawal,
    block::Authorization, file::max_block_gas, signing::Signature,
};

use super::{
    ImportError, StatedReceipt,
    envelope::{self, Envelope, authorization, parity},
    json::Json,
};

/// Minimal gas limit of a block in execution-specs.
const MIN_BLOCK_GAS: u64 = 5_000;

/// Transactions of a block, and their signed encodings.
#[derive(Clone, Debug, Default)]
pub(super) struct Transactions {
    pub(super) all: Vec<Transaction>,
    /// Encoding of each transaction (EIP-2718); `None` if one is not signed.
    pub(super) signed: Option<Vec<Bytes>>,
}

impl Transactions {
    fn new(envelopes: Vec<(Envelope, Address)>) -> Self {
        let signed = envelopes.iter().map(|(envelope, _)| envelope.encode().map(Bytes::from));
        let signed = signed.collect();
        let all =
            envelopes.into_iter().map(|(Envelope { tx, .. }, sender)| Transaction { sender, ..tx });
        Self { all: all.collect(), signed }
    }
}

/// Reads the transactions of chain `chain_id` from a JSON array, or from a JSON text that is their
/// RLP list in hex.
pub(super) fn transactions(node: &Json<'_>, chain_id: u64) -> Result<Transactions, ImportError> {
    if node.text().is_ok() {
        return rlp_transactions(node, chain_id);
    }
    let envelopes = node.items()?.into_iter().map(|node| json_transaction(&node, chain_id));
    Ok(Transactions::new(envelopes.collect::<Result<_, _>>()?))
}

/// Reads the transactions of a block, and checks that each is signed.
pub(super) fn signed_transactions(
    node: &Json<'_>,
    chain_id: u64,
) -> Result<Transactions, ImportError> {
    // A text is the RLP of transactions, which has their signatures.
    let nodes = if node.text().is_ok() { Vec::new() } else { node.items()? };
    for tx in nodes {
        if r_and_s(&tx)?.is_none() {
            let wanted = "r and s of a signature; zeros are an invalid signature";
            let r = tx.find(&["r"])?;
            return Err(r.map_or_else(|| tx.missing("r", wanted), |r| r.fault(wanted)));
        }
    }
    transactions(node, chain_id)
}

/// Reads the accounts of an object, in ascending order of addresses. Slots of value zero are left
/// out, as they do not exist.
pub(super) fn accounts(node: &Json<'_>) -> Result<Vec<GenesisAccount>, ImportError> {
    let mut accounts = BTreeMap::new();
    for (key, node) in node.entries()? {
        let address = node.address_of_key(key)?;
        let code = node.find(&["code"])?.map_or(Ok(Bytes::new()), |code| code.bytes())?;
        let mut storage = BTreeMap::new();
        if let Some(slots) = node.find(&["storage"])? {
            for (key, value) in slots.entries()? {
                if storage.insert(value.u256_of_key(key)?, value.u256()?).is_some() {
                    return Err(value.fault("a slot that is there once; this one is there twice"));
                }
            }
        }
        let account = GenesisAccount {
            address,
            nonce: node.u64_at("nonce")?.unwrap_or_default(),
            balance: node.u256_at("balance")?.unwrap_or_default(),
            code,
            storage: storage.into_iter().filter(|(_, value)| !value.is_zero()).collect(),
        };
        if accounts.insert(address, account).is_some() {
            return Err(node.fault("an account that is there once; this one is there twice"));
        }
    }
    Ok(accounts.into_values().collect())
}

/// Whether an account exists (EIP-161). Tracers also name accounts that do not exist.
pub(super) fn exists(account: &GenesisAccount) -> bool {
    account.nonce > 0
        || !account.balance.is_zero()
        || !account.code.is_empty()
        || !account.storage.is_empty()
}

/// Returns the text for an error that names the system contracts missing in `accounts`; `None` if
/// none is missing. Every block of `fork` calls them, and is invalid without them (EIP-7002,
/// EIP-7251, EIP-8282).
pub(super) fn missing_system_contracts(accounts: &[GenesisAccount], fork: Fork) -> Option<String> {
    // A block is valid without the contracts that are called before the transactions.
    let missing: Vec<_> = system::after_transactions(fork)
        .into_iter()
        .map(|call| call.contract)
        .filter(|contract| {
            let index = accounts.binary_search_by(|account| account.address.cmp(contract));
            !index.is_ok_and(|index| !accounts[index].code.is_empty())
        })
        .map(|contract| contract.to_string())
        .collect();
    let (verb, contracts) = match missing.len() {
        0 => return None,
        1 => ("is", "this system contract"),
        _ => ("are", "these system contracts"),
    };
    let all = missing.join(", ");
    Some(format!("{all} {verb} missing: every block of {fork} calls {contracts}, with code"))
}

/// Reads status and gas of a receipt.
pub(super) fn receipt(node: &Json<'_>) -> Result<StatedReceipt, ImportError> {
    let status = node.get(&["status"], "0x0 or 0x1")?;
    let has_succeeded = match status.u64()? {
        number @ 0..=1 => number == 1,
        _ => return Err(status.fault("0x0 or 0x1")),
    };
    let gas_used = node.get(&["gasUsed"], "the transaction's gas")?.u64()?;
    Ok(StatedReceipt { has_succeeded, gas_used })
}

/// Reads the receipts of a block. Receipts of execution-specs have `succeeded` in place of a
/// status, and the gas of all transactions so far.
pub(super) fn receipts(node: &Json<'_>) -> Result<Vec<StatedReceipt>, ImportError> {
    let mut gas_before = 0;
    let mut receipts = Vec::new();
    for node in node.items()? {
        let Some(succeeded) = node.find(&["succeeded"])? else {
            receipts.push(receipt(&node)?);
            continue;
        };
        let gas = node.get(&["cumulativeGasUsed", "gasUsed"], "the gas of all so far")?;
        let cumulative_gas = gas.u64()?;
        let gas_used = cumulative_gas.checked_sub(gas_before);
        let gas_used =
            gas_used.ok_or_else(|| gas.fault(format!("{gas_before:#x} or more, as before")))?;
        receipts.push(StatedReceipt { has_succeeded: succeeded.bool()?, gas_used });
        gas_before = cumulative_gas;
    }
    Ok(receipts)
}

/// Withdrawals of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Withdrawals {
    pub(super) all: Vec<Withdrawal>,
    /// Root of the withdrawals' trie; `None` if the file leaves out a field of a withdrawal.
    pub(super) root: Option<B256>,
    /// Length in bytes of the RLP of all withdrawals. It is only valid if there is a root.
    pub(super) rlp_bytes: usize,
}

impl Withdrawals {
    pub(super) fn new(all: &[eip4895::Withdrawal]) -> Self {
        let to_run =
            all.iter().map(|item| Withdrawal { address: item.address, amount_gwei: item.amount });
        Self {
            all: to_run.collect(),
            root: Some(proofs::calculate_withdrawals_root(all)),
            rlp_bytes: list_length::<_, eip4895::Withdrawal>(all),
        }
    }
}

/// Reads the withdrawals at `nodes`.
pub(super) fn withdrawals(nodes: &[Json<'_>]) -> Result<Withdrawals, ImportError> {
    let (mut all, mut has_all_fields) = (Vec::new(), true);
    for node in nodes {
        let (index, validator) = (node.u64_at("index")?, node.u64_at("validatorIndex")?);
        has_all_fields &= index.is_some() && validator.is_some();
        all.push(eip4895::Withdrawal {
            index: index.unwrap_or(0),
            validator_index: validator.unwrap_or(0),
            address: node.get(&["address"], "who receives it")?.address()?,
            amount: node.get(&["amount"], "an amount in Gwei")?.u64()?,
        });
    }
    let withdrawals = Withdrawals::new(&all);
    Ok(Withdrawals { root: withdrawals.root.filter(|_| has_all_fields), ..withdrawals })
}

/// Reads transactions from a JSON text that is their RLP list in hex.
fn rlp_transactions(node: &Json<'_>, chain_id: u64) -> Result<Transactions, ImportError> {
    let bytes = node.bytes()?;
    let mut rest = bytes.as_ref();
    let fault = |error: &dyn fmt::Display| {
        node.fault(format!("an RLP list of signed transactions; {error}"))
    };
    let items = alloy_rlp::Header::decode_bytes(&mut rest, true).map_err(|e| fault(&e))?;
    if !rest.is_empty() {
        return Err(fault(&"bytes follow the list"));
    }
    decoded_transactions(node, items, chain_id)
}

/// Decodes transactions from `items`: their encodings one behind the other, as in an RLP list.
/// Errors name `node`.
pub(super) fn decoded_transactions(
    node: &Json<'_>,
    mut items: &[u8],
    chain_id: u64,
) -> Result<Transactions, ImportError> {
    let mut envelopes = Vec::new();
    while !items.is_empty() {
        let index = envelopes.len();
        let fault = |error: &dyn fmt::Display| {
            let rule = "an RLP list of signed transactions; transaction";
            node.fault(format!("{rule} {index}: {error}"))
        };
        let envelope = Envelope::decode(&mut items).map_err(|e| fault(&e))?;
        envelopes.push(with_signer(envelope, chain_id).map_err(|e| fault(&e))?);
    }
    Ok(Transactions::new(envelopes))
}

/// Decodes the transactions of chain `chain_id` from an array. Each element is the text of a
/// transaction's bytes (EIP-2718).
pub(super) fn encoded_transactions(
    node: &Json<'_>,
    chain_id: u64,
) -> Result<Transactions, ImportError> {
    let envelopes = node.items()?.into_iter().enumerate().map(|(index, node)| {
        let bytes = node.bytes()?;
        let decoded = Envelope::decode_2718(&bytes).map_err(|error| error.to_string());
        decoded.and_then(|envelope| with_signer(envelope, chain_id)).map_err(|error| {
            let rule =
                "the bytes of signed transactions (an RLP list, or a type and a list); transaction";
            node.fault(format!("{rule} {index}: {error}"))
        })
    });
    Ok(Transactions::new(envelopes.collect::<Result<_, _>>()?))
}

/// Returns the transaction with its signer. The transaction must be valid on chain `chain_id`.
fn with_signer(envelope: Envelope, chain_id: u64) -> Result<(Envelope, Address), String> {
    if let Some(other) = envelope.chain_id.filter(|id| *id != chain_id) {
        return Err(format!("chain {other} is not {chain_id}"));
    }
    let signer = envelope.signer().ok_or("an invalid signature")?;
    Ok((envelope, signer))
}

/// Reads a transaction of chain `chain_id` from a JSON object. Returns it with its sender.
fn json_transaction(node: &Json<'_>, chain_id: u64) -> Result<(Envelope, Address), ImportError> {
    let tx_type = match node.find(&["type"])? {
        None => TxType::Legacy,
        Some(number) => envelope::type_of(number.u64()?).ok_or_else(|| {
            number.fault("0x0 to 0x4: legacy, access list, dynamic fee, blob, set code")
        })?,
    };
    let (signature, signed_chain) = match signature_of(node, tx_type, chain_id)? {
        Some((signature, signed_chain)) => (Some(signature), signed_chain),
        None => (None, Some(chain_id)),
    };
    let tx = tx_fields(node, tx_type)?;
    let mut out = Envelope { tx, chain_id: signed_chain, authorities: Vec::new(), signature };
    if let Some(of_v) = signed_chain.filter(|id| *id != chain_id) {
        let v = node.get(&["v"], "")?;
        return Err(v.fault(format!("a v of chain {chain_id} (EIP-155); this is {of_v}'s")));
    }
    // A node writes a chain id even if the signature is valid on any chain.
    if let Some(said) = node.find(&["chainId"])?
        && out.chain_id.is_some()
        && said.u256()? != U256::from(chain_id)
    {
        return Err(said.fault(format!("{chain_id:#x}, the chain that is imported")));
    }
    if tx_type == TxType::SetCode {
        let tuples = node.get(&["authorizationList"], "the list that type 0x4 has")?.items()?;
        let signed = tuples.iter().map(delegation).collect::<Result<Vec<_>, _>>()?;
        (out.tx.authorizations, out.authorities) = signed.into_iter().unzip();
    }
    let sender = sender(node, &out)?;
    if let Some(said) = node.find(&["hash"])?
        && let Some(encoded) = out.encode()
    {
        said.check_b256(keccak256(&encoded), "the hash of this transaction")?;
    }
    Ok((out, sender))
}

fn fee(node: &Json<'_>, key: &str) -> Result<u128, ImportError> {
    node.get(&[key], "wei per gas, which this type needs")?.u128()
}

/// Reads the fields of a transaction, without its sender, signature and authorizations.
fn tx_fields(node: &Json<'_>, tx_type: TxType) -> Result<Transaction, ImportError> {
    let (max_fee_per_gas, max_priority_fee_per_gas) = match tx_type {
        TxType::Legacy | TxType::AccessList => (fee(node, "gasPrice")?, 0),
        TxType::DynamicFee | TxType::Blob | TxType::SetCode => {
            (fee(node, "maxFeePerGas")?, fee(node, "maxPriorityFeePerGas")?)
        }
    };
    let (mut blob_hashes, mut max_fee_per_blob_gas) = (Vec::new(), 0);
    if tx_type == TxType::Blob {
        let hashes = node.get(&["blobVersionedHashes"], "the list that type 0x3 has")?.items()?;
        blob_hashes = hashes.iter().map(Json::b256).collect::<Result<_, _>>()?;
        max_fee_per_blob_gas = fee(node, "maxFeePerBlobGas")?;
    }
    let mut access_list = Vec::new();
    if tx_type != TxType::Legacy {
        for item in node.items_at("accessList")? {
            let keys = item.items_at("storageKeys")?;
            let keys = keys.iter().map(Json::b256).collect::<Result<_, _>>()?;
            access_list.push((item.get(&["address"], "an address")?.address()?, keys));
        }
    }
    let to = match node.find(&["to"])? {
        Some(to) if !matches!(to.text(), Ok("")) => Some(to.address()?),
        _ => None,
    };
    let input = node.find(&["input", "data"])?;
    Ok(Transaction {
        tx_type,
        sender: Address::ZERO,
        nonce: node.get(&["nonce"], "the sender's nonce")?.u64()?,
        gas_limit: node.get(&["gas", "gasLimit"], "a gas limit")?.u64()?,
        max_fee_per_gas,
        max_priority_fee_per_gas,
        to,
        value: node.u256_at("value")?.unwrap_or_default(),
        input: input.map_or(Ok(Bytes::new()), |input| input.bytes())?,
        access_list,
        blob_hashes,
        max_fee_per_blob_gas,
        authorizations: Vec::new(),
    })
}

/// Reads `r` and `s` of the signature; `None` if they are missing, or both zero, as in an unsigned
/// transaction of go-ethereum's files.
fn r_and_s(node: &Json<'_>) -> Result<Option<(U256, U256)>, ImportError> {
    let (Some(r), Some(s)) = (node.find(&["r"])?, node.find(&["s"])?) else { return Ok(None) };
    let (r, s) = (r.u256()?, s.u256()?);
    Ok((!r.is_zero() || !s.is_zero()).then_some((r, s)))
}

/// Reads the y parity of a signature, at one of two keys, and returns it with its place. If both
/// keys are there, they must have the same value.
fn y_parity<'n>(node: &Json<'n>, allowed: &str) -> Result<(Json<'n>, U256), ImportError> {
    let found = node.get(&["yParity", "v"], allowed)?;
    let number = found.u256()?;
    match node.find(&["v"])? {
        Some(v) if v.u256()? != number => {
            Err(v.fault(format!("{number:#x}, the yParity beside it")))
        }
        _ => Ok((found, number)),
    }
}

/// Reads the signature with the id of its chain; `None` for an unsigned transaction. The id is
/// `None` if the signature holds on any chain. In type 0 the signature's `v` has the id (EIP-155);
/// other types sign `chain_id`.
fn signature_of(
    node: &Json<'_>,
    tx_type: TxType,
    chain_id: u64,
) -> Result<Option<(Signature, Option<u64>)>, ImportError> {
    let Some((r, s)) = r_and_s(node)? else { return Ok(None) };
    if tx_type != TxType::Legacy {
        let y_parity = parity(y_parity(node, "0x0 or 0x1")?.1);
        return Ok(Some((Signature { y_parity, r, s }, Some(chain_id))));
    }
    let v = node.get(&["v"], "0x1b, 0x1c, or 0x23 and up (EIP-155)")?;
    let (signed_chain, y_parity) = envelope::split_v(v.u256()?)
        .ok_or_else(|| v.fault("0x1b, 0x1c, or 0x23 and up (EIP-155)"))?;
    if let Some(said) = node.find(&["yParity"])?
        && said.u256()? != U256::from(y_parity)
    {
        return Err(said.fault(format!("{y_parity:#x}, as in the v beside it")));
    }
    Ok(Some((Signature { y_parity, r, s }, signed_chain)))
}

/// Finds the sender: the signer, or else the account of `secretKey`, or else the account that the
/// file names.
fn sender(node: &Json<'_>, envelope: &Envelope) -> Result<Address, ImportError> {
    let named = node.find(&["from", "sender"])?;
    if envelope.signature.is_some() {
        let wanted = "with s, a valid signature (EIP-2)";
        let signer = envelope.signer().ok_or_else(|| match node.get(&["r"], wanted) {
            Ok(r) => r.fault(wanted),
            Err(error) => error,
        })?;
        if let Some(named) = named
            && named.address()? != signer
        {
            return Err(named.fault(format!("{signer}, who signed this transaction")));
        }
        return Ok(signer);
    }
    if let Some(secret) = node.find(&["secretKey"])? {
        let first_secret = secret.b256()?;
        let family = SenderFamily { first_secret, count: 1, balance: U256::ZERO };
        let wanted = "a secret key of secp256k1: not zero, and below the order";
        return family.address(0).map_err(|_| secret.fault(wanted));
    }
    let wanted = "a signature (v, r, s), a secretKey, or from";
    named.ok_or_else(|| node.missing("from", wanted))?.address()
}

/// Reads a signed delegation (EIP-7702).
fn delegation(node: &Json<'_>) -> Result<(Authorization, Signature), ImportError> {
    const PART: &str = "part of a signed delegation (EIP-7702)";
    let (node_of_parity, y_parity) = y_parity(node, PART)?;
    let signature = Signature {
        y_parity: u8::try_from(y_parity)
            .map_err(|_| node_of_parity.fault("a number of 8 bits (EIP-7702)"))?,
        r: node.get(&["r"], PART)?.u256()?,
        s: node.get(&["s"], PART)?.u256()?,
    };
    let chain_id = node.get(&["chainId"], PART)?.u256()?;
    let address = node.get(&["address"], "an address")?.address()?;
    let nonce = node.get(&["nonce"], "a nonce")?.u64()?;
    Ok((authorization(chain_id, address, nonce, &signature), signature))
}

/// Returns `gas_limit`, the gas limit of the block at `node`, if it is within its bounds.
pub(super) fn gas_limit(node: &Json<'_>, gas_limit: u64, fork: Fork) -> Result<u64, ImportError> {
    let most = max_block_gas(fork);
    if !(MIN_BLOCK_GAS..=most).contains(&gas_limit) {
        let gas_limit = field_or_block(node, &["gasLimit", "currentGasLimit"])?;
        return Err(gas_limit.fault(format!("a gas limit of {MIN_BLOCK_GAS} to {most}")));
    }
    Ok(gas_limit)
}

/// Returns `excess`, the excess blob gas of the block at `node`, if it is within its bound.
pub(super) fn excess_blob_gas(
    node: &Json<'_>,
    excess: u64,
    blobs: BlobSchedule,
) -> Result<u64, ImportError> {
    let most = blobs.max_excess_blob_gas();
    if excess > most {
        let excess = field_or_block(node, &["excessBlobGas", "currentExcessBlobGas"])?;
        return Err(
            excess.fault(format!("an excess blob gas of {most:#x} at most, by its blob schedule"))
        );
    }
    Ok(excess)
}

/// Reads the blob schedule at `node`. A value that it leaves out is that of the schedule of `fork`.
pub(super) fn blob_schedule(node: &Json<'_>, fork: Fork) -> Result<BlobSchedule, ImportError> {
    let BlobSchedule { target, max, base_fee_update_fraction } = fork.blob_schedule();
    let fraction = node.u64_at("baseFeeUpdateFraction")?;
    let schedule = BlobSchedule {
        target: node.u64_at("target")?.unwrap_or(target),
        max: node.u64_at("max")?.unwrap_or(max),
        base_fee_update_fraction: fraction.unwrap_or(base_fee_update_fraction),
    };
    match schedule.is_bounded() {
        true => Ok(schedule),
        false => Err(node.fault(BlobSchedule::BOUNDS)),
    }
}

/// Returns the place that an error names: the field of the block at `node` with one of these keys.
/// If the block is RLP or lacks the field, it is the block itself.
pub(super) fn field_or_block<'n>(node: &Json<'n>, keys: &[&str]) -> Result<Json<'n>, ImportError> {
    if node.text().is_ok() {
        return Ok(node.clone());
    }
    Ok(node.find(keys)?.unwrap_or_else(|| node.clone()))
}
