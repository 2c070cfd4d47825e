//! Finds the functions that take the CPU time of a variant (`--profile`), in extra samples that
//! count for no figure. A signal interrupts a running thread, at most as often as the kernel ticks,
//! and its stack is recorded (`docs/performance.md`).
//!
//! Only stacks inside an engine are kept. Opening the store and comparing with the reference are
//! outside the clock, so their stacks are left out.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use executor::sample::WARMING_THREAD;
use pprof::{Frames, ProfilerGuardBuilder, flamegraph};

use result::{FrameFacts, ProfileFacts};

use crate::{
    run::sampling::{Sampled, Sampling},
    terminal::interrupt,
};

/// Requested stacks per second of CPU time. The number is prime, so that periodic work is not
/// always missed.
const FREQUENCY_HZ: i32 = 997;
/// Samples are taken until they have lasted this long together, with the time to open the store.
/// There is at least one sample.
const BUDGET: Duration = Duration::from_secs(5);
const SAMPLE_COUNT_MAX: u64 = 1_000;
/// Number of functions that a profile lists.
const FRAME_COUNT: usize = 10;
/// Libraries in which a stack is not walked, as the walk would take locks that the thread may hold.
const NOT_WALKED: [&str; 5] = ["libc.so", "libgcc_s.so", "libpthread.so", "ld-linux", "vdso"];
/// Names of threads that run only inside an engine's clock.
const WORKER_THREADS: [&str; 2] = ["executor", "reader"];
/// The common part of the names of all functions of engines.
const ENGINE: &str = "executor::engine::";
/// Function that warms up a state outside the clock, by functions of an engine.
const WARM_UP: &str = "executor::sample::warm";
/// The profiler's own functions, at the top of a stack.
const OWN: [&str; 3] = ["backtrace::", "pprof::", "<pprof::"];

/// The target of `--profile`: a cell, or the fastest cell of a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileTarget {
    /// The cell at this index.
    Cell(usize),
    /// The fastest of the cells at these indices.
    FastestOf(Vec<usize>),
}

/// Returns the cell, or the cells of a design, that `wanted` names. `names` and `designs` are those
/// of all cells.
///
/// # Errors
/// `wanted` is neither a design nor the name of exactly one cell.
pub fn target(names: &[String], designs: &[&str], wanted: &str) -> Result<ProfileTarget> {
    let of_design: Vec<usize> =
        (0..designs.len()).filter(|index| designs[*index] == wanted).collect();
    if !of_design.is_empty() {
        return Ok(ProfileTarget::FastestOf(of_design));
    }
    named(names, wanted).map(ProfileTarget::Cell).map_err(|error| {
        let known: Vec<&str> = BTreeSet::from_iter(designs.iter().copied()).into_iter().collect();
        anyhow!("{error}; or a design: {}", known.join(", "))
    })
}

