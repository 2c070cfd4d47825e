//! Converts the messages of a batch without a list between the executor's types and the protocol's
//! types (`wire`), for both sides of a connection. An invalid message gives an error as text.

use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use executor::shards::{
    OptimisticFinished, OptimisticReport, ShardCpu, ShardTimes, Speculation,
    versions::{
        AccountValue, AccountVersion, KeyValue, KeyValues, OptimisticStep, Order, Reads,
        RemoteWrites, RequestedKeys, SlotValue, Version, VersionWrites,
    },
};

use crate::{
    fields::{
        account_of_wire, account_to_wire, address, array, code_of_wire, code_to_wire, hash, ns,
        number, result_of_wire, result_to_wire, words,
    },
    records::{
        accounts_of_wire, accounts_to_wire, new_code_of_wire, new_code_to_wire,
        optional_accounts_of_wire, optional_accounts_to_wire, optional_slots_of_wire,
        optional_slots_to_wire, slots_of_wire, slots_to_wire,
    },
    wire::proto::{self, from_shard, order::Order as Wire},
};

/// Length in bytes of a slot's name: address and key.
const NAME_BYTES: usize = 20 + 32;

fn state_to_wire(state: AccountVersion) -> proto::AccountState {
    let AccountVersion { state, is_born } = state;
    proto::AccountState { account: Some(account_to_wire(state)), is_born }
}

fn state_of_wire(state: proto::AccountState) -> Result<AccountVersion, String> {
    let account = state.account.ok_or("a state without an account")?;
    Ok(AccountVersion { state: account_of_wire(account)?, is_born: state.is_born })
}

fn all<F, T>(fields: Vec<F>, each: impl Fn(F) -> Result<T, String>) -> Result<Vec<T>, String> {
    fields.into_iter().map(each).collect()
}

pub(crate) fn orders_to_wire(orders: Vec<Order>) -> proto::Orders {
    let orders = orders.into_iter().map(|order| {
        let order = match order {
            Order::Values(values) => Wire::Values(values_to_wire(values)),
            Order::Writes(writes) => Wire::Writes(proto::RemoteWrites {
                index: writes.index,
                incarnation: writes.incarnation,
                accounts: optional_accounts_to_wire(&writes.accounts),
                slots: optional_slots_to_wire(&writes.slots),
            }),
            Order::Committed { to, fees } => Wire::Committed(proto::Committed {
                to,
                fees: fees.into_iter().flat_map(u128::to_be_bytes).collect(),
            }),
            Order::Hurry => Wire::Hurry(proto::Hurry {}),
        };
        proto::Order { order: Some(order) }
    });
    proto::Orders { orders: orders.collect() }
}

pub(crate) fn orders_of_wire(orders: proto::Orders) -> Result<Vec<Order>, String> {
    all(orders.orders, |order| {
        Ok(match order.order.ok_or("an order without content")? {
            Wire::Values(values) => Order::Values(values_of_wire(values)?),
            Wire::Writes(writes) => Order::Writes(RemoteWrites {
                index: writes.index,
                incarnation: writes.incarnation,
                accounts: optional_accounts_of_wire(&writes.accounts)?,
                slots: optional_slots_of_wire(&writes.slots)?,
            }),
            Wire::Committed(proto::Committed { to, fees }) => Order::Committed {
                to,
                fees: words::<16>(&fees, "fees")?.map(u128::from_be_bytes).collect(),
            },
            Wire::Hurry(proto::Hurry {}) => Order::Hurry,
        })
    })
}

