//! A scenario as TOML with every key explicit, and the canonical text of its work keys.

use std::fmt::Write;
use std::time::Duration;

use crate::metric::{Bound, Expect, When};
use variant::{Named, RootTime, TrieForm, WholeRows, steers_terminal};

use crate::names::LoadOrder;
use crate::quantity::underscored;
use crate::scenario::{BlockTarget, RunSpec, Scenario, WholeSpec};
use crate::{keys, load::Load, mdbx, rocksdb};

/// A key and its value as TOML; `None` is a key left out, with the meaning of that.
pub(crate) type Entry = (&'static str, Result<String, &'static str>);

const DERIVED: &str = "derived from the scenario's seed";

impl Scenario {
    /// The resolved file. It parses back to an equal scenario, except that expectations which
    /// overrides have put out of force are written as a comment.
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

    /// The keys that decide the workload, one `path = value` a line, in a fixed order with
    /// every default applied: two scenarios with equal text are the same work. Leaves out the name,
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
        let target = match block.target {
            BlockTarget::Gas(gas) => ("gas", Ok(underscored(gas))),
            BlockTarget::Transactions(count) => ("transactions", Ok(underscored(count))),
        };
        vec![
            target,
            ("blocks", Ok(underscored(block.block_count))),
            ("batch", Ok(underscored(block.batch_block_count))),
            ("tx_gas", Ok(underscored(block.tx_gas))),
            // Left out where it is the default: the work is the same as before there was the key.
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
    /// The tables of a run in a file, each with its path.
    pub fn tables(&self) -> [(&'static str, Vec<Entry>); 3] {
        [
            ("run", run_entries(self)),
            (rocksdb::PATH, self.rocksdb.entries()),
            (mdbx::PATH, self.mdbx.entries()),
        ]
    }
}

pub(crate) fn load_entries(load: &Load) -> Vec<Entry> {
    let mut entries: Vec<Entry> =
        vec![("kind", Ok(quoted(load.kind.name()))), ("share", Ok(float(load.share)))];
    let own = load.kind.entries();
    let unsaid = load.kind.keys().iter().filter(|key| own.iter().all(|(said, _)| said != *key));
    let unsaid: Vec<_> = unsaid.copied().collect();
    entries.extend(own.into_iter().map(|(key, value)| (key, Ok(value))));
    entries.extend(unsaid.into_iter().map(|key| (key, Err("left out"))));
    entries.extend(load.size_entries());
    entries.push(("name", load.name.as_deref().map(quoted).ok_or("its index")));
    entries.push(("seed", seed(load.seed)));
    entries
}

pub(crate) fn run_entries(run: &RunSpec) -> Vec<Entry> {
    vec![
        ("designs", Ok(list(run.designs.iter().map(|design| quoted(design.name()))))),
        ("stores", Ok(list(run.stores.iter().map(|store| quoted(store.name()))))),
        ("threads", Ok(list(run.thread_counts.iter().map(u32::to_string)))),
        ("fibers", Ok(list(run.fiber_counts.iter().map(u32::to_string)))),
        ("shards", counts_or(&run.shards.counts, "none")),
        (
            "shard_addresses",
            match run.shards.addresses.as_slice() {
                [] => Err("started on this host"),
                given => Ok(quoted(&given.join(","))),
            },
        ),
        ("partitioner", names_or(&run.shards.partitioners, "by-sender")),
        ("partition", names_or(&run.shards.partition_times, "inside")),
        ("shard_batch", counts_or(&run.shards.micro_batch_key_counts, "256")),
        ("shard_delay_us", counts_or(&run.shards.delays_us, "0")),
        ("io_threads", Ok(list(run.io_thread_counts.iter().map(u32::to_string)))),
        ("list", names(&run.list_duties)),
        ("prefetch", names(&run.prefetch.times)),
        ("prefetch_order", names(&run.prefetch.orders)),
        ("prefetch_accounts", names(&run.prefetch.accounts)),
        ("prefetch_codes", names(&run.prefetch.codes)),
        ("prefetch_stop", names(&run.prefetch.stops)),
        ("prefetch_share", names(&run.prefetch.shares)),
        ("prefetch_chunk", Ok(list(run.prefetch.chunk_key_counts.iter().map(u32::to_string)))),
        ("warm_cache", Ok(quoted(run.warm_cache.name()))),
        ("read", run.read.map_or(Err("chosen by the tool"), |read| Ok(quoted(read.name())))),
        ("checksums", Ok(quoted(run.checksums.name()))),
        ("cache_fill", Ok(quoted(run.cache_fill.name()))),
        ("schedule", Ok(list(run.schedules.iter().map(|schedule| quoted(schedule.name()))))),
        ("commit", Ok(quoted(run.commit.name()))),
        ("root", root_time(run)),
        ("root_shards", root_shards(&run.root.shard_counts)),
        ("root_reads", names_or(&run.root.reads, "by-level")),
        ("root_cache", names_or(&run.root.caches, "cold")),
        ("trie", trie(run)),
        ("duties", names_or(&run.duties, "none")),
        ("execution_alone", Ok(run.execution_alone.to_string())),
        ("whole", run.whole.rows.map_or(Err("chosen by the verb"), |rows| Ok(quoted(rows.name())))),
        ("cache", Ok(quoted(run.cache.name()))),
        ("keys", run.keys.map_or(Err("chosen by the tool"), |keys| Ok(quoted(keys.name())))),
        ("draw_seed", run.draw_seed.map(underscored).ok_or("another one each run")),
        ("databases", Ok(run.database_count.to_string())),
        (
            "samples",
            run.sample_count.map_or(Err("as many as the budget allows"), |n| Ok(n.to_string())),
        ),
        ("budget", Ok(quoted(&duration(run.budget)))),
        (
            "redis_addresses",
            match run.redis_addresses.as_slice() {
                [] => Err("started on this host"),
                given => Ok(quoted(&given.join(","))),
            },
        ),
        ("recover_senders", Ok(run.recover_senders.to_string())),
    ]
}

/// When the root is computed; left out where nothing is said, as a run that says `none` declines whole
/// rows.
fn root_time(run: &RunSpec) -> Result<String, &'static str> {
    match (run.root.time, run.whole) {
        (RootTime::Nothing, WholeSpec { rows: Some(WholeRows::One), root })
            if root != RootTime::Nothing =>
        {
            Err("of whole rows alone")
        }
        (RootTime::Nothing, WholeSpec { rows: None, .. }) => Err("none"),
        (time, _) => Ok(quoted(time.name())),
    }
}

/// Nodes that states store, likewise.
fn trie(run: &RunSpec) -> Result<String, &'static str> {
    match (run.trie, run.whole.rows) {
        (TrieForm::Nothing, None) => Err("none"),
        (trie, _) => Ok(quoted(trie.name())),
    }
}

