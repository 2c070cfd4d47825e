//! Converts the messages of a batch with a list between the executor's types and the protocol's
//! types (`wire`), for both sides of a connection. An invalid message gives an error as text.

use std::time::Duration;

use alloy_primitives::{B256, U256};
use evm::StepWrites;
use executor::shards::{
    AccessedKeys, Finished, KeyRequest, Report, ShardCpu, ShardStep, ShardTimes, StateValues,
};

use crate::{
    fields::{code_of_wire, code_to_wire, ns, result_of_wire, result_to_wire, words},
    records::{
        slots_of_wire, slots_to_wire, states_of_wire, states_to_wire, writes_of_wire,
        writes_to_wire,
    },
    wire::proto::{self, from_shard},
};

pub(crate) fn values_to_wire(request: u64, values: StateValues) -> proto::Values {
    proto::Values {
        request,
        accounts: states_to_wire(&values.accounts),
        slots: values.slots.iter().flat_map(|slot| slot.to_be_bytes::<32>()).collect(),
        codes: values.codes.into_iter().map(code_to_wire).collect(),
    }
}

pub(crate) fn values_of_wire(values: proto::Values) -> Result<StateValues, String> {
    Ok(StateValues {
        accounts: states_of_wire(&values.accounts)?,
        slots: words::<32>(&values.slots, "slots")?.map(U256::from_be_bytes).collect(),
        codes: values.codes.into_iter().map(code_of_wire).collect(),
    })
}

pub(crate) fn wanted_to_wire(request: u64, keys: KeyRequest) -> proto::Wanted {
    let KeyRequest { accounts, slots, codes } = keys;
    let codes = codes.iter().flat_map(|hash| hash.0).collect();
    proto::Wanted { request, accounts, slots, codes }
}

pub(crate) fn step_to_wire(step: ShardStep) -> proto::Step {
    let ShardStep { index, result, writes, latency, new_slot_count } = step;
    let (accounts, codes) = writes_to_wire(writes.accounts);
    proto::Step {
        index,
        result: result.map(result_to_wire),
        accounts,
        slots: slots_to_wire(&writes.slots),
        latency_ns: ns(latency),
        new_slot_count,
        codes,
    }
}

fn step_of_wire(step: proto::Step) -> Result<ShardStep, String> {
    Ok(ShardStep {
        index: step.index,
        result: step.result.map(result_of_wire).transpose()?,
        writes: StepWrites {
            accounts: writes_of_wire(&step.accounts, step.codes)?,
            slots: slots_of_wire(&step.slots)?,
        },
        latency: Duration::from_nanos(step.latency_ns),
        new_slot_count: step.new_slot_count,
    })
}

pub(crate) fn finished_to_wire(finished: Finished) -> proto::Done {
    let Finished { accessed_keys, times } = finished;
    proto::Done {
        accounts: accessed_keys.accounts.into_iter().flat_map(u64::to_le_bytes).collect(),
        slots: accessed_keys.slots.into_iter().flat_map(u64::to_le_bytes).collect(),
        ahead_ns: ns(times.ahead),
        executed_ns: ns(times.executed),
        value_wait_ns: ns(times.value_wait),
        ahead_request_count: times.ahead_request_count,
        ahead_key_count: times.ahead_key_count,
        demand_request_count: times.demand_request_count,
        executing_cpu_ns: ns(times.cpu.executing),
        sending_cpu_ns: ns(times.cpu.sending),
        asking_cpu_ns: ns(times.cpu.asking),
        cpu_ns: ns(times.cpu.all),
    }
}

fn finished_of_wire(done: &proto::Done) -> Result<Finished, String> {
    let accessed_keys = AccessedKeys {
        accounts: words::<8>(&done.accounts, "bits")?.map(u64::from_le_bytes).collect(),
        slots: words::<8>(&done.slots, "bits")?.map(u64::from_le_bytes).collect(),
    };
    Ok(Finished {
        accessed_keys,
        times: ShardTimes {
            ahead: Duration::from_nanos(done.ahead_ns),
            executed: Duration::from_nanos(done.executed_ns),
            value_wait: Duration::from_nanos(done.value_wait_ns),
            ahead_request_count: done.ahead_request_count,
            ahead_key_count: done.ahead_key_count,
            demand_request_count: done.demand_request_count,
            cpu: ShardCpu {
                executing: Duration::from_nanos(done.executing_cpu_ns),
                sending: Duration::from_nanos(done.sending_cpu_ns),
                asking: Duration::from_nanos(done.asking_cpu_ns),
                all: Duration::from_nanos(done.cpu_ns),
            },
        },
    })
}

