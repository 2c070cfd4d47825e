//! Makes the work of a batch for the simulation: the time and the keys of each step. A key is a
//! number: accounts and slots have the ids of the batch's list, and codes the numbers after them. A
//! transaction has the keys that it touches in the reference run.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use alloy_primitives::{Address, B256, keccak256};
use anyhow::{Result, anyhow};
use generator::describe::{Accesses, Description};
use partition::{
    Access,
    simulate::{BatchWork, KeyKind, StepWork},
};
use workload::{
    Batch, Block, BlockAccessIndex, StepKind, Steps, Transaction, Workload,
    genesis::Genesis,
    list::{ListBounds, ListIndex},
};

use crate::figures::cells::ns;

#[derive(Clone, Debug)]
pub struct SimulatedBatch<'a> {
    pub batch: &'a Batch,
    pub list: ListIndex,
    /// The steps of the batch with their keys and times.
    pub work: BatchWork,
}

impl<'a> SimulatedBatch<'a> {
    /// Makes all batches of a workload. `description` has the keys that the transactions
    /// touch, and `times` has the times of each batch's steps.
    ///
    /// # Errors
    /// A list cannot be decoded, or a step has no time.
    pub fn all(
        workload: &'a Workload,
        description: &Description,
        times: &[Vec<Duration>],
    ) -> Result<Vec<Self>> {
        let batches = workload.batches.iter().zip(&description.batches).zip(times);
        let all: Vec<Self> = batches
            .map(|((batch, described), times)| {
                let bounds = ListBounds::new(batch, &workload.rules);
                let list = ListIndex::decode(&batch.list, &bounds);
                let list = list.map_err(|error| anyhow!("the list of a batch: {error}"))?;
                let builder = BatchWorkBuilder::new(&list, &workload.genesis);
                Ok(Self { batch, work: builder.work(batch, &described.accesses, times)?, list })
            })
            .collect::<Result<_>>()?;
        match all.len() == workload.batches.len() {
            true => Ok(all),
            false => Err(anyhow!("times of {} of {} batches", all.len(), workload.batches.len())),
        }
    }

    pub fn tx_count(&self) -> usize {
        self.batch.blocks.iter().map(|block| block.transactions.len()).sum()
    }
}

/// The work of a batch under construction.
struct BatchWorkBuilder<'a> {
    list: &'a ListIndex,
    genesis: &'a Genesis,
    keys: Vec<KeyKind>,
    /// The key of each code, by the code's hash.
    code_keys: HashMap<B256, u32>,
    /// The key of each account's code, by account; `None` for an account without a code.
    code_key_of_account: HashMap<u32, Option<u32>>,
}

impl<'a> BatchWorkBuilder<'a> {
    fn new(list: &'a ListIndex, genesis: &'a Genesis) -> Self {
        let accounts = list.accounts().map(|_| KeyKind::Account);
        let slots = list.slots().map(|slot| KeyKind::Slot { account: list.account_of(slot).0 });
        let keys = accounts.chain(slots).collect();
        let (code_keys, code_key_of_account) = (HashMap::new(), HashMap::new());
        Self { list, genesis, keys, code_keys, code_key_of_account }
    }

    /// Makes the work of `batch`. `touched` has the keys of its transactions.
    fn work(mut self, batch: &Batch, touched: &Accesses, times: &[Duration]) -> Result<BatchWork> {
        for block in &batch.blocks {
            // The model treats the recipient of the fees apart.
            if let Some(recipient) = self.account(&block.env.beneficiary) {
                self.keys[recipient as usize] = KeyKind::Recipient;
            }
        }
        let steps = Steps::of(batch);
        let mut tx_count = 0;
        let mut all = Vec::with_capacity(steps.count() as usize);
        for (index, step) in steps.iter() {
            let time = times.get(index as usize);
            let time = time.ok_or_else(|| anyhow!("step {index} of a batch has no time"))?;
            let block = &batch.blocks[step.block];
            let mut work = match step.kind {
                StepKind::Transaction(tx_index) => {
                    tx_count += 1;
                    self.transaction(block, &block.transactions[tx_index], touched.of(tx_count - 1))
                }
                StepKind::BeforeTransactions | StepKind::AfterTransactions => {
                    StepWork { is_system: true, ..StepWork::default() }
                }
            };
            work.time_ns = ns(*time);
            all.push(work);
        }
        for (index, accesses) in self.system_accesses(&steps, &all) {
            all[index as usize].accesses = accesses;
        }
        Ok(BatchWork { keys: self.keys, steps: all })
    }

    fn account(&self, address: &Address) -> Option<u32> {
        self.list.account_id(address).map(|id| id.0)
    }

