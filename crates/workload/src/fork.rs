//! The rules of a workload's blocks: a fork, the chain's own settings, and later forks that may follow.

use alloy_primitives::{Address, address};
use serde::{Deserialize, Serialize};

/// The rules that a block runs under. A workload file has a fork by its place here, so a new one
/// stands at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fork {
    /// Fusaka's execution layer: neither block-level access lists in the protocol nor the system calls
    /// that only Amsterdam has. For comparison with earlier studies.
    Osaka,
    /// Glamsterdam's execution layer: block-level access lists (EIP-7928), two-dimensional gas
    /// (EIP-8037), builder request contracts (EIP-8282).
    #[default]
    Amsterdam,
    /// Osaka with the first blob schedule that is only parameters (EIP-7892).
    Bpo1,
    /// Osaka with the second such schedule: mainnet's rules at the beginning of 2026.
    Bpo2,
    /// The Merge's execution layer (EIP-3675).
    Paris,
    /// Shapella's: withdrawals (EIP-4895).
    Shanghai,
    /// Dencun's: blobs (EIP-4844), the beacon block's root (EIP-4788).
    Cancun,
    /// Pectra's: requests (EIP-7685), hashes of blocks in the state (EIP-2935).
    Prague,
}

/// Mainnet's deposit contract (EIP-6110).
pub const MAINNET_DEPOSIT_CONTRACT: Address = address!("00000000219ab540356cbb839cbe05303d7705fa");

/// Most that the excess blob gas of a block may be, in update fractions. There the blob base fee is e^50 wei, and
/// its computation (EIP-4844 `fake_exponential`) within 128 bits up to [`MAX_UPDATE_FRACTION`].
const MAX_EXCESS_FRACTIONS: u64 = 50;
const MAX_UPDATE_FRACTION: u64 = 100_000_000;
/// Most blobs of a block in any schedule: their gas and its excess stay far from 64 bits.
const MAX_BLOB_COUNT: u64 = 1 << 16;

/// A blob schedule: the blobs of a block, and how fast their fee follows (EIP-7840).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobSchedule {
    /// Blobs of a block with which the fee stays as it is.
    pub target: u64,
    /// Most blobs of a block.
    pub max: u64,
    /// Excess blob gas for a factor of e in the fee.
    pub base_fee_update_fraction: u64,
}

impl BlobSchedule {
    /// The bounds of a schedule, for errors.
    pub const BOUNDS: &str =
        "target ≤ max, max 1 to 65536 blobs, baseFeeUpdateFraction 1 to 100000000";

    /// Whether the schedule is within [`Self::BOUNDS`], so that fees under it can be computed.
    pub const fn is_bounded(&self) -> bool {
        let Self { target, max, base_fee_update_fraction: fraction } = *self;
        target <= max
            && max > 0
            && max <= MAX_BLOB_COUNT
            && fraction > 0
            && fraction <= MAX_UPDATE_FRACTION
    }

    /// The most excess blob gas that a block may have. Computing a fee from more takes time without bound.
    pub const fn max_excess_blob_gas(&self) -> u64 {
        MAX_EXCESS_FRACTIONS * self.base_fee_update_fraction
    }
}

impl std::fmt::Display for BlobSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { target, max, base_fee_update_fraction } = self;
        write!(f, "target {target}, max {max}, baseFeeUpdateFraction {base_fee_update_fraction}")
    }
}

/// The rules of a chain's blocks: those of a fork, with a blob schedule and a deposit contract that may be the
/// chain's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainRules {
    /// The fork.
    pub fork: Fork,
    /// The blob schedule.
    pub blobs: BlobSchedule,
    /// The deposit contract (EIP-6110).
    pub deposit_contract: Address,
}

impl From<Fork> for ChainRules {
    /// The rules of `fork` on mainnet.
    fn from(fork: Fork) -> Self {
        let deposit_contract = MAINNET_DEPOSIT_CONTRACT;
        Self { fork, blobs: fork.blob_schedule(), deposit_contract }
    }
}

impl ChainRules {
    /// Whether the blob schedule is within [`BlobSchedule::BOUNDS`], or has no blob as before Cancun.
    pub fn is_bounded(&self) -> bool {
        match self.fork.is_from(Fork::Cancun) {
            true => self.blobs.is_bounded(),
            false => self.blobs == self.fork.blob_schedule(),
        }
    }
}

impl Default for ChainRules {
    fn default() -> Self {
        Fork::default().into()
    }
}

/// The rules of a workload's blocks, by their time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "EncodedRules", into = "EncodedRules")]
pub struct ForkSchedule {
    /// The rules of the first blocks.
    pub first: ChainRules,
    /// Changes to later forks, by ascending time and fork. Of several at one time the last holds.
    pub changes: Vec<ForkChange>,
}

/// A change of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkChange {
    /// Unix time in seconds from which on blocks are under the new rules.
    pub timestamp: u64,
    /// The new rules.
    pub rules: ChainRules,
}

impl ForkSchedule {
    /// The rules of a block of this time.
    pub fn at(&self, timestamp: u64) -> &ChainRules {
        let begun = self.changes.iter().rev().find(|change| change.timestamp <= timestamp);
        begun.map_or(&self.first, |change| &change.rules)
    }

    /// All rules, in order.
    pub fn all(&self) -> impl Iterator<Item = &ChainRules> {
        [&self.first].into_iter().chain(self.changes.iter().map(|change| &change.rules))
    }
}

