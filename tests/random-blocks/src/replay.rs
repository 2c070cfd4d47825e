//! Runs drafts in order on stock revm, to make blocks of them. It gives every transaction its
//! sender's current nonce, leaves out invalid ones, and counts events.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};
use evm::{env, system};
use revm::{
    Context, Database, DatabaseCommit, ExecuteEvm, InspectEvm, MainBuilder, MainContext,
    SystemCallEvm,
    context::{
        ContextTr, JournalTr,
        result::{ExecutionResult, HaltReason},
    },
    database::State,
    handler::{MainnetContext, MainnetEvm},
    state::{Account, AccountInfo, EvmState},
};
use workload::{
    Block, BlockEnv, ForkSchedule, Transaction, TxType, Workload, WorkloadError,
    block::Authorization,
};

use crate::{
    coverage::{Coverage, Feature},
    draft::Draft,
    witness::Witness,
    world::World,
};
use generator::reference::PlannedState;

/// Wei of a Gwei.
const GWEI: u64 = 1_000_000_000;

type Chain<'w> = State<PlannedState<'w>>;

/// A chain that grows by drafts.
pub(crate) struct Replay<'w> {
    evm: MainnetEvm<MainnetContext<Chain<'w>>, Witness>,
    rules: ForkSchedule,
    chain_id: u64,
    /// Accounts that destroyed themselves in an earlier transaction.
    gone: BTreeSet<Address>,
    block: Touched,
}

/// Changes of a block's transactions so far.
#[derive(Default)]
struct Touched {
    senders: BTreeSet<Address>,
    accounts: BTreeSet<Address>,
    slots: BTreeSet<(Address, U256)>,
}

impl<'w> Replay<'w> {
    /// Begins a chain at the genesis of `workload`, which needs no blocks.
    pub(crate) fn new(workload: &'w Workload, world: &World) -> Result<Self, WorkloadError> {
        let db = State::builder()
            .with_database(PlannedState::new(workload)?)
            .with_bundle_update()
            .build();
        let cfg = env::cfg_env(workload.rules.first.fork, workload.chain_id);
        let witness = Witness::new(world.precompiles.clone());
        let evm =
            Context::mainnet().with_db(db).with_cfg(cfg).build_mainnet_with_inspector(witness);
        Ok(Self {
            evm,
            rules: workload.rules.clone(),
            chain_id: workload.chain_id,
            gone: BTreeSet::new(),
            block: Touched::default(),
        })
    }

    /// The events so far.
    pub(crate) fn coverage(&self) -> &Coverage {
        &self.evm.inspector.coverage
    }

    /// Runs `draft` in `env`. Returns the block of its valid transactions.
    pub(crate) fn block(&mut self, env: BlockEnv, draft: &Draft) -> Block {
        let rules = *self.rules.at(env.timestamp);
        env::set_block(&mut self.evm, &env, &rules);
        self.block = Touched::default();
        for call in system::before_transactions(rules.fork, &env) {
            self.system_call(&call);
        }
        let mut transactions = Vec::new();
        for tx in &draft.transactions {
            let tx = self.with_nonces(tx);
            if self.transaction(&tx, env.beneficiary) {
                transactions.push(tx);
            } else {
                self.evm.inspector.coverage.note([(Feature::LeftOut, true)]);
            }
        }
        for withdrawal in &draft.withdrawals {
            let wei = U256::from(withdrawal.amount_gwei) * U256::from(GWEI);
            // The state is a map in memory, so this cannot fail.
            let _ = self.evm.ctx.journal_mut().balance_incr(withdrawal.address, wei);
            self.evm.inspector.coverage.note([(Feature::Withdrawal, true)]);
        }
        let state = self.evm.finalize();
        self.evm.ctx.db_mut().commit(state);
        for call in system::after_transactions(rules.fork) {
            self.system_call(&call);
        }
        Block { env, transactions, withdrawals: draft.withdrawals.clone() }
    }

    fn system_call(&mut self, call: &system::SystemCall) {
        // A failing system call fails the reference run, too, which reports it.
        let _ = self.evm.system_call_one(call.contract, call.input.clone());
        let state = self.evm.finalize();
        self.evm.ctx.db_mut().commit(state);
    }

    fn info(&mut self, address: Address) -> Option<AccountInfo> {
        self.evm.ctx.db_mut().basic(address).ok().flatten()
    }

    fn is_delegated(&mut self, address: Address) -> bool {
        let Some(info) = self.info(address) else { return false };
        let code = self.evm.ctx.db_mut().code_by_hash(info.code_hash);
        !info.is_empty_code_hash() && code.is_ok_and(|code| code.is_eip7702())
    }

    /// Returns `tx` with its nonces, each at the drawn distance from the valid one.
    fn with_nonces(&mut self, tx: &Transaction) -> Transaction {
        let mut out = tx.clone();
        out.nonce = self.info(tx.sender).map_or(0, |info| info.nonce);
        let mut next = BTreeMap::from([(tx.sender, out.nonce + 1)]);
        for tuple in &mut out.authorizations {
            let Authorization { authority: Some(authority), .. } = *tuple else { continue };
            let nonce = self.info(authority).map_or(0, |info| info.nonce);
            let nonce = next.entry(authority).or_insert(nonce);
            let is_valid = tuple.nonce == 0
                && (tuple.chain_id.is_zero() || tuple.chain_id == U256::from(self.chain_id));
            tuple.nonce += *nonce;
            *nonce += u64::from(is_valid);
        }
        out
    }