/// Decodes a message from a shard.
pub(crate) fn report(message: proto::FromShard) -> Result<Report, String> {
    Ok(match message.message {
        None => return Err("a message without content".to_owned()),
        Some(from_shard::Message::Wanted(wanted)) => {
            let codes = words::<32>(&wanted.codes, "codes")?.map(B256::from).collect();
            let keys = KeyRequest { accounts: wanted.accounts, slots: wanted.slots, codes };
            Report::Request { request: wanted.request, keys }
        }
        Some(from_shard::Message::Steps(steps)) => {
            let steps = steps.steps.into_iter().map(step_of_wire);
            Report::Steps(steps.collect::<Result<_, String>>()?)
        }
        Some(from_shard::Message::Fault(fault)) => {
            Report::Failed { index: fault.index, reason: fault.reason }
        }
        Some(from_shard::Message::Ready(proto::Ready {})) => Report::Ready,
        Some(from_shard::Message::Done(done)) => Report::Done(finished_of_wire(&done)?),
        Some(
            from_shard::Message::WantedKeys(_)
            | from_shard::Message::Runs(_)
            | from_shard::Message::OptimisticDone(_),
        ) => return Err("a message of a batch without a list".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes, Log, LogData};
    use evm::{AccountWrite, TxGas, TxResult};
    use workload::{TxStatus, genesis::AccountState};

    use super::*;

    fn step() -> ShardStep {
        let word = |byte| U256::from_be_bytes([byte; 32]);
        let address = Address::repeat_byte(7);
        let log = LogData::new_unchecked(vec![B256::repeat_byte(1); 4], vec![1, 2, 3].into());
        ShardStep {
            index: 9,
            result: Some(TxResult {
                status: TxStatus::Revert,
                gas: TxGas { receipt_gas: 1, block_regular_gas: 2, block_state_gas: 3 },
                logs: vec![Log { address, data: log }],
                output: vec![4; 100].into(),
            }),
            writes: StepWrites {
                accounts: vec![
                    AccountWrite { address, balance: Some(word(3)), nonce: None, code: None },
                    AccountWrite {
                        address,
                        balance: None,
                        nonce: Some(0),
                        code: Some((B256::repeat_byte(5), Bytes::new())),
                    },
                ],
                slots: vec![(address, word(1), U256::ZERO), (address, word(2), word(9))],
            },
            latency: Duration::from_nanos(77),
            new_slot_count: 3,
        }
    }

    fn decoded(message: from_shard::Message) -> Result<Report, String> {
        report(proto::FromShard { message: Some(message) })
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let system = ShardStep { index: 0, ..ShardStep::default() };
        let steps = vec![system, step()];
        let sent = steps.iter().cloned().map(step_to_wire).collect();
        let sent = from_shard::Message::Steps(proto::Steps { steps: sent });
        assert_eq!(decoded(sent), Ok(Report::Steps(steps)));
        let keys = KeyRequest {
            accounts: vec![1, 9],
            slots: vec![4],
            codes: vec![B256::repeat_byte(1), B256::repeat_byte(2)],
        };
        let sent = from_shard::Message::Wanted(wanted_to_wire(5, keys.clone()));
        assert_eq!(decoded(sent), Ok(Report::Request { request: 5, keys }));
        let finished = Finished {
            accessed_keys: AccessedKeys { accounts: vec![3, u64::MAX], slots: vec![] },
            times: ShardTimes {
                ahead: Duration::from_nanos(1),
                executed: Duration::from_nanos(2),
                value_wait: Duration::from_nanos(3),
                ahead_request_count: 4,
                ahead_key_count: 5,
                demand_request_count: 6,
                cpu: ShardCpu {
                    executing: Duration::from_nanos(7),
                    sending: Duration::from_nanos(8),
                    asking: Duration::from_nanos(9),
                    all: Duration::from_nanos(10),
                },
            },
        };
        let sent = from_shard::Message::Done(finished_to_wire(finished.clone()));
        assert_eq!(decoded(sent), Ok(Report::Done(finished)));
        assert_eq!(decoded(from_shard::Message::Ready(proto::Ready {})), Ok(Report::Ready));
        let account =
            AccountState { nonce: 7, balance: U256::MAX, code_hash: B256::repeat_byte(3) };
        let values = StateValues {
            accounts: vec![None, Some(account)],
            slots: vec![U256::ZERO, U256::MAX],
            codes: vec![None, Some(Bytes::new()), Some(vec![1].into())],
        };
        assert_eq!(values_of_wire(values_to_wire(1, values.clone())), Ok(values));
    }

    #[test]
    fn a_message_that_cannot_be_is_told_in_words() {
        let changed = |change: fn(&mut proto::Step)| {
            let mut step = step_to_wire(step());
            change(&mut step);
            decoded(from_shard::Message::Steps(proto::Steps { steps: vec![step] })).unwrap_err()
        };
        let short = changed(|step| step.accounts.truncate(60));
        assert_eq!(short, "writes to accounts have 60 bytes, no multiple of 61");
        assert!(changed(|step| step.codes.clear()).contains("a code that is missing"));
        assert!(changed(|step| step.slots.truncate(83)).contains("no multiple of 84"));
        let unknown = changed(|step| step.result.iter_mut().for_each(|result| result.status = 77));
        assert_eq!(unknown, "a result has the status 77");
        let topics = changed(|step| {
            let logs = step.result.iter_mut().flat_map(|result| &mut result.logs);
            logs.for_each(|log| log.topics.extend([0; 32]));
        });
        assert_eq!(topics, "a log has five topics or more");
        assert_eq!(report(proto::FromShard::default()).unwrap_err(), "a message without content");
    }
}
