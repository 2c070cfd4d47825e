//! Plans contracts that transactions deploy, by a creation or by a factory (CREATE2), and later
//! calls of these contracts. Each contract has a code of its own.

use std::collections::VecDeque;

use alloy_primitives::{Address, B256, Bytes, keccak256};
use workload::{Genesis, Transaction};

use super::{
    calls::{Call, PlacedCall, Script, Size},
    solidity::{calldata, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    planner::{PlannedTx, Touched},
    random::Stream,
    senders::Senders,
    state::{LoadGenesis, add_bare},
};
use spec::{Creation, Deploy};

/// Adds the factory.
pub(crate) fn place(tag: &str, genesis: &mut Genesis) -> Result<LoadGenesis, GeneratorError> {
    add_bare(tag, Contract::Factory, genesis)
}

/// The kind of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    #[default]
    Deploys,
    Calls,
}

/// A deployed contract that transactions have yet to call.
#[derive(Clone, Debug)]
struct PendingContract {
    address: Address,
    /// The transaction that deployed it.
    deployed_by: Transaction,
    /// Number of calls that still follow.
    left_count: u64,
}

/// Deployments, each with the calls that follow it.
#[derive(Debug)]
pub(crate) struct Deployments {
    deploy: Deploy,
    factory: Address,
    /// Creation code of `Deployed`, and length of the code that it deploys without padding.
    creation: Bytes,
    runtime_bytes: usize,
    /// Random stream of the codes.
    stream: Stream,
    deployed_count: u64,
    pending: VecDeque<PendingContract>,
}

impl Deployments {
    /// Deployments as `deploy` asks. With CREATE2 `factory` makes them.
    pub(crate) fn new(
        deploy: Deploy,
        factory: Address,
        stream: Stream,
    ) -> Result<Self, GeneratorError> {
        Ok(Self {
            deploy,
            factory,
            creation: Contract::Deployed.creation_code()?,
            runtime_bytes: Contract::Deployed.code()?.len(),
            stream,
            deployed_count: 0,
            pending: VecDeque::new(),
        })
    }

    /// Creation code of the next contract, which has `code_bytes` bytes. No byte of its padding is
    /// zero, so that all creations cost the same.
    fn init_code(&self, code_bytes: u64) -> Bytes {
        let code_stream = self.stream.within(format_args!("code/{}", self.deployed_count));
        let count = (code_bytes as usize).saturating_sub(self.runtime_bytes);
        let mut code = self.creation.to_vec();
        let padding = (0_u64..).flat_map(|part| code_stream.word(part).0);
        code.extend(padding.map(|byte| byte.max(1)).take(count));
        code.into()
    }

    /// The next deployment, and the address of its contract.
    fn deployment(
        &self,
        turn: u64,
        size: u64,
        senders: &mut Senders<'_>,
    ) -> Result<(Call<Form>, Address), GeneratorError> {
        let sender = senders.in_turn(turn);
        let code = self.init_code(size);
        let (to, input, address) = match self.deploy.creation {
            Creation::Create => {
                let address = senders.address(sender)?.create(senders.nonce(sender));
                (None, code, address)
            }
            Creation::Create2 => {
                let salt = word(self.deployed_count);
                let address = self.factory.create2(salt, keccak256(&code));
                (Some(self.factory), factory_calldata(salt, &code), address)
            }
        };
        let touched = Touched { absent: vec![address], ..Touched::default() };
        let form = Form::Deploys;
        Ok((Call { form, sender, to, input, touched, ..Call::default() }, address))
    }
}

/// Calldata of `deploy(salt, code)`.
fn factory_calldata(salt: B256, code: &Bytes) -> Bytes {
    let head = calldata("deploy(bytes32,bytes)", &[salt, word(64), word(code.len() as u64)]);
    let mut input = [&head[..], code].concat();
    // The ABI pads an array to whole words, counted from the end of the selector.
    input.resize(4 + (input.len() - 4).next_multiple_of(32), 0);
    input.into()
}

impl Script for Deployments {
    type Form = Form;

    fn name(&self) -> &'static str {
        Contract::Deployed.name()
    }

    fn size(&self) -> Size {
        match self.pending.is_empty() {
            true => Size::Asked("code", self.deploy.code_bytes),
            false => Size::One,
        }
    }

    fn call(
        &self,
        turn: u64,
        size: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Call<Form>, GeneratorError> {
        let Some(next) = self.pending.front() else {
            return Ok(self.deployment(turn, size, senders)?.0);
        };
        Ok(Call {
            form: Form::Calls,
            sender: senders.in_turn(turn),
            to: Some(next.address),
            touched: Touched { absent: vec![next.address], ..Touched::default() },
            before: vec![next.deployed_by.clone()],
            ..Call::default()
        })
    }

    fn placed(
        &mut self,
        PlacedCall { turn, size }: PlacedCall,
        tx: &PlannedTx,
        senders: &mut Senders<'_>,
    ) -> Result<(), GeneratorError> {
        if let Some(called) = self.pending.front_mut() {
            called.left_count -= 1;
            if called.left_count == 0 {
                self.pending.pop_front();
            }
            return Ok(());
        }
        let (_, address) = self.deployment(turn, size, senders)?;
        if self.deploy.call_count > 0 {
            let deployed_by = tx.to_tx(senders)?;
            let left_count = self.deploy.call_count;
            self.pending.push_back(PendingContract { address, deployed_by, left_count });
        }
        self.deployed_count += 1;
        Ok(())
    }
}
