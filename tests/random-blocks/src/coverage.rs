//! The features that transactions of random blocks used: counts, so that a test can see that none
//! has gone missing.

use std::collections::BTreeMap;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Something that a transaction can do.
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
    /// A transaction that halted otherwise.
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
    /// A transaction that gives wei to an address without an account.
    ToFresh,
    /// A transaction that gives nothing to an address without an account (EIP-161).
    TouchOfFresh,
    /// A transaction without a fee for its beneficiary (EIP-161).
    NoFee,
    /// A transaction that creates.
    CreatingTransaction,
    /// An account that was created, and stays.
    Created,
    /// An account that was created and destroyed in one transaction.
    DestroyedAtOnce,
    /// An account created where one was before that destroyed itself.
    CreatedAgain,
    /// An account that had wei before it was created.
    CreatedOverBalance,
    /// SELFDESTRUCT of an account older than the transaction (EIP-6780).
    OldDestroyed,
    /// An account that got delegated code.
    DelegationSet,
    /// An account whose delegated code became another.
    DelegationChanged,
    /// An account whose delegated code was removed.
    DelegationCleared,
    /// A slot that became present.
    SlotFilled,
    /// A slot that became absent.
    SlotCleared,
    /// A slot that a transaction read or wrote after another of its block had changed it.
    SlotConflict,
    /// An account other than sender and beneficiary that changed after another transaction of
    /// the block had changed it.
    AccountConflict,
    /// An account that no longer exists after having existed.
    AccountGone,
    /// A call three or more deep.
    DeepCall,
    /// A call to a precompile that succeeded.
    PrecompileSuccess,
    /// A call to a precompile that failed.
    PrecompileFailure,
    /// A call that failed inside a transaction that did not.
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
    /// A drawn transaction that was left out, because it is invalid where it stands.
    LeftOut,
}

/// How often each feature occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    counts: BTreeMap<Feature, u64>,
}

impl Coverage {
    /// How often `feature` occurred.
    pub fn count(&self, feature: Feature) -> u64 {
        self.counts.get(&feature).copied().unwrap_or(0)
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        for (feature, count) in &other.counts {
            *self.counts.entry(*feature).or_default() += count;
        }
    }

    /// Counts each feature that occurred once more.
    pub(crate) fn note(&mut self, features: impl IntoIterator<Item = (Feature, bool)>) {
        for (feature, _) in features.into_iter().filter(|(_, occurred)| *occurred) {
            *self.counts.entry(feature).or_default() += 1;
        }
    }
}