/// Returns the index of the cell that `wanted` names among `names`, with or without its store.
///
/// # Errors
/// No cell has that name, or several do.
fn named(names: &[String], wanted: &str) -> Result<usize> {
    let found = names.iter().enumerate().filter(|(_, name)| {
        let variant = name.split_once('/').map(|(_, variant)| variant);
        *name == wanted || variant == Some(wanted)
    });
    match found.collect::<Vec<_>>()[..] {
        [(index, _)] => Ok(index),
        [] => Err(anyhow!(
            "--profile {wanted}: this run has no such variant; it has\n  {}",
            names.join("\n  ")
        )),
        ref several => Err(anyhow!(
            "--profile {wanted}: several stores have it; write one of {}",
            several.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The recorded stacks of a variant.
#[derive(Debug)]
pub struct Profile {
    variant: String,
    sample_count: u64,
    /// Stacks inside an engine, with their counts: the thread's name, then functions from the outermost
    /// to the running one.
    stacks: BTreeMap<Vec<String>, u64>,
    /// Number of all other stacks.
    outside_count: u64,
}

impl Profile {
    /// Takes extra samples of the cell at `index`, and records their stacks. `None` after an
    /// interrupt or a wrong sample, which is a disagreement in `sampled`.
    ///
    /// # Errors
    /// The store failed, or the profiler could not begin or recorded no stack.
    pub fn record(
        sampling: &Sampling<'_>,
        index: usize,
        sampled: &mut Sampled,
    ) -> Result<Option<Self>> {
        let guard = ProfilerGuardBuilder::default().frequency(FREQUENCY_HZ).blocklist(&NOT_WALKED);
        let guard = guard.build().context("cannot profile")?;
        let begun = Instant::now();
        let mut sample_count = 0;
        while sample_count == 0 || (begun.elapsed() < BUDGET && sample_count < SAMPLE_COUNT_MAX) {
            if !sampling.extra(index, None, sampled)? {
                return Ok(None);
            }
            sample_count += 1;
        }
        let report = guard.report().build().context("cannot profile")?;
        drop(guard);
        let profile = Self::from_stacks(sampling.name(index), sample_count, &report.data);
        match profile.stack_count() {
            0 if interrupt::happened() => Ok(None),
            0 => Err(anyhow!(
                "--profile {}: {sample_count} samples took too little CPU time for a stack to be \
                 seen; a larger block (--gas) takes more",
                profile.variant
            )),
            _ => Ok(Some(profile)),
        }
    }

    fn from_stacks(variant: String, sample_count: u64, data: &HashMap<Frames, isize>) -> Self {
        let mut stacks: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        let mut outside_count = 0;
        for (frames, count) in data {
            let count = u64::try_from(*count).unwrap_or_default();
            let names = frames.frames.iter().flatten().map(pprof::Symbol::name);
            // The running function comes first.
            let mut names: Vec<String> =
                names.skip_while(|name| OWN.iter().any(|own| name.starts_with(own))).collect();
            let is_inside = WORKER_THREADS.contains(&frames.thread_name.as_str())
                || (frames.thread_name != WARMING_THREAD
                    && names.iter().any(|name| name.contains(ENGINE))
                    && !names.iter().any(|name| name.contains(WARM_UP)));
            if names.is_empty() || !is_inside {
                outside_count += count;
                continue;
            }
            names.push(frames.thread_name.clone());
            names.reverse();
            *stacks.entry(names).or_default() += count;
        }
        Self { variant, sample_count, stacks, outside_count }
    }

    fn stack_count(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// Returns the functions that ran most often, with the numbers of samples and stacks. `file` is
    /// the name of the flame graph.
    pub fn facts(&self, file: String) -> ProfileFacts {
        let all = self.stack_count();
        let mut own: BTreeMap<&str, u64> = BTreeMap::new();
        let mut total: BTreeMap<&str, u64> = BTreeMap::new();
        for (stack, count) in &self.stacks {
            // The first entry is the thread.
            let functions = &stack[1..];
            *own.entry(functions.last().map_or("", String::as_str)).or_default() += count;
            for name in functions.iter().map(String::as_str).collect::<BTreeSet<_>>() {
                *total.entry(name).or_default() += count;
            }
        }
        let share = |count: u64| count as f64 / all.max(1) as f64;
        let mut own: Vec<(&str, u64)> = own.into_iter().collect();
        own.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let frames = own.into_iter().take(FRAME_COUNT).map(|(name, count)| FrameFacts {
            name: name.to_owned(),
            self_share: share(count),
            total_share: share(total.get(name).copied().unwrap_or_default()),
        });
        ProfileFacts {
            variant: self.variant.clone(),
            sample_count: self.sample_count,
            stack_count: all,
            outside_count: self.outside_count,
            flame_graph: file,
            frames: frames.collect(),
        }
    }

    /// Writes the stacks as a flame graph, an SVG that a browser opens.
    ///
    /// # Errors
    /// The flame graph cannot be written.
    pub fn write_flame_graph(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let lines = self.stacks.iter().map(|(stack, count)| {
            // A name must not contain the separators of the stack's format.
            let names: Vec<String> =
                stack.iter().map(|name| name.replace([';', '\n'], ":")).collect();
            format!("{} {count}", names.join(";"))
        });
        let lines: Vec<String> = lines.collect();
        let mut options = flamegraph::Options::default();
        options.title = format!("stress {}", self.variant);
        options.count_name = "stacks".to_owned();
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out)
            .map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(stacks: &[(&[&str], u64)]) -> Profile {
        let owned = |stack: &[&str]| stack.iter().map(|name| (*name).to_owned()).collect();
        Profile {
            variant: "memory/none/a@1".to_owned(),
            sample_count: 3,
            stacks: stacks.iter().map(|(stack, count)| (owned(stack), *count)).collect(),
            outside_count: 7,
        }
    }

    #[test]
    fn a_function_counts_once_a_stack_and_its_own_share_is_where_it_ran() {
        let profile = profile(&[
            (&["executor", "work", "read", "read"], 6),
            (&["executor", "work", "hash"], 3),
            (&["reader", "work"], 1),
        ]);
        let facts = profile.facts("f.svg".to_owned());
        assert_eq!((facts.stack_count, facts.outside_count, facts.sample_count), (10, 7, 3));
        let frames: Vec<_> =
            facts.frames.iter().map(|f| (f.name.as_str(), f.self_share, f.total_share)).collect();
        assert_eq!(frames, [("read", 0.6, 0.6), ("hash", 0.3, 0.3), ("work", 0.1, 1.0)]);
    }

    #[test]
    fn a_flame_graph_has_every_function_and_thread_and_no_name_can_break_it() {
        let profile = profile(&[(&["reader", "a;b<c>", "d"], 2)]);
        let mut svg = Vec::new();
        profile.write_flame_graph(&mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        for words in ["<svg", "reader", "a:b&lt;c&gt;", "memory/none/a@1"] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
    }

    #[test]
    fn a_design_or_a_variant_is_wanted_and_nothing_else() {
        let names = ["memory/none/a@1", "memory/none/b@1", "memory/none/b@2"].map(str::to_owned);
        let designs = ["a", "b", "b"];
        let named = |text: &str| target(&names, &designs, text);
        assert_eq!(named("b").unwrap(), ProfileTarget::FastestOf(vec![1, 2]));
        assert_eq!(named("none/b@2").unwrap(), ProfileTarget::Cell(2));
        let error = named("c").unwrap_err().to_string();
        assert!(error.contains("--profile c") && error.contains("a design: a, b"), "{error}");
    }
}