impl From<ChainRules> for ForkSchedule {
    /// The same rules at all times.
    fn from(first: ChainRules) -> Self {
        Self { first, changes: Vec::new() }
    }
}

impl From<Fork> for ForkSchedule {
    fn from(fork: Fork) -> Self {
        ChainRules::from(fork).into()
    }
}

impl std::fmt::Display for ForkSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.first.fork.name())?;
        self.changes.iter().try_for_each(|ForkChange { timestamp, rules }| {
            write!(f, ", {} from time {timestamp} on", rules.fork)
        })
    }
}

/// The rules in a workload file. The first forks stand as in [`Fork`], so that files from before chains had rules
/// of their own are as they were. [`Self::Own`] has rules that differ from the fork's and those of all other forks,
/// [`Self::Changed`] those before all changes, and the changes.
#[derive(Clone, Serialize, Deserialize)]
enum EncodedRules {
    Osaka,
    Amsterdam,
    Bpo1,
    Bpo2,
    Own(ChainRules),
    Changed(ChainRules, Vec<ForkChange>),
}

impl From<ForkSchedule> for EncodedRules {
    fn from(ForkSchedule { first, changes }: ForkSchedule) -> Self {
        let is_default = first == ChainRules::from(first.fork);
        match first.fork {
            _ if !changes.is_empty() => Self::Changed(first, changes),
            Fork::Osaka if is_default => Self::Osaka,
            Fork::Amsterdam if is_default => Self::Amsterdam,
            Fork::Bpo1 if is_default => Self::Bpo1,
            Fork::Bpo2 if is_default => Self::Bpo2,
            _ => Self::Own(first),
        }
    }
}

impl From<EncodedRules> for ForkSchedule {
    fn from(encoded: EncodedRules) -> Self {
        match encoded {
            EncodedRules::Osaka => Fork::Osaka.into(),
            EncodedRules::Amsterdam => Fork::Amsterdam.into(),
            EncodedRules::Bpo1 => Fork::Bpo1.into(),
            EncodedRules::Bpo2 => Fork::Bpo2.into(),
            EncodedRules::Own(rules) => rules.into(),
            EncodedRules::Changed(first, changes) => Self { first, changes },
        }
    }
}

impl Fork {
    /// All forks, oldest first.
    pub const ALL: [Self; 8] = [
        Self::Paris,
        Self::Shanghai,
        Self::Cancun,
        Self::Prague,
        Self::Osaka,
        Self::Bpo1,
        Self::Bpo2,
        Self::Amsterdam,
    ];

    /// Forks of generated and exported blocks, oldest first. Blocks of all forks can be imported.
    pub const GENERATED: [Self; 4] = [Self::Osaka, Self::Bpo1, Self::Bpo2, Self::Amsterdam];

    /// Whether the rules that came with `first` hold in this fork.
    pub const fn is_from(self, first: Self) -> bool {
        self.age() >= first.age()
    }

    /// Index in [`Self::ALL`].
    const fn age(self) -> usize {
        match self {
            Self::Paris => 0,
            Self::Shanghai => 1,
            Self::Cancun => 2,
            Self::Prague => 3,
            Self::Osaka => 4,
            Self::Bpo1 => 5,
            Self::Bpo2 => 6,
            Self::Amsterdam => 7,
        }
    }

    /// The name a scenario uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Osaka => "osaka",
            Self::Amsterdam => "amsterdam",
            Self::Bpo1 => "bpo1",
            Self::Bpo2 => "bpo2",
            Self::Paris => "paris",
            Self::Shanghai => "shanghai",
            Self::Cancun => "cancun",
            Self::Prague => "prague",
        }
    }

    /// The blob schedule. Osaka's is Prague's (EIP-7691), the later ones are schedules of EIP-7892; Amsterdam
    /// keeps the last. Before Cancun (EIP-4844) it has no blob.
    pub const fn blob_schedule(self) -> BlobSchedule {
        let (target, max, base_fee_update_fraction) = match self {
            Self::Paris | Self::Shanghai => (0, 0, 1),
            Self::Cancun => (3, 6, 3_338_477),
            Self::Prague | Self::Osaka => (6, 9, 5_007_716),
            Self::Bpo1 => (10, 15, 8_346_193),
            Self::Bpo2 | Self::Amsterdam => (14, 21, 11_684_671),
        };
        BlobSchedule { target, max, base_fee_update_fraction }
    }

    /// The most gas of one transaction's execution: 2^24 from Osaka on (EIP-7825). In Amsterdam its limit may
    /// be larger: the surplus is a reservoir that pays for state gas only (EIP-8037).
    pub const fn tx_gas_cap(self) -> u64 {
        if self.is_from(Self::Osaka) { 1 << 24 } else { u64::MAX }
    }

    /// The largest code: 64 KiB from Amsterdam on (EIP-7954), 24 KiB before (EIP-170).
    pub const fn max_code_bytes(self) -> u32 {
        if self.is_from(Self::Amsterdam) { 0x1_0000 } else { 0x6000 }
    }

    /// The largest gas limit of a transaction, with the gas that pays only for state: 2^32 - 1 in
    /// Amsterdam (ethereum/execution-specs#3582).
    pub const fn max_tx_gas(self) -> u64 {
        if self.is_from(Self::Amsterdam) { u32::MAX as u64 } else { self.tx_gas_cap() }
    }
}

impl std::fmt::Display for Fork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