fn values_to_wire(values: KeyValues) -> proto::KeyValues {
    let KeyValues { request, accounts, slots, codes } = values;
    let accounts = accounts.into_iter().map(|value| proto::AccountValue {
        address: value.key.to_vec(),
        base: Some(account_to_wire(value.base)),
        versions: (value.versions.into_iter())
            .map(|Version { index, incarnation, value }| proto::AccountVersion {
                index,
                incarnation,
                value: Some(state_to_wire(value)),
            })
            .collect(),
    });
    let slots = slots.into_iter().map(|value| proto::SlotValue {
        address: value.key.0.to_vec(),
        key: value.key.1.to_be_bytes_vec(),
        base: value.base.to_be_bytes_vec(),
        versions: (value.versions.into_iter())
            .map(|Version { index, incarnation, value }| proto::SlotVersion {
                index,
                incarnation,
                value: value.to_be_bytes_vec(),
            })
            .collect(),
    });
    let codes = codes.into_iter().map(|(hash, code)| proto::CodeValue {
        hash: hash.to_vec(),
        code: Some(code_to_wire(code)),
    });
    proto::KeyValues {
        request,
        accounts: accounts.collect(),
        slots: slots.collect(),
        codes: codes.collect(),
    }
}

fn values_of_wire(values: proto::KeyValues) -> Result<KeyValues, String> {
    Ok(KeyValues {
        request: values.request,
        accounts: all(values.accounts, account_value_of_wire)?,
        slots: all(values.slots, slot_value_of_wire)?,
        codes: all(values.codes, |value| {
            Ok((hash(&value.hash, "a code's hash")?, value.code.and_then(code_of_wire)))
        })?,
    })
}

fn account_value_of_wire(value: proto::AccountValue) -> Result<AccountValue, String> {
    Ok(KeyValue {
        key: address(&value.address, "an account")?,
        base: account_of_wire(value.base.unwrap_or_default())?,
        versions: all(value.versions, |version| {
            let value = state_of_wire(version.value.ok_or("a version without a value")?)?;
            let proto::AccountVersion { index, incarnation, .. } = version;
            Ok(Version { index, incarnation, value })
        })?,
    })
}

fn slot_value_of_wire(value: proto::SlotValue) -> Result<SlotValue, String> {
    Ok(KeyValue {
        key: (address(&value.address, "a slot's account")?, number(&value.key, "a slot's key")?),
        base: number(&value.base, "a slot's value")?,
        versions: all(value.versions, |version| {
            let proto::SlotVersion { index, incarnation, value } = version;
            Ok(Version { index, incarnation, value: number(&value, "a slot's value")? })
        })?,
    })
}

pub(crate) fn wanted_to_wire(request: u64, keys: &RequestedKeys) -> proto::WantedKeys {
    let mut slots = Vec::with_capacity(keys.slots.len() * NAME_BYTES);
    for (address, key) in &keys.slots {
        slots.extend_from_slice(address.as_slice());
        slots.extend_from_slice(&key.to_be_bytes::<32>());
    }
    proto::WantedKeys {
        request,
        accounts: keys.accounts.iter().flat_map(|address| address.0.0).collect(),
        slots,
        codes: keys.codes.iter().flat_map(|hash| hash.0).collect(),
    }
}

fn wanted_of_wire(wanted: &proto::WantedKeys) -> Result<RequestedKeys, String> {
    let slots = words::<NAME_BYTES>(&wanted.slots, "slots")?
        .map(|name| (Address::from_slice(&name[..20]), U256::from_be_slice(&name[20..])));
    Ok(RequestedKeys {
        accounts: words::<20>(&wanted.accounts, "accounts")?.map(Address::from).collect(),
        slots: slots.collect(),
        codes: words::<32>(&wanted.codes, "codes")?.map(B256::from).collect(),
    })
}

pub(crate) fn run_to_wire(step: OptimisticStep) -> proto::Run {
    let OptimisticStep { index, incarnation, is_final, result, fee, reads, writes, latency } = step;
    let codes = writes.codes.into_iter();
    proto::Run {
        index,
        incarnation,
        is_final,
        result: result.map(result_to_wire),
        fee: fee.to_be_bytes().to_vec(),
        latency_ns: ns(latency),
        read_accounts: optional_accounts_to_wire(&reads.accounts),
        read_slots: optional_slots_to_wire(&reads.slots),
        read_paid: accounts_to_wire(&reads.beneficiaries),
        written_accounts: accounts_to_wire(&writes.accounts),
        written_slots: slots_to_wire(&writes.slots),
        new_codes: codes.map(|(hash, code)| new_code_to_wire(hash, code)).collect(),
    }
}

