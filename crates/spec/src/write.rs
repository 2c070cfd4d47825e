//! Writes a scenario as TOML with every key explicit, and the canonical text of its work keys,
//! which a workload has in its digest.

use crate::keys::{self, Entry, Keys, ValueOrMeaning, float, quoted};
use crate::metric::{Bound, Expect, When};
use crate::names::LoadOrder;
use crate::quantity::underscored;
use crate::scenario::{RunSpec, Scenario};
use crate::{load::Load, mdbx, rocksdb};

/// Meaning of a seed that is left out.
const DERIVED: &str = "derived from the scenario's seed";

impl Scenario {
    /// Returns the scenario as a file with every key. The file parses to an equal scenario, except
    /// for expectations that overrides have disabled: these are written as a comment.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        line(&mut out, "schema", &keys::SCHEMA.to_string());
        line(&mut out, "name", &quoted(&self.name));
        line(&mut out, "description", &quoted(&self.description));
        line(&mut out, "fork", &quoted(self.fork.name()));
        line(&mut out, "seed", &underscored(self.seed));
        table(&mut out, "[state]", &self.state_entries());
        table(&mut out, "[block]", &self.block_entries());
        for load in &self.loads {
            table(&mut out, "[[load]]", &load_entries(load));
        }
        for (path, entries) in self.run.tables() {
            table(&mut out, &format!("[{path}]"), &entries);
        }
        let mut expects = String::new();
        for expect in &self.expects {
            table(&mut expects, "[[expect]]", &expect_entries(expect));
        }
        match self.skipped_expects() {
            None => out.push_str(&expects),
            Some(overridden) => {
                let overridden = overridden.join(", ");
                out.push_str("\n# Stated for other work, so not in force: overridden were ");
                out.push_str(&overridden);
                out.push('\n');
                for line in expects.lines().filter(|line| !line.is_empty()) {
                    out.push_str("# ");
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out
    }

    /// Returns the keys that decide the workload, one `path = value` a line, in a fixed order with
    /// every default applied. Two scenarios with equal text are the same work. Leaves out the name,
    /// the description, `[run]` and `[[expect]]`.
    pub fn work_identity(&self) -> String {
        let mut out = String::new();
        line(&mut out, "schema", &keys::SCHEMA.to_string());
        line(&mut out, "fork", &quoted(self.fork.name()));
        line(&mut out, "seed", &underscored(self.seed));
        identity(&mut out, "state", self.state_entries());
        identity(&mut out, "block", self.block_entries());
        for (index, load) in self.loads.iter().enumerate() {
            identity(&mut out, &format!("load[{index}]"), load_entries(load));
        }
        out
    }

    pub(crate) fn state_entries(&self) -> Vec<Entry> {
        let state = &self.state;
        vec![
            ("accounts", Ok(underscored(state.account_count))),
            ("slots", slots(state.slot_count)),
            ("layout", Ok(quoted(state.layout.name()))),
            ("present", Ok(float(state.present_share))),
            ("seed", seed(state.seed)),
        ]
    }

    pub(crate) fn block_entries(&self) -> Vec<Entry> {
        let block = &self.block;
        vec![
            (block.target.key(), Ok(underscored(block.target.count()))),
            ("blocks", Ok(underscored(block.block_count))),
            ("batch", Ok(underscored(block.batch_block_count))),
            ("tx_gas", Ok(underscored(block.tx_gas))),
            // The default is not written: the work has the same identity as before the key existed.
            (
                "order",
                match block.order {
                    LoadOrder::Interleaved => Err("interleaved"),
                    order => Ok(quoted(order.name())),
                },
            ),
            ("seed", seed(block.seed)),
        ]
    }
}

impl RunSpec {
    /// Returns the tables of a run in a file, each with its path.
    pub fn tables(&self) -> [(&'static str, Vec<Entry>); 3] {
        [
            ("run", Keys::entries(self)),
            (rocksdb::PATH, self.rocksdb.entries()),
            (mdbx::PATH, self.mdbx.entries()),
        ]
    }
}

pub(crate) fn load_entries(load: &Load) -> Vec<Entry> {
    let (present, absent): (Vec<Entry>, Vec<Entry>) =
        load.kind.entries().into_iter().partition(|(_, value)| value.is_ok());
    let mut entries: Vec<Entry> =
        vec![("kind", Ok(quoted(load.kind.name()))), ("share", Ok(float(load.share)))];
    entries.extend(present.into_iter().chain(absent));
    entries.extend(load.size_entries());
    entries.push(("name", load.name.as_deref().map(quoted).ok_or("its index")));
    entries.push(("seed", seed(load.seed)));
    entries
}

fn expect_entries(expect: &Expect) -> Vec<Entry> {
    let bound = match expect.bound {
        Bound::Min(min) => ("min", Ok(float(min))),
        Bound::Max(max) => ("max", Ok(float(max))),
    };
    let mut entries: Vec<Entry> = vec![("metric", Ok(quoted(&expect.text()))), bound];
    if expect.when != When::default() {
        let parts: Vec<String> = [
            expect.when.store.map(|store| format!("store = {}", quoted(store.name()))),
            expect.when.cache.map(|cache| format!("cache = {}", quoted(cache.name()))),
        ]
        .into_iter()
        .flatten()
        .collect();
        entries.push(("when", Ok(format!("{{ {} }}", parts.join(", ")))));
    }
    entries
}

fn table(out: &mut String, header: &str, entries: &[Entry]) {
    out.push('\n');
    out.push_str(header);
    out.push('\n');
    for (key, value) in entries {
        match value {
            Ok(value) => line(out, key, value),
            Err(meaning) => {
                out.push_str("# ");
                line(out, key, meaning);
            }
        }
    }
}

/// Adds each entry with a value as `path.key = value`.
fn identity(out: &mut String, path: &str, entries: Vec<Entry>) {
    for (key, value) in entries {
        if let Ok(value) = value {
            line(out, &format!("{path}.{key}"), &value);
        }
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    out.push_str(key);
    out.push_str(" = ");
    out.push_str(value);
    out.push('\n');
}

fn slots(count: u64) -> ValueOrMeaning {
    if count == 0 { Err("none: no load asks for any") } else { Ok(underscored(count)) }
}

fn seed(seed: Option<u64>) -> ValueOrMeaning {
    seed.map(underscored).ok_or(DERIVED)
}
