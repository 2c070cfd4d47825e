//! Adds to a comparison the keys of a run that command lines set and whose values differ. They come
//! before the facts that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use result::{RunResult, Stored, comparison::Comparison};

use crate::compare::changes;

/// Beginning of the keys that decide how the work is executed. The work itself is the same in all
/// results.
pub(crate) const OF_RUN: &str = "run.";
/// Keys that are left out, since a comparison has their values from the rows.
const OF_ROWS: [&str; 2] = ["run.designs", "run.stores"];

/// Returns the `comparison` of `results` with the keys that their command lines set, `set_keys`,
/// before all other changes.
#[must_use]
pub fn with_set_keys(
    mut comparison: Comparison,
    results: &[Stored],
    set_keys: &[BTreeMap<String, String>],
) -> Comparison {
    let keys: BTreeSet<&String> = set_keys.iter().flat_map(BTreeMap::keys).collect();
    let of_run =
        keys.iter().filter(|key| key.starts_with(OF_RUN) && !OF_ROWS.contains(&key.as_str()));
    let values = results.iter().zip(set_keys).map(|(stored, set)| {
        let values = of_run.clone().map(|key| {
            let value = set.get(*key).cloned().or_else(|| chosen(&stored.result, key));
            ((*key).clone(), Value::from(value))
        });
        values.collect::<BTreeMap<_, _>>()
    });
    let mut all = changes(values);
    all.append(&mut comparison.changes);
    comparison.changes = all;
    comparison
}

/// The value of a key that a run chose by default, if it is the same for all stores. It is
/// `multi-get` in `rocksdb: read = multi-get, as the kernel has io_uring`, and `2,16` in `rocksdb:
/// io_threads = [2, 16]: …`.
fn chosen(run: &RunResult, key: &str) -> Option<String> {
    let name = key.strip_prefix(OF_RUN)?;
    let values = run.choices.iter().filter_map(|choice| {
        let (before, after) = choice.split_once(" = ")?;
        let is_named = before.rsplit(": ").next() == Some(name);
        let list = after.strip_prefix('[').and_then(|list| list.split_once(']'));
        let value = match list {
            Some((list, _)) => list.replace(' ', ""),
            None => after.split([',', ':']).next()?.to_owned(),
        };
        is_named.then_some(value)
    });
    let mut values = values.collect::<BTreeSet<String>>().into_iter();
    values.next().filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use result::example;
    use serde_json::json;

    use super::*;
    use crate::compare::compare;

    fn stored(choices: &[&str]) -> Stored {
        let mut run = example::sampled(8);
        run.choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
        Stored::new("r.json".into(), run)
    }

    fn set(keys: &[(&str, &str)]) -> BTreeMap<String, String> {
        keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_key_that_one_run_sets_comes_first_with_the_value_that_the_other_chose() {
        let chose = ["rocksdb: read = multi-get, as the kernel has io_uring"];
        let mut other = stored(&[]);
        other.result.environment.host.kernel = Some("another".to_owned());
        let results = [stored(&chose), other];
        let comparison = compare(&results).expect("the same work");
        let of_run = set(&[("run.read", "get"), ("block.gas", "5"), ("run.designs", "full")]);
        let comparison = with_set_keys(comparison, &results, &[BTreeMap::new(), of_run]);
        let keys: Vec<_> = comparison.changes.iter().map(|change| change.key.as_str()).collect();
        assert_eq!(keys, ["run.read", "environment.host.kernel"]);
        assert_eq!(comparison.changes[0].values, [json!("multi-get"), json!("get")]);
    }

    #[test]
    fn a_key_with_the_value_that_is_chosen_by_default_is_no_change() {
        let chose = [
            "rocksdb: io_threads = [2, 16]: each waits for one read",
            "mdbx: io_threads = [2, 16]: each waits for one read",
        ];
        let results = [stored(&chose), stored(&[])];
        let changed = |set_keys: &[BTreeMap<String, String>; 2]| {
            let comparison = compare(&results).expect("the same work");
            with_set_keys(comparison, &results, set_keys).changes
        };
        assert!(changed(&[set(&[]), set(&[("run.io_threads", "2,16")])]).is_empty());
        let samples = set(&[("run.samples", "8")]);
        assert!(changed(&[samples.clone(), samples.clone()]).is_empty());
        let changes = changed(&[samples, set(&[])]);
        assert_eq!(changes[0].values, [json!("8"), Value::Null]);
    }
}
