//! Describes a run to another build, by the keys of `[run]` that do not have their defaults. A
//! build refuses an unknown key by its name. So an older build works as long as the user sets no
//! newer key.

use spec::{Bound, Expect, RunSpec, ScenarioError};
use variant::WholeRows;

use crate::run::minimal;

/// Keys for the driver alone: the number and time of samples, and the phase that recovers senders.
const DRIVER_KEYS: [&str; 3] = ["run.samples", "run.budget", "run.recover_senders"];

/// Returns the settings of `run` as keys and values of a command line.
///
/// # Errors
/// No input of a user causes an error, as the minimal scenario is valid.
pub fn run_settings(run: &RunSpec) -> Result<Vec<(String, String)>, ScenarioError> {
    let defaults = set_keys(&minimal::default_run(&[])?);
    // A worker adds no whole rows by itself, so the value `none` is the worker's default.
    let no_whole = ("run.whole".to_owned(), WholeRows::Nothing.name().to_owned());
    let mut set = set_keys(run);
    set.retain(|entry| {
        !defaults.contains(entry) && *entry != no_whole && !DRIVER_KEYS.contains(&entry.0.as_str())
    });
    Ok(set)
}

/// Returns the value of `key`, such as `run.read`. For a key that is not set, returns the meaning
/// of that in words, such as `chosen by the tool`. `None` if the key does not exist.
pub fn run_value(run: &RunSpec, key: &str) -> Option<String> {
    let (_, value) = entries(run).find(|(name, _)| name == key)?;
    Some(value.unwrap_or_else(str::to_owned))
}

/// Returns a claim as the lines of its `[[expect]]`.
pub fn expect_lines(expect: &Expect) -> String {
    let (bound, limit) = match expect.bound {
        Bound::Min(min) => ("min", min),
        Bound::Max(max) => ("max", max),
    };
    // An older build that has no scopes of claims refuses the metric, and names it.
    let mut lines = format!("metric = \"{}\"\n{bound} = {limit:?}\n", expect.scoped());
    let store = expect.when.store.map(|store| format!("store = \"{store}\""));
    let cache = expect.when.cache.map(|cache| format!("cache = \"{cache}\""));
    let when: Vec<_> = store.into_iter().chain(cache).collect();
    if !when.is_empty() {
        lines.push_str(&format!("when = {{ {} }}\n", when.join(", ")));
    }
    lines
}

/// Returns the keys below `[run]` that are set, with their values.
fn set_keys(run: &RunSpec) -> Vec<(String, String)> {
    entries(run).filter_map(|(key, value)| Some((key, value.ok()?))).collect()
}

/// Returns all keys below `[run]` with their values. `Err` of a key that is not set has the meaning
/// of that in words.
fn entries(run: &RunSpec) -> impl Iterator<Item = (String, Result<String, &'static str>)> {
    run.tables().into_iter().flat_map(|(table, entries)| {
        entries.into_iter().map(move |(key, value)| {
            // The value changes from TOML to the form of `--set`: lists without brackets, text
            // without quotes.
            let value = value.map(|toml| toml.trim_matches(['[', ']']).replace('"', ""));
            (format!("{table}.{key}"), value)
        })
    })
}

#[cfg(test)]
mod tests {
    use spec::{Metric, Override, Scope, When};
    use variant::{CacheMode, Design, StoreKind};

    use super::*;

    fn overrides(pairs: &[(String, String)]) -> Vec<Override> {
        let one =
            |(key, value): &(String, String)| Override::new(key, value, format!("{key} {value}"));
        pairs.iter().map(one).collect()
    }

    #[test]
    fn the_defaults_need_no_words() {
        let run = minimal::default_run(&[]).unwrap();
        assert_eq!(run_settings(&run).unwrap(), []);
    }

    #[test]
    fn the_value_of_a_key_is_as_it_is_set_its_default_or_the_meaning_of_leaving_it_out() {
        let text = [("run.read", "get"), ("run.rocksdb.block", "8KiB")];
        let text = text.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let run = minimal::default_run(&overrides(&text)).unwrap();
        for (key, value) in &text {
            assert_eq!(run_value(&run, key).as_ref(), Some(value));
        }
        assert_eq!(run_value(&run, "run.checksums").as_deref(), Some("verify"));
        assert_eq!(run_value(&run, "run.rocksdb.open_files").as_deref(), Some("all"));
        assert_eq!(run_value(&run, "run.nonsense"), None);
        let default = minimal::default_run(&[]).unwrap();
        assert_eq!(run_value(&default, "run.read").as_deref(), Some("chosen by the tool"));
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
        let described: Vec<_> = claims.iter().map(expect_lines).collect();
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
        let described = run_settings(&run).unwrap();
        assert_eq!(described.len(), text.len(), "{described:?}");
        assert_eq!(minimal::default_run(&overrides(&described)).unwrap(), run);
    }
}
