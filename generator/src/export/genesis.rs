//! Writes the `genesis.json` of a chain in go-ethereum's form: the chain's settings, the header of
//! block 0, and all accounts.

use std::{
    io::{self, Write},
    mem,
};

use alloy_eips::eip7840::BlobParams;
use alloy_primitives::{Address, B256, Bytes, U256, hex};
use evm::env::blob_params;
use serde_json::{Map, Value, json};
use workload::{ChainRules, Fork, Genesis, GenesisAccount, SlotFamily, genesis::CodeRule};

use super::{chain::Chain, error::ExportError};

/// The most accounts and slots in a `genesis.json`. go-ethereum needs 4.7 GB of memory for one
/// million.
pub(super) const ALLOC_ROW_COUNT_MAX: u64 = 1_250_000;

/// Number of bytes of code whose text in `genesis.json` is as long as a slot's: 138 characters. The
/// file repeats a code for each account that has it.
pub(super) const CODE_BYTES_OF_ROW: u64 = 69;

/// Number of slots or accounts that are made at a time.
const CHUNK: u64 = 4096;

/// The place to which an export writes the accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountsPlace {
    /// In the `alloc` of the genesis.
    Written,
    /// In files of rows; the `alloc` is empty.
    InRows,
}

/// Whether a state is small enough for a `genesis.json`.
pub fn fits(state: &Genesis) -> bool {
    let row_count = state.account_count().saturating_add(state.slot_count());
    row_count.saturating_add(code_row_count(state)) <= ALLOC_ROW_COUNT_MAX
}

/// Number of slots whose text is as long as that of all codes of a state.
pub(super) fn code_row_count(state: &Genesis) -> u64 {
    code_bytes(state) / CODE_BYTES_OF_ROW
}

fn code_bytes(state: &Genesis) -> u64 {
    let written: u64 = state.accounts.iter().map(|account| account.code.len() as u64).sum();
    let by_rule = state.account_families.iter().map(|family| match family.code {
        CodeRule::Nothing => 0,
        CodeRule::Jumpdests { bytes, .. } => family.count.saturating_mul(u64::from(bytes)),
    });
    by_rule.fold(written, u64::saturating_add)
}

/// Refuses a state that is too large for a `genesis.json`.
///
/// # Errors
/// [`ExportError::StateTooLarge`].
pub fn check_size(state: &Genesis) -> Result<(), ExportError> {
    if fits(state) {
        return Ok(());
    }
    let row_count = state.account_count().saturating_add(state.slot_count());
    Err(ExportError::StateTooLarge {
        row_count,
        code_bytes: code_bytes(state),
        most_row_count: ALLOC_ROW_COUNT_MAX,
        code_bytes_of_row: CODE_BYTES_OF_ROW,
    })
}

/// Writes the genesis.
///
/// # Errors
/// [`ExportError::StateTooLarge`] where accounts are written and exceed [`ALLOC_ROW_COUNT_MAX`];
/// [`ExportError::Io`] where writing fails.
pub fn genesis(
    chain: &Chain,
    where_accounts: AccountsPlace,
    out: &mut impl Write,
) -> Result<(), ExportError> {
    if where_accounts == AccountsPlace::Written {
        check_size(&chain.genesis)?;
    }
    out.write_all(b"{\n")?;
    for (key, value) in head(chain).as_object().into_iter().flatten() {
        writeln!(out, "  {}: {value},", Value::from(key.as_str()))?;
    }
    out.write_all(b"  \"alloc\": ")?;
    match where_accounts {
        AccountsPlace::Written => accounts(chain, out)?,
        AccountsPlace::InRows => out.write_all(b"{}")?,
    }
    Ok(out.write_all(b"\n}\n")?)
}

/// Writes all accounts as one object.
pub(super) fn accounts(chain: &Chain, out: &mut impl Write) -> Result<(), ExportError> {
    out.write_all(b"{")?;
    alloc(chain, &mut Alloc { out, is_first: true })?;
    Ok(out.write_all(b"\n  }")?)
}

/// All keys of the genesis except its accounts.
fn head(chain: &Chain) -> Value {
    let header = &chain.genesis_header;
    let mut head = json!({
        "config": config(chain),
        "nonce": "0x0",
        "timestamp": quantity(header.timestamp),
        "extraData": "0x",
        "gasLimit": quantity(header.gas_limit),
        "difficulty": "0x0",
        "mixHash": header.mix_hash,
        "coinbase": header.beneficiary,
        "baseFeePerGas": quantity(header.base_fee_per_gas.unwrap_or(0)),
        "excessBlobGas": "0x0",
        "blobGasUsed": "0x0",
    });
    if let Some(slot) = header.slot_number {
        head["slotNumber"] = quantity(slot).into();
    }
    head
}

/// Formats a number as `0x` and hex digits.
fn quantity(number: u64) -> String {
    format!("{number:#x}")
}

