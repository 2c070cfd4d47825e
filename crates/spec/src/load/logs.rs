//! `logs`: transactions that write logs.

use super::kind::{Around, Kind};
use crate::fault::Fault;
use crate::fields::{Fields, Range};
use crate::quantity::underscored;

/// Logs.
#[derive(Debug, Clone, PartialEq)]
pub struct Logs {
    /// Topics of a log; 0 to 4.
    pub topic_count: u64,
    /// Bytes of data of a log; 0 to 100,000.
    pub data_bytes: u64,
    /// Logs of a transaction; as many as its gas allows where it is not said.
    pub log_count: Option<u64>,
}

const TOPICS: Range =
    Range { least: 0, most: 4, below: "", above: "the most topics, those of LOG4" };
const DATA: Range =
    Range { least: 0, most: 100_000, below: "", above: "the most that is supported" };
const LOGS: Range =
    Range { least: 1, most: 100_000, below: "a log", above: "the most that is supported" };
const DEFAULT_TOPIC_COUNT: u64 = 3;
const DEFAULT_DATA_BYTES: u64 = 32;

pub(super) const KIND: Kind<Logs> = Kind { name: "logs", keys: &["topics", "data", "logs"], read };

impl Logs {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let shape =
            [("topics", underscored(self.topic_count)), ("data", underscored(self.data_bytes))];
        let logs = self.log_count.map(|count| ("logs", underscored(count)));
        shape.into_iter().chain(logs).collect()
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<Logs, Fault> {
    Ok(Logs {
        topic_count: fields.count("topics", &TOPICS)?.unwrap_or(DEFAULT_TOPIC_COUNT),
        data_bytes: fields.count("data", &DATA)?.unwrap_or(DEFAULT_DATA_BYTES),
        log_count: fields.count("logs", &LOGS)?,
    })
}