    /// Returns the keys of the system steps, which the reference run does not report. By the list,
    /// they write some keys. They also have the declared keys that no transaction touches. Such a
    /// key goes to the system step that writes another key of its account, or else to the last
    /// step.
    fn system_accesses(
        &mut self,
        steps: &Steps,
        transactions: &[StepWork],
    ) -> BTreeMap<BlockAccessIndex, Vec<Access>> {
        let mut all = self.written_by_system(steps);
        let mut step_of_account: HashMap<u32, BlockAccessIndex> = HashMap::new();
        for (index, accesses) in &all {
            for access in accesses {
                step_of_account.entry(self.account_of(access.key)).or_insert(*index);
            }
        }
        let mut is_touched = vec![false; self.keys.len()];
        let tx_accesses = transactions.iter().flat_map(|step| &step.accesses);
        for access in tx_accesses.chain(all.values().flatten()) {
            is_touched[access.key as usize] = true;
        }
        let last = steps.count() - 1;
        for key in (0..is_touched.len() as u32).filter(|key| !is_touched[*key as usize]) {
            let index = step_of_account.get(&self.account_of(key)).copied().unwrap_or(last);
            all.entry(index).or_default().push(Access { key, writes: false });
        }
        for accesses in all.values_mut() {
            // A step asks for accounts first and for codes last. A key that it writes stays
            // written.
            let accounts = accesses.iter().map(|access| self.account_of(access.key));
            let accounts: BTreeSet<u32> = accounts.collect();
            let codes: Vec<_> = accounts.iter().filter_map(|id| self.code_key(*id)).collect();
            accesses.extend(codes.into_iter().map(|key| Access { key, writes: false }));
            accesses.sort_by_key(|access| (access.key, !access.writes));
            accesses.dedup_by_key(|access| access.key);
        }
        all
    }

    /// Returns the number of the account to which a key belongs.
    fn account_of(&self, key: u32) -> u32 {
        match self.keys[key as usize] {
            KeyKind::Slot { account } => account,
            KeyKind::Account | KeyKind::Recipient | KeyKind::Code => key,
        }
    }

    /// Returns the keys that system steps write, by the list.
    fn written_by_system(&self, steps: &Steps) -> BTreeMap<BlockAccessIndex, Vec<Access>> {
        let account_count = self.list.account_count();
        let of_accounts = self
            .list
            .accounts()
            .flat_map(|id| self.list.account_change_indices(id).map(move |index| (id.0, index)));
        let of_slots = self.list.slots().flat_map(|id| {
            self.list.slot_change_indices(id).map(move |index| (account_count + id.0, index))
        });
        let mut written: BTreeMap<BlockAccessIndex, Vec<Access>> = BTreeMap::new();
        for (key, index) in of_accounts.chain(of_slots) {
            if !matches!(steps.at(index).kind, StepKind::Transaction(_)) {
                written.entry(index).or_default().push(Access { key, writes: true });
            }
        }
        written
    }

    /// Returns a transaction's keys, in about the order of its requests: sender, callee, codes, all
    /// other keys, and the fee recipient at the end.
    fn transaction(
        &mut self,
        block: &Block,
        tx: &Transaction,
        touched: &[generator::describe::Access],
    ) -> StepWork {
        let sender = self.account(&tx.sender);
        let callee = tx.to.and_then(|address| self.account(&address));
        let recipient = self.account(&block.env.beneficiary);
        let own = touched.iter().map(|access| Access { key: access.key, writes: access.writes });
        let mut accesses: Vec<Access> = own.collect();
        accesses.retain(|access| Some(access.key) != recipient);
        let account_count = self.list.account_count();
        let mut codes: Vec<u32> = accesses
            .iter()
            .filter(|access| access.key < account_count)
            .filter_map(|access| self.code_key(access.key))
            .collect();
        codes.sort_unstable();
        codes.dedup();
        accesses.extend(codes.into_iter().map(|key| Access { key, writes: false }));
        accesses.extend(recipient.map(|key| Access { key, writes: true }));
        accesses.sort_by_cached_key(|access| {
            let key = Some(access.key);
            let is_code = self.keys[access.key as usize] == KeyKind::Code;
            let order = [key == sender, key == callee, is_code, key != recipient];
            (order.iter().position(|is_here| *is_here).unwrap_or(order.len()), access.key)
        });
        StepWork { is_system: false, time_ns: 0, sender, callee, accesses }
    }

    /// Returns the key of the code that an account has before the batch.
    fn code_key(&mut self, account: u32) -> Option<u32> {
        let Self { list, genesis, keys, code_keys, code_key_of_account } = self;
        *code_key_of_account.entry(account).or_insert_with(|| {
            let address = list.address(workload::list::AccountId(account));
            let code = &genesis.account(address)?.code;
            (!code.is_empty()).then(|| {
                *code_keys.entry(keccak256(code)).or_insert_with(|| {
                    keys.push(KeyKind::Code);
                    keys.len() as u32 - 1
                })
            })
        })
    }
}
