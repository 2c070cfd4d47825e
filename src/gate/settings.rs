//! The settings of A and of B, which run the same work with settings that may differ. `work`
//! resolves them with [`both_settings`]; `stress gate` checks their keys with [`check_run_keys`].

use std::collections::BTreeSet;

use result::gate::EffectiveSetting;
use serde_json::Value;
use spec::{Override, RunSpec};

use crate::{
    run::{
        effect, minimal,
        plan::{self, Machine, PlannedCell},
    },
    terminal::{Code, Failure, WithExitCode, exit::fail},
    worker,
};

/// Keys of a run and their values.
pub type RunKeys = Vec<(String, String)>;

/// The settings of one build.
#[derive(Clone, Debug)]
pub struct BuildSettings {
    /// All keys of the run whose values are not their defaults.
    pub run: RunKeys,
    /// The keys that the user gave, for an executor that is not of this project.
    pub given: RunKeys,
    /// Settings that the user gave for this build, such as `run.read=get`.
    pub own: Vec<String>,
    /// All keys that `own` of A or of B sets, with the values of this build.
    pub effective: Vec<EffectiveSetting>,
}

impl BuildSettings {
    fn is_own(&self, key: &str) -> bool {
        self.own.iter().any(|set| set.split_once('=').is_some_and(|(own, _)| own == key))
    }
}

/// The settings of both builds.
#[derive(Clone, Debug)]
pub struct BothSettings {
    /// Settings of A, and of B.
    pub builds: [BuildSettings; 2],
    /// The options for A or B alone, if they change nothing: both builds would run alike.
    pub without_effect: Option<String>,
}

/// Checks that all `settings` of one build name keys of a run, before the scenario is read.
///
/// # Errors
/// A setting names no key of a run. The error names the key that may be meant.
pub fn check_run_keys(settings: &[Override]) -> Result<(), Failure> {
    let Some(set) = settings.iter().find(|set| !set.key.starts_with("run.")) else {
        return Ok(());
    };
    let with_run = Override { key: format!("run.{}", set.key), ..set.clone() };
    let meant = match minimal::default_run(std::slice::from_ref(&with_run)) {
        Ok(_) => format!("; did you mean {}={}?", with_run.key, with_run.value),
        Err(_) => String::new(),
    };
    fail!(
        Code::Usage,
        "{}: only keys of run may differ between A and B, which do the same work; --set is for \
         both{meant}",
        set.origin
    )
}

/// Returns the settings of each build. `run` has the settings for both builds, of which the user
/// gave `run_overrides`; `overrides` are those for A alone and for B alone. The latter may change
/// how variants run, but not the set of `variants`.
///
/// # Errors
/// A value is not valid, or the settings change the set of variants.
pub fn both_settings(
    run: &RunSpec,
    run_overrides: &[Override],
    overrides: &[Vec<Override>; 2],
    variants: &[PlannedCell],
    machine: &Machine,
) -> Result<BothSettings, Failure> {
    let [of_a, of_b] = overrides;
    let runs = [build_run(run, of_a, variants, machine)?, build_run(run, of_b, variants, machine)?];
    let keys: BTreeSet<_> = overrides.iter().flatten().map(|set| set.key.as_str()).collect();
    let is_without = !keys.is_empty() && effect::samples_alike(&runs[0], &runs[1], machine);
    let [base, new] = [0, 1].map(|side| -> Result<_, Failure> {
        let changed = worker::run_settings(&runs[side]).with_exit_code(Code::Usage)?;
        let effective =
            keys.iter().filter_map(|key| effective(&runs[side], &changed, key, machine));
        Ok(BuildSettings {
            given: run_overrides
                .iter()
                .chain(&overrides[side])
                .map(|set| (set.key.clone(), set.value.clone()))
                .collect(),
            own: overrides[side].iter().map(|set| format!("{}={}", set.key, set.value)).collect(),
            effective: effective.collect(),
            run: changed,
        })
    });
    Ok(BothSettings {
        builds: [base?, new?],
        without_effect: is_without.then(|| origins(overrides.iter().flatten())),
    })
}

/// Returns the value of a key of `run`. `changed` are the keys of `run` whose values are not their
/// defaults.
fn effective(
    run: &RunSpec,
    changed: &[(String, String)],
    key: &str,
    machine: &Machine,
) -> Option<EffectiveSetting> {
    let value = match key {
        // Its default depends on the machine.
        "run.read" => machine.read_method(run).name().to_owned(),
        _ => worker::run_value(run, key)?,
    };
    let is_default = changed.iter().all(|(set, _)| set != key);
    Some(EffectiveSetting { key: key.to_owned(), value, is_default })
}

