//! How long each phase of a sample went on.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};
use std::collections::BTreeMap;
use variant::Phase;

/// Nanoseconds of each phase. Phases overlap where they are sums above the wall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhasesNs([u64; Phase::ALL.len()]);

impl PhasesNs {
    /// The value of `time_ns` for each phase.
    pub fn of(time_ns: impl Fn(Phase) -> u64) -> Self {
        let mut phases = Self::default();
        for phase in Phase::ALL {
            phases[*phase] = time_ns(*phase);
        }
        phases
    }

    /// Key of a phase in the file: its name, with `_` where that has a hyphen.
    pub fn key(phase: Phase) -> String {
        phase.name().replace('-', "_")
    }
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

impl<'de> Deserialize<'de> for PhasesNs {
    /// A phase that the file does not have took no time: the tool that wrote it did not know it.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = BTreeMap::<String, u64>::deserialize(from)?;
        Ok(Self::of(|phase| found.get(&Self::key(phase)).copied().unwrap_or(0)))
    }
}
