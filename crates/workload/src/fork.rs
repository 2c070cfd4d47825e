//! The forks whose rules a workload can run under.

use serde::{Deserialize, Serialize};

/// The rules that a block runs under. A workload file has a fork by its place here, so a new one
/// stands at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fork {
    /// Fusaka's execution layer: no block-level access list in the protocol, no system call at
    /// the lists' indices that only Amsterdam has. For comparison with earlier studies.
    Osaka,
    /// Glamsterdam's execution layer: block-level access lists (EIP-7928), two-dimensional gas
    /// (EIP-8037), builder request contracts (EIP-8282).
    #[default]
    Amsterdam,
    /// Osaka with the first blob schedule that is only parameters (EIP-7892).
    Bpo1,
    /// Osaka with the second such schedule: mainnet's rules at the beginning of 2026.
    Bpo2,
}

/// Most that the excess blob gas of a block may be, in update fractions. There the blob base fee
/// is e^50 wei, and its computation (EIP-4844 `fake_exponential`) still far from 128 bits.
const MAX_EXCESS_FRACTIONS: u64 = 50;

impl Fork {
    /// All forks, oldest first.
    pub const ALL: [Self; 4] = [Self::Osaka, Self::Bpo1, Self::Bpo2, Self::Amsterdam];

    /// The name a scenario uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Osaka => "osaka",
            Self::Amsterdam => "amsterdam",
            Self::Bpo1 => "bpo1",
            Self::Bpo2 => "bpo2",
        }
    }

    /// How fast the blob base fee follows the excess blob gas: blob gas for a factor of e.
    /// Osaka's is Prague's (EIP-7691), the later ones are schedules of EIP-7892; Amsterdam keeps
    /// the last.
    pub const fn blob_fee_update_fraction(self) -> u64 {
        match self {
            Self::Osaka => 5_007_716,
            Self::Bpo1 => 8_346_193,
            Self::Bpo2 | Self::Amsterdam => 11_684_671,
        }
    }

    /// The most blobs of a block (EIP-7691, EIP-7892).
    pub const fn max_blob_count(self) -> u64 {
        match self {
            Self::Osaka => 9,
            Self::Bpo1 => 15,
            Self::Bpo2 | Self::Amsterdam => 21,
        }
    }

    /// The most excess blob gas that a block may have. Computing a fee from more takes time
    /// without bound.
    pub const fn max_excess_blob_gas(self) -> u64 {
        MAX_EXCESS_FRACTIONS * self.blob_fee_update_fraction()
    }

    /// The most gas one transaction may ask for: 2^24 (EIP-7825). Amsterdam accepts a larger
    /// limit whose surplus pays only for state gas (EIP-8037); generated transactions do not
    /// use that.
    pub const fn tx_gas_cap(self) -> u64 {
        1 << 24
    }

    /// The largest gas limit of a transaction, with the gas that pays only for state: 2^32 - 1 in
    /// Amsterdam (ethereum/execution-specs#3582).
    pub const fn max_tx_gas(self) -> u64 {
        match self {
            Self::Osaka | Self::Bpo1 | Self::Bpo2 => self.tx_gas_cap(),
            Self::Amsterdam => u32::MAX as u64,
        }
    }
}

impl std::fmt::Display for Fork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
