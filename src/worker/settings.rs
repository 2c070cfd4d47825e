//! How a run is described to another build: the keys of `[run]` that are not the defaults. A
//! build that does not know one of them refuses it by name, and one that is older than a key
//! that nobody set is not disturbed by it.

use spec::{Bound, Expect, RunSpec, Scenario, ScenarioError};
use variant::WholeRows;

use crate::run::minimal;

/// Keys that say how long a run goes on: the driver decides that.
const OF_THE_DRIVER: [&str; 3] = ["run.samples", "run.budget", "run.recover_senders"];

/// The settings of `run` as keys and values of a command line.
///
/// # Errors
/// None that a user could make: the least scenario is valid.
pub fn of_run(run: &RunSpec) -> Result<Vec<(String, String)>, ScenarioError> {
    let least = minimal::scenario("the defaults", &[])?;
    let defaults = entries(&least);
    let given = entries(&Scenario { run: run.clone(), ..least });
    // A worker adds no whole rows of its own, so `none` says nothing to it.
    let no_whole = ("run.whole".to_owned(), WholeRows::Nothing.name().to_owned());
    let is_set = |entry: &(String, String)| {
        !defaults.contains(entry)
            && *entry != no_whole
            && !OF_THE_DRIVER.contains(&entry.0.as_str())
    };
    Ok(given.into_iter().filter(is_set).collect())
}

/// The value of a key of `run`, as `run.read`; of one that is left out, the meaning of that. `None` of no key.
///
/// # Errors
/// As [`of_run`].
pub fn value_of(run: &RunSpec, key: &str) -> Result<Option<String>, ScenarioError> {
    let least = minimal::scenario("the defaults", &[])?;
    let all = all_entries(&Scenario { run: run.clone(), ..least });
    Ok(all.into_iter().find(|entry| entry.key == key).map(|entry| entry.value))
}

/// A claim as the lines of its `[[expect]]`.
pub fn of_expect(expect: &Expect) -> String {
    let (bound, limit) = match expect.bound {
        Bound::Min(min) => ("min", min),
        Bound::Max(max) => ("max", max),
    };
    // A build from before there were scopes refuses one by name.
    let mut lines = format!("metric = \"{}\"\n{bound} = {limit:?}\n", expect.scoped());
    let store = expect.when.store.map(|store| format!("store = \"{store}\""));
    let cache = expect.when.cache.map(|cache| format!("cache = \"{cache}\""));
    let when: Vec<_> = store.into_iter().chain(cache).collect();
    if !when.is_empty() {
        lines.push_str(&format!("when = {{ {} }}\n", when.join(", ")));
    }
    lines
}

/// A key below `[run]` and its value, as a scenario is written.
struct Entry {
    key: String,
    /// Of a key that is left out, the meaning of that.
    value: String,
    is_left_out: bool,
}

/// The keys that are not left out.
fn entries(scenario: &Scenario) -> Vec<(String, String)> {
    let said = all_entries(scenario).into_iter().filter(|entry| !entry.is_left_out);
    said.map(|entry| (entry.key, entry.value)).collect()
}

fn all_entries(scenario: &Scenario) -> Vec<Entry> {
    let mut table = String::new();
    let mut entries = Vec::new();
    for line in scenario.to_toml().lines() {
        let left_out = line.strip_prefix("# ");
        if let Some(header) = line.strip_prefix('[') {
            table = header.trim_matches(['[', ']']).to_owned();
        } else if table.starts_with("run")
            && let Some((key, value)) = left_out.unwrap_or(line).split_once(" = ")
        {
            let value = value.trim_matches(['[', ']']).replace('"', "");
            let key = format!("{table}.{key}");
            entries.push(Entry { key, value, is_left_out: left_out.is_some() });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use spec::{Metric, Override, Scope, When};
    use variant::{CacheMode, Design, StoreKind};

    use super::*;

    fn overrides(pairs: &[(String, String)]) -> Vec<Override> {
        let one = |(key, value): &(String, String)| Override {
            key: key.clone(),
            value: value.clone(),
            origin: format!("{key} {value}"),
        };
        pairs.iter().map(one).collect()
    }

    #[test]
    fn the_defaults_need_no_words() {
        let run = minimal::default_run(&[]).unwrap();
        assert_eq!(of_run(&run).unwrap(), []);
    }

    #[test]
    fn the_value_of_a_key_is_as_it_is_set_its_default_or_the_meaning_of_leaving_it_out() {
        let text = [("run.read", "get"), ("run.rocksdb.block", "8KiB")];
        let text = text.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let run = minimal::default_run(&overrides(&text)).unwrap();
        let of = |run: &RunSpec, key: &str| value_of(run, key).unwrap();
        for (key, value) in &text {
            assert_eq!(of(&run, key).as_ref(), Some(value));
        }
        assert_eq!(of(&run, "run.checksums").as_deref(), Some("verify"));
        assert_eq!(of(&run, "run.rocksdb.open_files").as_deref(), Some("all"));
        assert_eq!(of(&run, "run.nonsense"), None);
        let default = minimal::default_run(&[]).unwrap();
        assert_eq!(of(&default, "run.read").as_deref(), Some("chosen by the tool"));
    }

    #[test]
    fn a_claim_that_is_described_is_the_same_claim() {
        let when = When { store: Some(StoreKind::Memory), cache: Some(CacheMode::Warm) };
        let metric = Metric::Speedup { of: Design::BatchedIo, over: Design::Sequential };
        let claims = [
            Expect { metric, scope: Scope::Execution, bound: Bound::Min(1.5), when },
            Expect {
                metric: Metric::MsPerBlock(Design::Full),
                scope: Scope::Whole,
                bound: Bound::Max(3e3),
                when: When::default(),
            },
        ];
        let described: Vec<_> = claims.iter().map(of_expect).collect();
        assert_eq!(minimal::expects(&described).unwrap(), claims);
    }

    #[test]
    fn a_run_that_is_described_is_understood_as_it_was_meant() {
        let text = [
            ("run.stores", "memory,rocksdb,mdbx"),
            ("run.designs", "batched-io"),
            ("run.threads", "1,2"),
            ("run.prefetch", "while"),
            ("run.cache", "warm"),
            ("run.read", "get"),
            ("run.rocksdb.block", "8KiB"),
            ("run.rocksdb.aged", "0.5"),
            ("run.rocksdb.options", "max_background_jobs=1;compression_opts={level=1;strategy=0}"),
            ("run.mdbx.storage", "dupsort"),
        ];
        let text = text.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let run = minimal::default_run(&overrides(&text)).unwrap();
        let described = of_run(&run).unwrap();
        assert_eq!(described.len(), text.len(), "{described:?}");
        assert_eq!(minimal::default_run(&overrides(&described)).unwrap(), run);
    }
}