/// Returns `run` with the settings of one build.
fn build_run(
    run: &RunSpec,
    settings: &[Override],
    variants: &[PlannedCell],
    machine: &Machine,
) -> Result<RunSpec, Failure> {
    let common = worker::run_settings(run).with_exit_code(Code::Usage)?;
    let kept = common.into_iter().filter(|(key, _)| settings.iter().all(|set| set.key != *key));
    let kept = kept.map(|(key, value)| Override::new(&key, &value, format!("{key} = {value}")));
    let mut all: Vec<_> = kept.chain(settings.iter().cloned()).collect();
    let mut own = minimal::default_run(&all).with_exit_code(Code::Usage)?;
    // A setting may change the default number of readers. Both builds then get the numbers that the
    // run has without the setting.
    if own.io_thread_counts.is_empty() && plan::cells(&own, machine) != variants {
        all.extend(readers(variants));
        own = minimal::default_run(&all).with_exit_code(Code::Usage)?;
    }
    let own_names: Vec<_> = plan::cells(&own, machine).iter().map(PlannedCell::name).collect();
    let names: Vec<_> = variants.iter().map(PlannedCell::name).collect();
    if own_names != names {
        fail!(
            Code::Usage,
            "{}: A and B would have different variants\n  --> only with it: {}\n  --> only \
             without it: {}\n   = help: give both --design, --threads and --io-threads; one \
             build may\n           differ only in how it runs, as in --b-set run.read=get",
            origins(settings),
            shortened(own_names.iter().filter(|name| !names.contains(name))),
            shortened(names.iter().filter(|name| !own_names.contains(name)))
        );
    }
    Ok(own)
}

/// Returns the reader counts of these variants, as a setting; `None` if no variant has readers.
fn readers(variants: &[PlannedCell]) -> Option<Override> {
    let counts: BTreeSet<_> = variants.iter().map(|cell| cell.variant.io_thread_count).collect();
    let counts: Vec<_> =
        counts.into_iter().filter(|count| *count > 0).map(|count| count.to_string()).collect();
    let value = counts.join(",");
    let origin = format!("run.io_threads = {value}");
    (!counts.is_empty()).then(|| Override::new("run.io_threads", value, origin))
}

/// States that A and B have the same values of all keys that one of them sets. `None` if a value
/// differs.
pub fn equal_settings([a, b]: &[BuildSettings; 2]) -> Option<String> {
    let mut words = Vec::new();
    for EffectiveSetting { key, value, is_default } in &a.effective {
        let of_b = b.effective.iter().find(|of_b| of_b.key == *key && of_b.value == *value)?;
        let (other, is_default) = match [a.is_own(key), b.is_own(key)] {
            [false, _] => ("A too", *is_default),
            [true, false] => ("B too", of_b.is_default),
            [true, true] => ("A and B", false),
        };
        let default = if is_default { " (its default)" } else { "" };
        words.push(format!("{key} is {value} in {other}{default}"));
    }
    if words.is_empty() {
        return None;
    }
    let others = a.effective.iter().filter_map(|of_a| other_names(&of_a.key, &of_a.value));
    let others = match others.collect::<Vec<_>>().as_slice() {
        [] => "give one of them another value".to_owned(),
        some => some.join("; "),
    };
    Some(format!("{}\n   = help: A and B would be one run; {others}", words.join(", ")))
}

/// Returns the other names that a key takes, as `run.read can also be get`. `None` if the key takes
/// no names.
fn other_names(key: &str, value: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(&spec::json_schema()).ok()?;
    let of_key = key.split('.').fold(&schema, |at, name| &at["properties"][name]);
    // A key that takes one name or several has its names here.
    let one_of_several = of_key["anyOf"][0]["enum"].as_array();
    let names = of_key["enum"].as_array().or(one_of_several)?;
    let names = names.iter().filter_map(Value::as_str).filter(|name| *name != value);
    let names: Vec<_> = names.collect();
    let (last, others) = names.split_last()?;
    let names = match others {
        [] => (*last).to_owned(),
        others => format!("{} or {last}", others.join(", ")),
    };
    Some(format!("{key} can also be {names}"))
}

/// Returns the first of these names, and the number of other names.
pub fn shortened<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let mut names = names.into_iter();
    match (names.next(), names.count()) {
        (None, _) => "none".to_owned(),
        (Some(first), 0) => first.clone(),
        (Some(first), more_count) => format!("{first} and {more_count} more"),
    }
}

