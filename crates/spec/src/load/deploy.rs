//! `deploy`: contracts deployed, and called by later transactions.

use super::kind::{Around, Kind};
use crate::fault::Fault;
use crate::fields::{Fields, Range};
use crate::names::Creation;
use crate::quantity::underscored;

/// Deployments of contracts.
#[derive(Debug, Clone, PartialEq)]
pub struct Deploy {
    /// By which operation.
    pub creation: Creation,
    /// Bytes of the code that is deployed; 32 to 24,576.
    pub code_bytes: u64,
    /// Later transactions that call the deployed contract.
    pub call_count: u64,
}

const CODE: Range = Range {
    least: 32,
    most: 24_576,
    below: "the smallest contract that counts its calls",
    above: "the largest code of all forks (EIP-170)",
};
const DEFAULT_CODE_BYTES: u64 = 4_096;
const CALLS: Range =
    Range { least: 0, most: 10_000, below: "", above: "the most that is supported" };

pub(super) const KIND: Kind<Deploy> = Kind { name: "deploy", keys: &["by", "code", "calls"], read };

impl Deploy {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("by", format!("\"{}\"", self.creation)),
            ("code", underscored(self.code_bytes)),
            ("calls", underscored(self.call_count)),
        ]
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<Deploy, Fault> {
    Ok(Deploy {
        creation: fields.named("by")?.unwrap_or(Creation::Create),
        code_bytes: fields.count("code", &CODE)?.unwrap_or(DEFAULT_CODE_BYTES),
        call_count: fields.count("calls", &CALLS)?.unwrap_or(0),
    })
}
