//! Selects and removes state databases for `stress state rm`. The age of a state counts from its
//! last use, or from its creation without a record of a use. States in use stay, and so do
//! directories of other programs with a state's name.

use std::time::Duration;

use anyhow::{Context, Result};
use executor::state::{StateError, StateInfo};

/// Units of an age, in seconds.
const TIMES: [(&str, f64); 5] =
    [("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0), ("w", 604_800.0)];
/// Units of a size, in bytes: decimal ones, as `stress state list` prints them, and binary ones.
const SIZES: [(&str, f64); 13] = [
    ("B", 1.0),
    ("k", 1e3),
    ("kB", 1e3),
    ("M", 1e6),
    ("MB", 1e6),
    ("G", 1e9),
    ("GB", 1e9),
    ("T", 1e12),
    ("TB", 1e12),
    ("KiB", 1_024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// The states to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All states.
    All,
    /// States that no run has opened for this time.
    UnusedFor(Duration),
    /// The least recently used states, until the others take at most this number of bytes.
    DownTo(u64),
}

/// The fate of a selected state.
#[derive(Debug)]
pub enum Fate {
    /// This process has removed the state.
    Removed,
    /// Another process has removed the state meanwhile.
    Gone,
    /// The named process uses the state, so the state stays.
    InUse(String),
    /// The directory may belong to another program, so it stays.
    NotOurs,
    /// The removal failed, so the state stays.
    Failed(StateError),
}

/// Counts and sizes of a removal.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of removed states.
    pub removed_count: u64,
    /// Bytes of the removed states.
    pub freed_bytes: u64,
    /// Number of selected states that stay, as a process uses them.
    pub in_use_count: u64,
    /// Bytes of all states that are left, without directories of other programs.
    pub left_bytes: u64,
    /// The first failure, or the interrupt of the user.
    pub failure: Option<StateError>,
}

impl Fate {
    fn from_removal(removed: Result<(), StateError>) -> Self {
        match removed {
            Ok(()) => Self::Removed,
            Err(StateError::InUse { holder, .. }) => Self::InUse(holder),
            Err(StateError::NotFound { .. }) => Self::Gone,
            Err(error) => Self::Failed(error),
        }
    }
}

/// Removes the selected states, each by a call of `remove_one`, and reports the fate of each to
/// `tell`. `now_unix_s` is the present time. A failure does not end the removal; an interrupt does.
pub fn remove(
    states: Vec<StateInfo>,
    selection: &Selection,
    now_unix_s: u64,
    mut remove_one: impl FnMut(&StateInfo) -> Result<(), StateError>,
    mut tell: impl FnMut(&StateInfo, &Fate),
) -> Outcome {
    let ours = states.iter().filter(|state| state.is_ours);
    let left_bytes = ours.map(|state| state.byte_count).sum();
    let mut outcome = Outcome { left_bytes, ..Outcome::default() };
    for state in selected(states, selection, now_unix_s) {
        if matches!(selection, Selection::DownTo(bytes) if outcome.left_bytes <= *bytes) {
            break;
        }
        let fate =
            if state.is_ours { Fate::from_removal(remove_one(&state)) } else { Fate::NotOurs };
        tell(&state, &fate);
        match fate {
            Fate::Removed => {
                outcome.removed_count += 1;
                outcome.freed_bytes += state.byte_count;
                outcome.left_bytes -= state.byte_count;
            }
            Fate::Gone => outcome.left_bytes -= state.byte_count,
            Fate::InUse(_) => outcome.in_use_count += 1,
            Fate::NotOurs => {}
            Fate::Failed(error) => {
                let is_over = matches!(error, StateError::Cancelled);
                outcome.failure.get_or_insert(error);
                if is_over {
                    break;
                }
            }
        }
    }
    outcome
}

/// Returns the states to remove, in the order of removal.
fn selected(mut states: Vec<StateInfo>, selection: &Selection, now_unix_s: u64) -> Vec<StateInfo> {
    match selection {
        Selection::All => {}
        Selection::UnusedFor(time) => states.retain(|state| {
            let needed = state.last_needed_unix_s();
            needed.is_some_and(|needed| now_unix_s.saturating_sub(needed) >= time.as_secs())
        }),
        Selection::DownTo(_) => {
            states.retain(|state| state.is_ours);
            // Leftovers of killed processes come first, as no process can use them. A state of
            // unknown age comes last.
            states.sort_by_key(|state| {
                (!state.is_unfinished, state.last_needed_unix_s().unwrap_or(u64::MAX))
            });
        }
    }
    states
}

/// Parses a time of `option`, such as `30d`.
///
/// # Errors
/// The text is no time.
pub fn time(option: &str, text: &str) -> Result<Duration> {
    let seconds = quantity(text, &TIMES).with_context(|| {
        format!("{option} {text}: a number and s, m, h, d or w is wanted, as in 30d or 12h")
    })?;
    Ok(Duration::from_secs(seconds))
}

/// Parses a size of `option` in bytes: `20G` is 20 × 10^9, `20GiB` is 20 × 2^30.
///
/// # Errors
/// The text is no size.
pub fn size(option: &str, text: &str) -> Result<u64> {
    quantity(text, &SIZES).with_context(|| {
        format!(
            "{option} {text}: a number and k, M, G or T, or KiB, MiB, GiB or TiB, is wanted, as in \
             20G or 512MiB"
        )
    })
}

/// Returns the number in `text` times its unit. `None` if `text` has no number with one of these
/// units, or if the product is too large.
fn quantity(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    let value = (number.parse::<f64>().ok()? * factor).round();
    // No device is larger than this, and the conversion to an integer is within its range.
    (value <= 1e18).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: u64 = 86_400;
    const NOW_S: u64 = 1_000 * DAY_S;

    /// A whole state with its size in bytes and the days since its last use.
    fn state(name: &str, byte_count: u64, unused_days: u64) -> StateInfo {
        StateInfo {
            name: name.to_owned(),
            byte_count,
            manifest: None,
            fault: None,
            is_unfinished: false,
            is_ours: true,
            holder: None,
            last_used_unix_s: Some(NOW_S - unused_days * DAY_S),
            created_unix_s: Some(NOW_S - 500 * DAY_S),
        }
    }

    fn states() -> Vec<StateInfo> {
        vec![
            state("new", 10, 0),
            StateInfo { holder: Some("process 7".to_owned()), ..state("used-now", 20, 90) },
            StateInfo { is_ours: false, ..state("others", 1_000, 90) },
            state("old", 30, 60),
            StateInfo { last_used_unix_s: None, ..state("unrecorded", 40, 0) },
            StateInfo { is_unfinished: true, ..state("half", 50, 1) },
        ]
    }

    /// The removed states, and the lines that tell of the others.
    fn removed(
        states: Vec<StateInfo>,
        selection: &Selection,
    ) -> (Vec<String>, Vec<String>, Outcome) {
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        let by = |state: &StateInfo| match &state.holder {
            Some(holder) => {
                let (name, holder) = (state.name.clone(), holder.clone());
                Err(StateError::InUse { name, holder })
            }
            None => Ok(()),
        };
        let outcome = remove(states, selection, NOW_S, by, |state, fate| match fate {
            Fate::Removed => gone.push(state.name.clone()),
            other => kept.push(format!("{}: {other:?}", state.name)),
        });
        assert_eq!(outcome.removed_count, gone.len() as u64);
        (gone, kept, outcome)
    }

    #[test]
    fn all_are_all_but_those_in_use_and_those_of_others() {
        let (gone, kept, outcome) = removed(states(), &Selection::All);
        assert_eq!(gone, ["new", "old", "unrecorded", "half"]);
        assert_eq!(kept, ["used-now: InUse(\"process 7\")", "others: NotOurs"]);
        assert_eq!((outcome.freed_bytes, outcome.left_bytes, outcome.in_use_count), (130, 20, 1));
    }

    #[test]
    fn a_state_without_a_record_of_its_use_is_as_old_as_its_creation() {
        let unused = |days: u64| {
            let time = Duration::from_secs(days * DAY_S);
            removed(states(), &Selection::UnusedFor(time)).0
        };
        assert_eq!(unused(61), ["unrecorded"]);
        assert_eq!(unused(60), ["old", "unrecorded"]);
        assert_eq!(unused(501), [""; 0]);
        // Built yesterday and never recorded: it is no old one.
        let young = StateInfo {
            last_used_unix_s: None,
            created_unix_s: Some(NOW_S - DAY_S),
            ..state("young", 1, 0)
        };
        let of_unknown_age = StateInfo { created_unix_s: None, ..young.clone() };
        // A wrong clock wrote the time of this one.
        let of_tomorrow = StateInfo { last_used_unix_s: Some(NOW_S + DAY_S), ..young.clone() };
        let week = Selection::UnusedFor(Duration::from_secs(7 * DAY_S));
        assert_eq!(removed(vec![young, of_unknown_age, of_tomorrow], &week).0, [""; 0]);
    }

    #[test]
    fn the_least_recently_used_go_until_the_others_fit_and_what_none_can_use_goes_first() {
        let down_to = |bytes| removed(states(), &Selection::DownTo(bytes));
        assert_eq!(down_to(150).0, [""; 0], "others do not count");
        assert_eq!(down_to(149).0, ["half"]);
        assert_eq!(down_to(99).0, ["half", "unrecorded"]);
        let (gone, kept, outcome) = down_to(59);
        assert_eq!(gone, ["half", "unrecorded", "old"]);
        assert_eq!((kept.len(), outcome.left_bytes), (1, 30), "one in use is passed over");
        let (gone, _, outcome) = down_to(0);
        assert_eq!((gone.len(), outcome.left_bytes), (4, 20), "it does not fit");
    }

    #[test]
    fn one_failure_keeps_none_of_the_others_and_an_interruption_ends_it() {
        let outcome = |error: fn() -> StateError| {
            let mut calls = 0;
            let by = |_: &StateInfo| {
                calls += 1;
                if calls == 1 { Err(error()) } else { Ok(()) }
            };
            let states = vec![state("a", 1, 0), state("b", 2, 0)];
            remove(states, &Selection::All, NOW_S, by, |_, _| ())
        };
        let fails = || StateError::Untrusted { name: String::new(), reason: String::new() };
        let failed = outcome(fails);
        assert_eq!((failed.removed_count, failed.freed_bytes), (1, 2));
        assert!(matches!(failed.failure, Some(StateError::Untrusted { .. })));
        let cancelled = outcome(|| StateError::Cancelled);
        assert_eq!(cancelled.removed_count, 0);
        assert!(matches!(cancelled.failure, Some(StateError::Cancelled)));
        let gone = || StateError::NotFound { name: String::new(), path: "x".into() };
        let gone = outcome(gone);
        assert_eq!((gone.removed_count, gone.freed_bytes, gone.left_bytes), (1, 2, 0));
        assert!(gone.failure.is_none());
    }

    #[test]
    fn times_and_sizes_have_their_units() {
        let days = time("--older-than", "30d").unwrap();
        assert_eq!(days, Duration::from_secs(30 * DAY_S));
        assert_eq!(time("--older-than", "1.5h").unwrap(), Duration::from_secs(5_400));
        assert_eq!(size("--keep", "20G").unwrap(), 20_000_000_000);
        assert_eq!(size("--keep", "0.5 GiB").unwrap(), 1 << 29);
        assert_eq!(size("--keep", "0B").unwrap(), 0);
        for wrong in ["", "30", "d", "-1d", "30D", "3e9d", "1.2.3d", "1e400s", "99999999999999w"] {
            let error = time("--older-than", wrong).unwrap_err().to_string();
            assert!(error.contains("--older-than") && error.contains("as in 30d"), "{error}");
        }
        for wrong in ["", "20", "20g", "20Gb", "-1G", ".G", "99999999T"] {
            let error = size("--keep", wrong).unwrap_err().to_string();
            assert!(error.contains("--keep") && error.contains("as in 20G"), "{error}");
        }
    }
}