    /// Runs a transaction. Returns whether it is valid.
    fn transaction(&mut self, tx: &Transaction, beneficiary: Address) -> bool {
        let from_delegated = self.is_delegated(tx.sender);
        let to_delegated = tx.to.is_some_and(|to| self.is_delegated(to));
        let to_absent = tx.to.is_some_and(|to| self.info(to).is_none());
        let before = self.evm.inspector.coverage.clone();
        self.evm.inspector.enter();
        let result = self.evm.inspect_one_tx(env::tx_env(tx, self.chain_id));
        let state = self.evm.finalize();
        let Ok(result) = result else {
            self.evm.inspector.coverage = before;
            return false;
        };
        let is_again = !self.block.senders.insert(tx.sender);
        let to_precompile = tx.to.is_some_and(|to| self.evm.inspector.precompiles.contains(&to));
        self.note_form(tx, &result);
        self.evm.inspector.coverage.note([
            (Feature::NonceChain, is_again),
            (Feature::SenderIsDelegated, from_delegated),
            (Feature::SenderIsBeneficiary, tx.sender == beneficiary),
            (Feature::ToDelegated, to_delegated),
            (Feature::ToBeneficiary, tx.to == Some(beneficiary)),
            (Feature::ToPrecompile, to_precompile),
            (Feature::ToFresh, to_absent && !tx.value.is_zero()),
            (Feature::TouchOfFresh, to_absent && tx.value.is_zero()),
        ]);
        self.note_state(&state, &[tx.sender, beneficiary]);
        self.evm.ctx.db_mut().commit(state);
        true
    }

    fn note_form(&mut self, tx: &Transaction, result: &ExecutionResult) {
        let witness = &mut self.evm.inspector;
        let has_inner_failure = witness.has_inner_failure && result.is_success();
        let reason = match result {
            ExecutionResult::Halt { reason, .. } => Some(reason),
            _ => None,
        };
        let is_out_of_gas = matches!(reason, Some(HaltReason::OutOfGas(_)));
        let pays_no_fee = tx.tx_type == TxType::DynamicFee && tx.max_priority_fee_per_gas == 0;
        witness.coverage.note([
            (Feature::Legacy, tx.tx_type == TxType::Legacy),
            (Feature::AccessList, tx.tx_type == TxType::AccessList),
            (Feature::DynamicFee, tx.tx_type == TxType::DynamicFee),
            (Feature::Blob, tx.tx_type == TxType::Blob),
            (Feature::SetCode, tx.tx_type == TxType::SetCode),
            (Feature::NoFee, pays_no_fee),
            (Feature::CreatingTransaction, tx.to.is_none()),
            (Feature::Success, result.is_success()),
            (Feature::Revert, matches!(result, ExecutionResult::Revert { .. })),
            (Feature::OutOfGas, is_out_of_gas),
            (Feature::Halt, reason.is_some() && !is_out_of_gas),
            (Feature::InnerFailure, has_inner_failure),
        ]);
    }

    fn note_state(&mut self, state: &EvmState, payers: &[Address]) {
        let coverage = &mut self.evm.inspector.coverage;
        let destroyed = std::mem::take(&mut self.evm.inspector.destroyed);
        for (address, account) in state {
            let is_old = !account.is_selfdestructed() && destroyed.contains(address);
            let was_gone = self.gone.contains(address);
            note_account(account, Past { is_old, was_gone }, coverage);
            if account.is_selfdestructed() {
                self.gone.insert(*address);
            }
            for (key, slot) in &account.storage {
                let (before, after) = (slot.original_value(), slot.present_value());
                coverage.note([
                    (Feature::SlotFilled, before.is_zero() && !after.is_zero()),
                    (Feature::SlotCleared, !before.is_zero() && after.is_zero()),
                    (Feature::SlotConflict, self.block.slots.contains(&(*address, *key))),
                ]);
                if slot.is_changed() {
                    self.block.slots.insert((*address, *key));
                }
            }
            let is_changed = account.is_touched() && account.info != account.original_info();
            if is_changed && !payers.contains(address) {
                let is_first = self.block.accounts.insert(*address);
                coverage.note([(Feature::AccountConflict, !is_first)]);
            }
        }
    }
}

/// Facts of an account that a transaction has destroyed or created.
#[derive(Clone, Copy)]
struct Past {
    /// Whether it is destroyed now, and was created by an earlier transaction.
    is_old: bool,
    /// Whether an earlier transaction destroyed it.
    was_gone: bool,
}

fn note_account(account: &Account, past: Past, coverage: &mut Coverage) {
    let Past { is_old, was_gone } = past;
    if !account.is_touched() {
        return;
    }
    let (before, after) = (account.original_info(), &account.info);
    let is_gone = account.is_selfdestructed();
    let is_created = account.is_created() && !is_gone;
    let has_code = !before.is_empty_code_hash();
    let is_delegated = after.code.as_ref().is_some_and(|code| code.is_eip7702());
    let is_other = before.code_hash != after.code_hash && !account.is_created();
    coverage.note([
        (Feature::Created, is_created),
        (Feature::DestroyedAtOnce, is_gone),
        (Feature::CreatedAgain, account.is_created() && was_gone),
        (Feature::CreatedOverBalance, account.is_created() && !before.balance.is_zero()),
        (Feature::OldDestroyed, is_old),
        (Feature::DelegationSet, is_other && is_delegated && !has_code),
        (Feature::DelegationChanged, is_other && is_delegated && has_code),
        (Feature::DelegationCleared, is_other && has_code && after.is_empty_code_hash()),
        (Feature::AccountGone, is_gone && !before.is_empty()),
        (Feature::EmptyTouched, !is_gone && before.is_empty() && after.is_empty()),
    ]);
}
