//! Times of a sample's phases, and the parts of its wall time along its critical path.
//! `src/figures/cells/` fills them.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::{Index, IndexMut},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, json};
use variant::Phase;

/// Nanoseconds of each phase of a sample. Phases overlap, so their sum may exceed the wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhasesNs([u64; Phase::ALL.len()]);

impl PhasesNs {
    /// Makes the times of all phases from `time_ns`, which gives the time of one.
    pub fn of(time_ns: impl Fn(Phase) -> u64) -> Self {
        let mut phases = Self::default();
        for phase in Phase::ALL {
            phases[*phase] = time_ns(*phase);
        }
        phases
    }

    /// Key of a phase in a file: the phase's name, with `_` in the place of each hyphen.
    pub fn key(phase: Phase) -> String {
        phase.name().replace('-', "_")
    }
}

/// Nanoseconds of the parts of a sample along its critical path. They add up to the wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathNs {
    /// Waiting for values of the state: by executing threads, and before execution begins.
    pub reads: u64,
    /// Executing steps, without the time of waiting for values.
    pub execution: u64,
    /// Recovering senders.
    pub recovery: u64,
    /// Computing the state root.
    pub root: u64,
    /// Work on the list: hashing, decoding, order of steps, building, verifying, checks.
    pub list: u64,
    /// Commit, sync, and the flushes and compactions that are waited for after them.
    pub commit: u64,
    /// Everything else: decoding blocks, receipts, headers, shards, and time between phases.
    pub rest: u64,
}

impl Index<Phase> for PhasesNs {
    type Output = u64;

    fn index(&self, phase: Phase) -> &u64 {
        &self.0[phase as usize]
    }
}

impl IndexMut<Phase> for PhasesNs {
    fn index_mut(&mut self, phase: Phase) -> &mut u64 {
        &mut self.0[phase as usize]
    }
}

impl Serialize for PhasesNs {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(Phase::ALL.len()))?;
        for phase in Phase::ALL {
            map.serialize_entry(&Self::key(*phase), &self[*phase])?;
        }
        map.end()
    }
}

impl JsonSchema for PhasesNs {
    fn schema_name() -> Cow<'static, str> {
        "PhasesNs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties: Map<_, _> = Phase::ALL
            .iter()
            .map(|phase| {
                let description = format!("Time of the phase `{phase}`; see docs/methodology.md.");
                let time = json!({ "type": "integer", "minimum": 0, "description": description });
                (Self::key(*phase), time)
            })
            .collect();
        let required: Vec<_> = Phase::ALL.iter().map(|phase| Self::key(*phase)).collect();
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

impl<'de> Deserialize<'de> for PhasesNs {
    /// Reads 0 for a phase that the file lacks, because the program that wrote the file did not
    /// know it.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = BTreeMap::<String, u64>::deserialize(from)?;
        Ok(Self::of(|phase| found.get(&Self::key(phase)).copied().unwrap_or(0)))
    }
}
