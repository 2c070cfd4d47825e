//! Finds the addresses at which a transaction tries to create a contract, for the reference run. It
//! runs the transaction with an inspector, since a call frame that reverts leaves no trace of its
//! creation in the state.

use alloy_primitives::Address;
use revm::{
    Context, Database, InspectEvm, Inspector, MainBuilder, MainContext,
    handler::MainnetContext,
    interpreter::{CreateInputs, CreateOutcome},
};
use workload::{Block, Workload};

use crate::env;

/// Runs the transaction at `tx_index` of `block` over `db`, and drops its changes. Returns the
/// addresses of its creations, also of creations that fail. The list is empty if the transaction
/// cannot run.
pub fn creations(
    workload: &Workload,
    block: &Block,
    tx_index: usize,
    db: impl Database,
) -> Vec<Address> {
    let mut context = Context::mainnet().with_db(db);
    let rules = workload.rules_of(block);
    context.cfg = env::cfg_env(rules.fork, workload.chain_id);
    context.block = env::block_env(&block.env, rules);
    let mut evm = context.build_mainnet_with_inspector(Creations::default());
    let tx = env::tx_env(&block.transactions[tx_index], workload.chain_id);
    match evm.inspect_one_tx(tx) {
        Ok(_) => evm.inspector.0,
        Err(_) => Vec::new(),
    }
}

#[derive(Default)]
struct Creations(Vec<Address>);

impl<DB: Database> Inspector<MainnetContext<DB>> for Creations {
    fn create(
        &mut self,
        context: &mut MainnetContext<DB>,
        inputs: &mut CreateInputs,
    ) -> Option<CreateOutcome> {
        let creator = context.journaled_state.state.get(&inputs.caller());
        let nonce = creator.map_or(0, |creator| creator.info.nonce);
        self.0.push(inputs.created_address(nonce));
        None
    }
}
