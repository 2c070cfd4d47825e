//! Features that transactions of random blocks used. A test checks by the counts that no feature is
//! missing.

use std::collections::BTreeMap;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// A feature that a transaction can use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Feature { $($(#[$doc])* $name),+ }

        impl Feature {
            /// All features.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

features! {
    /// A transaction of type 0.
    Legacy,
    /// A transaction of type 1 (EIP-2930).
    AccessList,
    /// A transaction of type 2 (EIP-1559).
    DynamicFee,
    /// A transaction of type 3 (EIP-4844).
    Blob,
    /// A transaction of type 4 (EIP-7702).
    SetCode,
    /// A transaction that succeeded.
    Success,
    /// A transaction that reverted.
    Revert,
    /// A transaction that ran out of gas.
    OutOfGas,
    /// A transaction that halted for another reason.
    Halt,
    /// A transaction whose sender has sent before in its block.
    NonceChain,
    /// A transaction whose sender has delegated code.
    SenderIsDelegated,
    /// A transaction of the block's beneficiary.
    SenderIsBeneficiary,
    /// A transaction to an account with delegated code.
    ToDelegated,
    /// A transaction to the block's beneficiary.
    ToBeneficiary,
    /// A transaction to a precompile.
    ToPrecompile,
    /// A transaction that sends wei to an address without an account.
    ToFresh,
    /// A transaction that sends nothing to an address without an account (EIP-161).
    TouchOfFresh,
    /// A transaction without a fee for its beneficiary (EIP-161).
    NoFee,
    /// A transaction that creates.
    CreatingTransaction,
    /// An account that was created, and stays.
    Created,
    /// An account that was created and destroyed in one transaction.
    DestroyedAtOnce,
    /// An account that was created again after it had destroyed itself.
    CreatedAgain,
    /// An account that had wei before it was created.
    CreatedOverBalance,
    /// SELFDESTRUCT of an account older than the transaction (EIP-6780).
    OldDestroyed,
    /// An account that got delegated code.
    DelegationSet,
    /// An account whose delegation changed to another code.
    DelegationChanged,
    /// An account whose delegated code was removed.
    DelegationCleared,
    /// A slot that became present.
    SlotFilled,
    /// A slot that became absent.
    SlotCleared,
    /// A slot that a transaction accessed after an earlier one of its block had changed it.
    SlotConflict,
    /// An account that two transactions of the block changed, and that is neither sender nor
    /// beneficiary.
    AccountConflict,
    /// An account that existed and no longer exists.
    AccountGone,
    /// A call at depth three or more.
    DeepCall,
    /// A call to a precompile that succeeded.
    PrecompileSuccess,
    /// A call to a precompile that failed.
    PrecompileFailure,
    /// A failed call inside a transaction that did not fail.
    InnerFailure,
    /// A write refused in a static call (EIP-214).
    StaticRefusal,
    /// A creation refused because the address is taken.
    CreateCollision,
    /// An account that was emptied or never filled, and touched (EIP-161).
    EmptyTouched,
    /// SLOAD.
    OpSload,
    /// SSTORE.
    OpSstore,
    /// TSTORE (EIP-1153).
    OpTstore,
    /// BALANCE.
    OpBalance,
    /// SELFBALANCE.
    OpSelfBalance,
    /// EXTCODESIZE.
    OpCodeSize,
    /// EXTCODEHASH.
    OpCodeHash,
    /// EXTCODECOPY.
    OpCodeCopy,
    /// BLOCKHASH.
    OpBlockHash,
    /// COINBASE.
    OpBeneficiary,
    /// LOG2.
    OpLog,
    /// CREATE.
    OpCreate,
    /// CREATE2.
    OpCreate2,
    /// CALLCODE.
    OpCallCode,
    /// DELEGATECALL.
    OpDelegateCall,
    /// STATICCALL.
    OpStaticCall,
    /// A withdrawal.
    Withdrawal,
    /// A drawn transaction that was left out, because it is invalid at its position.
    LeftOut,
}

/// Number of occurrences of each feature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    counts: BTreeMap<Feature, u64>,
}

impl Coverage {
    /// Number of occurrences of `feature`.
    pub fn count(&self, feature: Feature) -> u64 {
        self.counts.get(&feature).copied().unwrap_or(0)
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        for (feature, count) in &other.counts {
            *self.counts.entry(*feature).or_default() += count;
        }
    }

    /// Counts each feature that occurred.
    pub(crate) fn note(&mut self, features: impl IntoIterator<Item = (Feature, bool)>) {
        for (feature, _) in features.into_iter().filter(|(_, occurred)| *occurred) {
            *self.counts.entry(feature).or_default() += 1;
        }
    }
}