fn run_of_wire(run: proto::Run) -> Result<OptimisticStep, String> {
    Ok(OptimisticStep {
        index: run.index,
        incarnation: run.incarnation,
        is_final: run.is_final,
        result: run.result.map(result_of_wire).transpose()?,
        fee: u128::from_be_bytes(array(&run.fee, "a fee")?),
        latency: Duration::from_nanos(run.latency_ns),
        reads: Reads {
            accounts: optional_accounts_of_wire(&run.read_accounts)?,
            slots: optional_slots_of_wire(&run.read_slots)?,
            beneficiaries: accounts_of_wire(&run.read_paid)?,
        },
        writes: VersionWrites {
            accounts: accounts_of_wire(&run.written_accounts)?,
            slots: slots_of_wire(&run.written_slots)?,
            codes: all(run.new_codes, new_code_of_wire)?,
        },
    })
}

pub(crate) fn finished_to_wire(finished: &OptimisticFinished) -> proto::OptimisticDone {
    let OptimisticFinished { times, runs } = finished;
    proto::OptimisticDone {
        ahead_ns: ns(times.ahead),
        executed_ns: ns(times.executed),
        value_wait_ns: ns(times.value_wait),
        ahead_request_count: times.ahead_request_count,
        ahead_key_count: times.ahead_key_count,
        demand_request_count: times.demand_request_count,
        execution_count: runs.execution_count,
        validation_count: runs.validation_count,
        abort_count: runs.abort_count,
        wait_count: runs.wait_count,
        aborted_step_count: runs.aborted_step_count,
        most_aborts_of_a_step: runs.most_aborts_of_a_step,
    }
}

fn finished_of_wire(done: &proto::OptimisticDone) -> OptimisticFinished {
    OptimisticFinished {
        times: ShardTimes {
            ahead: Duration::from_nanos(done.ahead_ns),
            executed: Duration::from_nanos(done.executed_ns),
            value_wait: Duration::from_nanos(done.value_wait_ns),
            ahead_request_count: done.ahead_request_count,
            ahead_key_count: done.ahead_key_count,
            demand_request_count: done.demand_request_count,
            cpu: ShardCpu::default(),
        },
        runs: Speculation {
            step_count: 0,
            execution_count: done.execution_count,
            validation_count: done.validation_count,
            abort_count: done.abort_count,
            wait_count: done.wait_count,
            aborted_step_count: done.aborted_step_count,
            most_aborts_of_a_step: done.most_aborts_of_a_step,
        },
    }
}

/// Decodes a message from a shard.
pub(crate) fn report(message: proto::FromShard) -> Result<OptimisticReport, String> {
    Ok(match message.message.ok_or("a message without content")? {
        from_shard::Message::Ready(proto::Ready {}) => OptimisticReport::Ready,
        from_shard::Message::WantedKeys(wanted) => {
            OptimisticReport::Request { request: wanted.request, keys: wanted_of_wire(&wanted)? }
        }
        from_shard::Message::Runs(runs) => OptimisticReport::Steps(all(runs.runs, run_of_wire)?),
        from_shard::Message::Fault(fault) => {
            OptimisticReport::Failed { index: fault.index, reason: fault.reason }
        }
        from_shard::Message::OptimisticDone(done) => {
            OptimisticReport::Done(finished_of_wire(&done))
        }
        from_shard::Message::Wanted(_)
        | from_shard::Message::Steps(_)
        | from_shard::Message::Done(_) => {
            return Err("a message of a batch with a list".to_owned());
        }
    })
}
