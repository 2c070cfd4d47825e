//! The forks whose rules a workload can run under.

use serde::{Deserialize, Serialize};

/// The rules that a block runs under.
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
}

impl Fork {
    /// All forks, oldest first.
    pub const ALL: [Self; 2] = [Self::Osaka, Self::Amsterdam];

    /// The name a scenario uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Osaka => "osaka",
            Self::Amsterdam => "amsterdam",
        }
    }

    /// The most gas one transaction may ask for: 2^24 (EIP-7825). Amsterdam accepts a larger
    /// limit whose surplus pays only for state gas (EIP-8037); generated transactions do not
    /// use that.
    pub const fn tx_gas_cap(self) -> u64 {
        1 << 24
    }
}

impl std::fmt::Display for Fork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
