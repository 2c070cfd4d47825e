//! Inspects a running transaction, to count features.

use alloy_primitives::{Address, U256};
use revm::{
    Inspector,
    bytecode::opcode as op,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
        InterpreterTypes, interpreter_types::Jumps,
    },
};

use crate::coverage::{Coverage, Feature};

/// Depth from which a call counts as deep.
const DEEP: usize = 3;

/// Opcodes that are counted.
const OPCODES: &[(u8, Feature)] = &[
    (op::SLOAD, Feature::OpSload),
    (op::SSTORE, Feature::OpSstore),
    (op::TSTORE, Feature::OpTstore),
    (op::BALANCE, Feature::OpBalance),
    (op::SELFBALANCE, Feature::OpSelfBalance),
    (op::EXTCODESIZE, Feature::OpCodeSize),
    (op::EXTCODEHASH, Feature::OpCodeHash),
    (op::EXTCODECOPY, Feature::OpCodeCopy),
    (op::BLOCKHASH, Feature::OpBlockHash),
    (op::COINBASE, Feature::OpBeneficiary),
    (op::LOG2, Feature::OpLog),
    (op::CREATE, Feature::OpCreate),
    (op::CREATE2, Feature::OpCreate2),
    (op::CALLCODE, Feature::OpCallCode),
    (op::DELEGATECALL, Feature::OpDelegateCall),
    (op::STATICCALL, Feature::OpStaticCall),
];

/// Events inside the inspected transactions.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    pub(crate) coverage: Coverage,
    pub(crate) precompiles: Vec<Address>,
    /// Accounts that destroyed themselves in this transaction.
    pub(crate) destroyed: Vec<Address>,
    /// Whether a call or creation within this transaction failed.
    pub(crate) has_inner_failure: bool,
    depth: usize,
}

impl Witness {
    /// Makes a witness that knows the addresses of precompiles.
    pub(crate) fn new(precompiles: Vec<Address>) -> Self {
        Self { precompiles, ..Self::default() }
    }

    /// Forgets the last transaction.
    pub(crate) fn enter(&mut self) {
        self.destroyed.clear();
        (self.depth, self.has_inner_failure) = (0, false);
    }

    fn leave(&mut self, result: InstructionResult) {
        self.depth = self.depth.saturating_sub(1);
        self.has_inner_failure |= self.depth > 0 && !result.is_ok();
    }
}

impl<CTX, INTR: InterpreterTypes> Inspector<CTX, INTR> for Witness {
    fn step(&mut self, interp: &mut Interpreter<INTR>, _: &mut CTX) {
        let opcode = interp.bytecode.opcode();
        self.coverage.note(OPCODES.iter().map(|(code, feature)| (*feature, *code == opcode)));
    }

    fn call(&mut self, _: &mut CTX, _: &mut CallInputs) -> Option<CallOutcome> {
        self.depth += 1;
        self.coverage.note([(Feature::DeepCall, self.depth > DEEP)]);
        None
    }

    fn call_end(&mut self, _: &mut CTX, inputs: &CallInputs, outcome: &mut CallOutcome) {
        let result = outcome.result.result;
        let is_precompile = self.precompiles.contains(&inputs.bytecode_address);
        self.coverage.note([
            (Feature::PrecompileSuccess, is_precompile && result.is_ok()),
            (Feature::PrecompileFailure, is_precompile && !result.is_ok()),
            (Feature::StaticRefusal, is_static_refusal(result)),
        ]);
        self.leave(result);
    }

    fn create(&mut self, _: &mut CTX, _: &mut CreateInputs) -> Option<CreateOutcome> {
        self.depth += 1;
        None
    }

    fn create_end(&mut self, _: &mut CTX, _: &CreateInputs, outcome: &mut CreateOutcome) {
        let result = outcome.result.result;
        let is_collision = result == InstructionResult::CreateCollision;
        self.coverage.note([(Feature::CreateCollision, is_collision)]);
        self.leave(result);
    }

    fn selfdestruct(&mut self, contract: Address, _: Address, _: U256) {
        self.destroyed.push(contract);
    }
}

fn is_static_refusal(result: InstructionResult) -> bool {
    matches!(
        result,
        InstructionResult::StateChangeDuringStaticCall
            | InstructionResult::CallNotAllowedInsideStatic
    )
}