/// The chain's settings. All forks up to the chain's are active from the genesis on. Where blocks
/// under Osaka grow the state, later forks begin after these blocks.
fn config(chain: &Chain) -> Value {
    let ChainRules { fork, deposit_contract, .. } = chain.rules;
    let later_time = chain.grown.map_or(0, |grown| grown.fork_timestamp);
    let mut config = Map::new();
    config.insert("chainId".to_owned(), chain.chain_id.into());
    for block in [
        "homesteadBlock",
        "eip150Block",
        "eip155Block",
        "eip158Block",
        "byzantiumBlock",
        "constantinopleBlock",
        "petersburgBlock",
        "istanbulBlock",
        "muirGlacierBlock",
        "berlinBlock",
        "londonBlock",
        "arrowGlacierBlock",
        "grayGlacierBlock",
        "mergeNetsplitBlock",
        "terminalTotalDifficulty",
    ] {
        config.insert(block.to_owned(), 0.into());
    }
    config.insert("terminalTotalDifficultyPassed".to_owned(), true.into());
    config.insert("depositContractAddress".to_owned(), json!(deposit_contract));
    config.insert("shanghaiTime".to_owned(), 0.into());
    let mut schedule = Map::new();
    let before = [("cancun", BlobParams::cancun(), 0), ("prague", BlobParams::prague(), 0)];
    let forks = Fork::GENERATED.into_iter().take_while(|known| known != &fork).chain([fork]);
    let from_osaka = forks.map(|known| {
        let time = if known == Fork::Osaka { 0 } else { later_time };
        let rules = if known == fork { chain.rules } else { known.into() };
        (known.name(), blob_params(&rules), time)
    });
    for (name, params, time) in before.into_iter().chain(from_osaka) {
        config.insert(format!("{name}Time"), time.into());
        let blobs = json!({
            "target": params.target_blob_count,
            "max": params.max_blob_count,
            "baseFeeUpdateFraction": params.update_fraction as u64,
        });
        schedule.insert(name.to_owned(), blobs);
    }
    config.insert("blobSchedule".to_owned(), schedule.into());
    config.into()
}

/// Writes accounts one after the other.
struct Alloc<'a, W> {
    out: &'a mut W,
    is_first: bool,
}

/// An account without its slots.
#[derive(Default)]
struct Row<'a> {
    address: Address,
    nonce: u64,
    balance: U256,
    code: Option<&'a Bytes>,
}

impl<W: Write> Alloc<'_, W> {
    fn account(
        &mut self,
        row: &Row<'_>,
        slots: impl FnOnce(&mut Slots<'_, W>) -> io::Result<()>,
    ) -> io::Result<()> {
        let separator = if mem::take(&mut self.is_first) { "" } else { "," };
        let Row { address, nonce, balance, code } = row;
        write!(self.out, "{separator}\n    \"{}\": {{", hex::encode_prefixed(address))?;
        let code = code.map_or("0x".to_owned(), hex::encode_prefixed);
        write!(self.out, "\"nonce\": \"{nonce:#x}\", \"balance\": \"{balance:#x}\", ")?;
        write!(self.out, "\"code\": \"{code}\", \"storage\": {{")?;
        slots(&mut Slots { out: self.out, is_first: true })?;
        self.out.write_all(b"}}")
    }
}

/// Writes the slots of an account one after the other.
struct Slots<'a, W> {
    out: &'a mut W,
    is_first: bool,
}

impl<W: Write> Slots<'_, W> {
    fn slot(&mut self, key: B256, value: B256) -> io::Result<()> {
        let separator = if mem::take(&mut self.is_first) { "" } else { ", " };
        let mut line = [0; 2 * (2 + 64)];
        let (key_text, value_text) = line.split_at_mut(66);
        for (text, word) in [(&mut *key_text, key), (&mut *value_text, value)] {
            text[..2].copy_from_slice(b"0x");
            hex::encode_to_slice(word, &mut text[2..]).map_err(io::Error::other)?;
        }
        self.out.write_all(separator.as_bytes())?;
        for (before, text) in [("\"", &*key_text), ("\": \"", &*value_text)] {
            self.out.write_all(before.as_bytes())?;
            self.out.write_all(text)?;
        }
        self.out.write_all(b"\"")
    }

    /// Writes the slots of a family.
    fn family(&mut self, family: &SlotFamily) -> io::Result<()> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for start in (0..family.count).step_by(CHUNK as usize) {
            let indices: Vec<u64> = (start..family.count.min(start + CHUNK)).collect();
            family.keys(&indices, &mut keys);
            family.values(&indices, &mut values);
            for (key, value) in keys.iter().zip(&values) {
                self.slot((*key).into(), (*value).into())?;
            }
        }
        Ok(())
    }
}

/// Writes all accounts: those that the state writes out, then those of families.
fn alloc(chain: &Chain, out: &mut Alloc<'_, impl Write>) -> Result<(), ExportError> {
    let genesis = &chain.genesis;
    for account in &genesis.accounts {
        let GenesisAccount { address, nonce, balance, code, storage } = account;
        let row = Row { address: *address, nonce: *nonce, balance: *balance, code: Some(code) };
        let families = genesis.slots.iter().filter(|family| family.address == *address);
        out.account(&row, |out| {
            for (key, value) in storage {
                out.slot((*key).into(), (*value).into())?;
            }
            families.into_iter().try_for_each(|family| out.family(family))
        })?;
    }
    for family in &genesis.senders {
        for start in (0..family.count).step_by(CHUNK as usize) {
            for address in family.addresses(start..family.count.min(start + CHUNK))? {
                let row = Row { address, balance: family.balance, ..Row::default() };
                out.account(&row, |_| Ok(()))?;
            }
        }
    }
    for family in &genesis.account_families {
        for index in 0..family.count {
            let code = family.code_index(index).map(|code| family.code(code));
            // The row needs no code hash: the argument says only whether there is a code.
            let state = family.state(index, code.as_ref().map(|_| B256::ZERO));
            let row = Row {
                address: family.address(index),
                nonce: state.nonce,
                balance: state.balance,
                code: code.as_ref(),
            };
            out.account(&row, |_| Ok(()))?;
        }
    }
    Ok(())
}
