//! Converts fields that several messages have, between the executor's types and the protocol's
//! types (`wire`). An invalid field gives an error as text.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, Log, U256};
use evm::{TxGas, TxResult};
use workload::{TxStatus, genesis::AccountState};

use crate::wire::proto::{self, tx_result::Status};

/// Converts bytes to an array. `what` names the field in the error.
pub(crate) fn array<const N: usize>(bytes: &[u8], what: &str) -> Result<[u8; N], String> {
    let found = bytes.len();
    bytes.try_into().map_err(|_| format!("{what} has {found} bytes, and not {N}"))
}

pub(crate) fn number(bytes: &[u8], what: &str) -> Result<U256, String> {
    Ok(U256::from_be_bytes(array::<32>(bytes, what)?))
}

pub(crate) fn hash(bytes: &[u8], what: &str) -> Result<B256, String> {
    Ok(B256::from(array::<32>(bytes, what)?))
}

pub(crate) fn address(bytes: &[u8], what: &str) -> Result<Address, String> {
    Ok(Address::from(array::<20>(bytes, what)?))
}

/// Splits bytes into words of `N` bytes each. Fails if the last word is shorter. `what` names the
/// field in the error.
pub(crate) fn words<'b, const N: usize>(
    bytes: &'b [u8],
    what: &str,
) -> Result<impl Iterator<Item = [u8; N]> + use<'b, N>, String> {
    if !bytes.len().is_multiple_of(N) {
        return Err(format!("{what} have {} bytes, no multiple of {N}", bytes.len()));
    }
    Ok(bytes.chunks_exact(N).map(|word| {
        let mut array = [0; N];
        array.copy_from_slice(word);
        array
    }))
}

pub(crate) fn account_to_wire(account: Option<AccountState>) -> proto::Account {
    match account {
        None => proto::Account::default(),
        Some(AccountState { nonce, balance, code_hash }) => proto::Account {
            exists: true,
            nonce,
            balance: balance.to_be_bytes_vec(),
            code_hash: code_hash.to_vec(),
        },
    }
}

pub(crate) fn account_of_wire(account: proto::Account) -> Result<Option<AccountState>, String> {
    if !account.exists {
        return Ok(None);
    }
    Ok(Some(AccountState {
        nonce: account.nonce,
        balance: number(&account.balance, "a balance")?,
        code_hash: hash(&account.code_hash, "a code's hash")?,
    }))
}

pub(crate) fn code_to_wire(code: Option<Bytes>) -> proto::Code {
    proto::Code { exists: code.is_some(), bytes: code.unwrap_or_default().0 }
}

pub(crate) fn code_of_wire(code: proto::Code) -> Option<Bytes> {
    code.exists.then(|| Bytes::copy_from_slice(&code.bytes))
}

pub(crate) fn result_to_wire(result: TxResult) -> proto::TxResult {
    let TxResult { status, gas, logs, output } = result;
    let status = match status {
        TxStatus::Success => Status::Success,
        TxStatus::Revert => Status::Revert,
        TxStatus::Halt => Status::Halt,
    };
    let logs = logs.into_iter().map(|log| proto::Log {
        address: log.address.to_vec(),
        topics: log.topics().iter().flat_map(|topic| topic.0).collect(),
        data: log.data.data.0,
    });
    proto::TxResult {
        status: status.into(),
        gas_used: gas.receipt_gas,
        block_regular_gas: gas.block_regular_gas,
        block_state_gas: gas.block_state_gas,
        logs: logs.collect(),
        output: output.0,
    }
}

pub(crate) fn result_of_wire(result: proto::TxResult) -> Result<TxResult, String> {
    let status = match result.status() {
        Status::Success => TxStatus::Success,
        Status::Revert => TxStatus::Revert,
        Status::Halt => TxStatus::Halt,
        Status::Unknown => return Err(format!("a result has the status {}", result.status)),
    };
    let logs = result.logs.into_iter().map(|log| {
        let topics = words::<32>(&log.topics, "topics")?.map(B256::from).collect();
        let address = address(&log.address, "a log's account")?;
        let data = Bytes::copy_from_slice(&log.data);
        Log::new(address, topics, data).ok_or("a log has five topics or more".to_owned())
    });
    Ok(TxResult {
        status,
        gas: TxGas {
            receipt_gas: result.gas_used,
            block_regular_gas: result.block_regular_gas,
            block_state_gas: result.block_state_gas,
        },
        logs: logs.collect::<Result<_, String>>()?,
        // Copied, so that the result does not keep the memory of its whole message.
        output: Bytes::copy_from_slice(&result.output),
    })
}

pub(crate) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