fn origins<'a>(settings: impl IntoIterator<Item = &'a Override>) -> String {
    let origins: Vec<_> = settings.into_iter().map(|set| set.origin.as_str()).collect();
    origins.join(" ")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use executor::store::rocksdb::IoUring;

    use super::*;

    fn given(settings: &[(&str, &str)]) -> Vec<Override> {
        let given = |(key, value): &(&str, &str)| {
            Override::new(*key, *value, format!("--set {key}={value}"))
        };
        settings.iter().map(given).collect()
    }

    fn machine() -> Machine {
        Machine { core_count: NonZeroUsize::new(2).expect("2"), io_uring: IoUring::Available }
    }

    /// The runs of A without settings, and of B with these.
    fn of_new(run: &RunSpec, settings: &[(&str, &str)]) -> Result<BothSettings, Failure> {
        let variants = plan::cells(run, &machine());
        both_settings(run, &[], &[Vec::new(), given(settings)], &variants, &machine())
    }

    fn run(settings: &[(&str, &str)]) -> RunSpec {
        let storm = spec::load("sload-storm", &given(settings));
        storm.unwrap_or_else(|error| panic!("{error}")).run
    }

    #[test]
    fn a_setting_that_would_choose_other_readers_keeps_those_of_the_run() {
        let run = run(&[("run.stores", "rocksdb")]);
        let together = plan::cells(&run, &machine());
        let alone = RunSpec { read: Some(variant::ReadMethod::Get), ..run.clone() };
        assert_ne!(together, plan::cells(&alone, &machine()), "other readers are chosen");
        let own = of_new(&run, &[("run.read", "get")]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(own.without_effect, None);
        for words in own.builds.map(|build| build.run) {
            let words: Vec<_> =
                words.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let told = minimal::default_run(&given(&words));
            let told = told.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(plan::cells(&told, &machine()), together, "{words:?}");
        }
    }

    #[test]
    fn each_side_says_its_value_of_every_key_that_one_of_them_sets() {
        let run = run(&[("run.stores", "rocksdb"), ("run.commit", "synced")]);
        let variants = plan::cells(&run, &machine());
        let sides = |of_a: &[(&str, &str)], of_b: &[(&str, &str)]| {
            let own = both_settings(&run, &[], &[given(of_a), given(of_b)], &variants, &machine());
            let own = own.unwrap_or_else(|error| panic!("{error}"));
            own.builds
                .map(|build| build.effective.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let none: [Vec<String>; 2] = Default::default();
        assert_eq!(sides(&[], &[]), none);
        let read = sides(&[], &[("run.read", "get")]);
        assert_eq!(read, [["run.read = multi-get (default)"], ["run.read = get"]]);
        // The scenario sets it for both sides, so it is no default.
        let commit = sides(&[], &[("run.commit", "unlogged")]);
        assert_eq!(commit, [["run.commit = synced"], ["run.commit = unlogged"]]);
        let both = sides(&[("run.checksums", "skip")], &[("run.rocksdb.open_files", "20")]);
        let of_a = ["run.checksums = skip", "run.rocksdb.open_files = all (default)"];
        let of_b = ["run.checksums = verify (default)", "run.rocksdb.open_files = 20"];
        assert_eq!(both, [of_a, of_b]);
        let without_ring = Machine { io_uring: IoUring::Refused, ..machine() };
        let key = effective(&run, &[], "run.read", &without_ring).expect("a key");
        assert_eq!(key.to_string(), "run.read = get (default)");
    }

    #[test]
    fn a_setting_that_makes_other_variants_names_the_options_that_say_which_there_are() {
        let run = run(&[("run.stores", "rocksdb")]);
        let error = of_new(&run, &[("run.threads", "7")]).unwrap_err().to_string();
        for words in [
            "--set run.threads=7: A and B would have different variants",
            "only with it: rocksdb/",
            "only without it: rocksdb/",
            " more\n",
            "--design, --threads and --io-threads",
        ] {
            assert!(error.contains(words), "{error}");
        }
        let longest = error.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{error}");
    }

    #[test]
    fn a_value_that_the_other_side_has_too_is_told_with_the_values_that_it_has_not() {
        let run = run(&[("run.stores", "rocksdb")]);
        let variants = plan::cells(&run, &machine());
        let told = |of_a: &[(&str, &str)], of_b: &[(&str, &str)]| {
            let own = both_settings(&run, &[], &[given(of_a), given(of_b)], &variants, &machine());
            equal_settings(&own.unwrap_or_else(|error| panic!("{error}")).builds)
        };
        let read = [("run.read", "multi-get")];
        let help = "\n   = help: A and B would be one run; run.read can also be get";
        let in_a = format!("run.read is multi-get in A too (its default){help}");
        assert_eq!(told(&[], &read), Some(in_a));
        let in_b = format!("run.read is multi-get in B too (its default){help}");
        assert_eq!(told(&read, &[]), Some(in_b));
        let in_both = format!("run.read is multi-get in A and B{help}");
        assert_eq!(told(&read, &read), Some(in_both));
        assert_eq!(told(&[], &[("run.read", "get")]), None);
        assert_eq!(told(&[], &[]), None);
        let block = told(&[], &[("run.rocksdb.block", "4KiB")]).expect("the default");
        assert!(block.starts_with("run.rocksdb.block is 4KiB in A too (its default)"), "{block}");
        assert!(block.ends_with("one run; give one of them another value"), "{block}");
    }

    #[test]
    fn a_setting_without_effect_is_known() {
        let run = run(&[("run.stores", "memory")]);
        let without = |settings: &[(&str, &str)]| {
            let own = of_new(&run, settings).unwrap_or_else(|error| panic!("{error}"));
            own.without_effect
        };
        assert_eq!(without(&[("run.read", "get")]).as_deref(), Some("--set run.read=get"));
        assert!(without(&[("run.samples", "7"), ("run.budget", "10s")]).is_some());
        assert_eq!(without(&[("run.trie", "cut")]), None);
        assert_eq!(without(&[]), None, "two builds differ by themselves");
    }
}
