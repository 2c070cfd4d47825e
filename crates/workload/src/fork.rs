//! The rules of a workload's blocks: a fork, the chain's own blob schedule and deposit contract,
//! and changes to later forks. Generator, import and the EVM's environment read them.

use alloy_primitives::{Address, address};
use serde::{Deserialize, Serialize};

/// The rules that a block runs under. A workload file encodes a fork by its position here, so a new
/// fork comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fork {
    /// Fusaka's execution layer. The protocol has no block-level access list, and none of the
    /// system calls that came with Amsterdam. For comparison with earlier studies.
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

/// The most excess blob gas of a block, as a multiple of the schedule's `base_fee_update_fraction`.
/// At this excess the blob base fee is e^50 wei. Its computation (EIP-4844 `fake_exponential`)
/// stays within 128 bits for fractions up to [`MAX_UPDATE_FRACTION`].
const MAX_EXCESS_FRACTIONS: u64 = 50;
/// The largest `base_fee_update_fraction` of a schedule.
const MAX_UPDATE_FRACTION: u64 = 100_000_000;
/// The most blobs of a block in any schedule. Their blob gas and the excess blob gas stay far below
/// 2^64.
const MAX_BLOB_COUNT: u64 = 1 << 16;

/// A blob schedule (EIP-7840): the target and the maximum number of blobs in a block, and how fast
/// the blob fee changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobSchedule {
    /// Number of blobs in each block at which the blob fee does not change.
    pub target: u64,
    /// Maximum number of blobs in a block.
    pub max: u64,
    /// Excess blob gas that multiplies the blob fee by e.
    pub base_fee_update_fraction: u64,
}

impl BlobSchedule {
    /// The bounds of a schedule, as errors state them.
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

    /// The most excess blob gas that a block may have. The time to compute a fee from more has no
    /// bound.
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

/// The rules of a chain's blocks: those of a fork, with a blob schedule and a deposit contract that
/// may be the chain's own.
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
    /// From Cancun on, whether the blob schedule is within [`BlobSchedule::BOUNDS`]. Before Cancun,
    /// whether it is the fork's, which allows no blob.
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
    /// Changes to later forks, by ascending time and fork. Of several changes at one time, the last
    /// one holds.
    pub changes: Vec<ForkChange>,
}

/// A change of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkChange {
    /// Unix time in seconds of the first blocks under the new rules.
    pub timestamp: u64,
    /// The new rules.
    pub rules: ChainRules,
}

impl ForkSchedule {
    /// The rules of a block with this timestamp.
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

/// The encoding of rules in a workload file. The first four variants are encoded as [`Fork`] is,
/// since older files have only a fork here. [`Self::Own`] has the rules of all other forks, and
/// rules whose blob schedule or deposit contract is not mainnet's. [`Self::Changed`] has the rules
/// of the first blocks, and the changes.
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
        if !changes.is_empty() {
            return Self::Changed(first, changes);
        }
        match first.fork {
            fork if first != ChainRules::from(fork) => Self::Own(first),
            Fork::Osaka => Self::Osaka,
            Fork::Amsterdam => Self::Amsterdam,
            Fork::Bpo1 => Self::Bpo1,
            Fork::Bpo2 => Self::Bpo2,
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

    /// Whether this fork is `first` or a later one.
    pub const fn is_from(self, first: Self) -> bool {
        self.position() >= first.position()
    }

    /// Index in [`Self::ALL`].
    const fn position(self) -> usize {
        let mut index = 0;
        while Self::ALL[index] as u8 != self as u8 {
            index += 1;
        }
        index
    }

    /// Name of the fork in scenarios.
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

    /// The fork's blob schedule on mainnet. Osaka keeps Prague's (EIP-7691), and Amsterdam keeps
    /// that of [`Self::Bpo2`]. Those of [`Self::Bpo1`] and [`Self::Bpo2`] are set by EIP-7892.
    /// Before Cancun (EIP-4844) a schedule allows no blob.
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

    /// The most gas of one transaction's execution: 2^24 from Osaka on (EIP-7825), without bound
    /// before. In Amsterdam a transaction's gas limit may be larger: the surplus is a reservoir
    /// that pays for state gas only (EIP-8037).
    pub const fn tx_gas_cap(self) -> u64 {
        if self.is_from(Self::Osaka) { 1 << 24 } else { u64::MAX }
    }

    /// Maximum length of a code in bytes: 64 KiB from Amsterdam on (EIP-7954), 24 KiB before
    /// (EIP-170).
    pub const fn max_code_bytes(self) -> u32 {
        if self.is_from(Self::Amsterdam) { 0x1_0000 } else { 0x6000 }
    }

    /// The largest gas limit of a transaction, including gas that pays for state only. It is
    /// 2^32 - 1 from Amsterdam on (ethereum/execution-specs#3582), else [`Self::tx_gas_cap`].
    pub const fn max_tx_gas(self) -> u64 {
        if self.is_from(Self::Amsterdam) { u32::MAX as u64 } else { self.tx_gas_cap() }
    }
}

impl std::fmt::Display for Fork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