fn expect_entries(expect: &Expect) -> Vec<Entry> {
    let bound = match expect.bound {
        Bound::Min(min) => ("min", Ok(float(min))),
        Bound::Max(max) => ("max", Ok(float(max))),
    };
    let mut entries: Vec<Entry> = vec![("metric", Ok(quoted(&expect.figure()))), bound];
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

fn slots(count: u64) -> Result<String, &'static str> {
    if count == 0 { Err("none: no load asks for any") } else { Ok(underscored(count)) }
}

fn seed(seed: Option<u64>) -> Result<String, &'static str> {
    seed.map(underscored).ok_or(DERIVED)
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn root_shards(counts: &[u8]) -> Result<String, &'static str> {
    if counts.is_empty() { Err("1") } else { Ok(list(counts.iter().map(u8::to_string))) }
}

/// A list of counts, or the meaning of none.
fn counts_or(counts: &[u32], unsaid: &'static str) -> Result<String, &'static str> {
    if counts.is_empty() { Err(unsaid) } else { Ok(list(counts.iter().map(u32::to_string))) }
}

/// A list of names, or that nothing is said.
fn names<T: Named>(values: &[T]) -> Result<String, &'static str> {
    names_or(values, "chosen by the tool")
}

/// A list of names, or the meaning of none.
fn names_or<T: Named>(values: &[T], unsaid: &'static str) -> Result<String, &'static str> {
    match values {
        [] => Err(unsaid),
        values => Ok(list(values.iter().map(|value| quoted(value.name())))),
    }
}

/// The shortest text that reads back as the same number, always with a point or an exponent.
fn float(value: f64) -> String {
    format!("{value:?}")
}

/// In the largest unit in which it is whole.
fn duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    for (unit, unit_ms) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if ms.is_multiple_of(unit_ms) {
            return format!("{}{unit}", ms / unit_ms);
        }
    }
    format!("{ms}ms")
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if steers_terminal(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
