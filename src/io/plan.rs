//! The plan of `stress doctor io`: checks the options, and derives the recipe of the state and the
//! order of the points.

use std::{num::NonZeroUsize, time::Duration};

use alloy_primitives::Address;
use anyhow::{Result, bail};
use executor::raw::SlotsPerCall;
use spec::{Override, RunSpec};
use variant::ReadMethod;
use workload::{
    Genesis, GenesisAccount, KeyRule, Layout, SlotFamily, ValueRule, stream::stream_seed,
};

use crate::{
    machine,
    run::{minimal, prepare::add_default},
};

/// Default depths: counts of threads for single gets, or of keys in a multi-get call.
const DEPTHS: [usize; 5] = [1, 4, 16, 64, 256];
/// Maximal number of keys in a call, equal to the maximum of `run.rocksdb.multi_get_keys`.
const KEYS_PER_CALL_MAX: usize = 65_536;
/// Maximal number of threads, equal to the maximum of `run.threads`.
const THREADS_MAX: usize = 1_024;
/// Time of a point without `--budget`.
const POINT_TIME: Duration = Duration::from_secs(3);
const POINT_TIME_MIN: Duration = Duration::from_millis(10);
/// The account whose slots are read.
const CONTRACT: Address = Address::repeat_byte(0x10);
/// A block cache that holds hardly any block, so that each get reads its block.
const BLOCK_CACHE: (&str, &str) = ("run.rocksdb.block_cache", "8MiB");
/// Seed of the state's values and keys. `--seed` is the seed of the draw only.
const STATE_SEED: u64 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPoint {
    pub threads: NonZeroUsize,
    /// How a thread asks for keys: one by one, or several in a call.
    pub slots_per_call: SlotsPerCall,
}

impl PlannedPoint {
    pub const fn keys_per_call(&self) -> usize {
        match self.slots_per_call {
            SlotsPerCall::One => 1,
            SlotsPerCall::Many(count) => count.get(),
        }
    }

    /// Maximal number of gets under way.
    pub const fn depth(&self) -> usize {
        self.threads.get() * self.keys_per_call()
    }
}

/// A checked plan.
#[derive(Clone, Debug)]
pub struct IoPlan {
    /// How a reader gets keys: with a get for each key, or with a multi-get.
    pub read: ReadMethod,
    pub run: RunSpec,
    pub genesis: Genesis,
    pub layout: Layout,
    /// Share of the requested keys that exist.
    pub present_share: f64,
    /// Seed of the draws: of keys, and of the device's blocks.
    pub seed: u64,
    pub time: Duration,
    /// The points, in the order of measurement.
    pub points: Vec<PlannedPoint>,
}

impl IoPlan {
    /// Makes the plan from `overrides`, `--depth` and `--budget`. `overrides` are the options that
    /// are keys of a scenario.
    ///
    /// # Errors
    /// An option is not valid.
    pub fn new(
        mut overrides: Vec<Override>,
        depth: Option<&str>,
        budget: Option<&str>,
    ) -> Result<Self> {
        let (key, value) = BLOCK_CACHE;
        add_default(&mut overrides, &[], Override::new(key, value, "stress io"));
        let has_seed = overrides.iter().any(|given| given.key == "seed");
        let scenario = minimal::scenario("stress io", &overrides)?;
        let mut run = scenario.run;
        let read = run.read.unwrap_or(ReadMethod::Get);
        let depths = depth.map(|text| depths(text, read)).transpose()?;
        let points = points(&run, read, depths)?;
        let time = match budget {
            Some(text) => point_time(text, points.len() * run.stores.len())?,
            None => POINT_TIME,
        };
        run.read = Some(read);
        let most = points.iter().map(PlannedPoint::keys_per_call).max().unwrap_or(1);
        // The store must not split the call of a point into several calls.
        run.rocksdb.multi_get_key_count = u32::try_from(most.max(2)).unwrap_or(u32::MAX);
        Ok(Self {
            read,
            run,
            genesis: genesis(scenario.state.slot_count),
            layout: scenario.state.layout,
            present_share: scenario.state.present_share,
            seed: if has_seed { scenario.seed } else { machine::fresh_seed() },
            time,
            points,
        })
    }

    /// The slots that the points read.
    pub fn family(&self) -> &SlotFamily {
        &self.genesis.slots[0]
    }

    /// Returns the depths at which the device is measured: the points' depths up to `THREADS_MAX`,
    /// each once, ascending.
    pub fn device_depths(&self) -> Vec<usize> {
        let mut depths: Vec<usize> = self.points.iter().map(PlannedPoint::depth).collect();
        depths.retain(|depth| *depth <= THREADS_MAX);
        depths.sort_unstable();
        depths.dedup();
        depths
    }
}

/// Returns the recipe of one contract with `rows` slots of random values. Keys of a Weyl sequence
/// are cheap to compute. They are random in the hashed layout, and evenly spread in the plain
/// layout.
fn genesis(rows: u64) -> Genesis {
    let account = GenesisAccount { address: CONTRACT, nonce: 1, ..GenesisAccount::default() };
    Genesis {
        accounts: vec![account],
        slots: vec![SlotFamily {
            address: CONTRACT,
            count: rows,
            keys: KeyRule::Weyl,
            values: ValueRule::Random,
            seed: stream_seed(STATE_SEED, "rows of stress io"),
        }],
        ..Genesis::default()
    }
}

/// Returns the points: each number of threads with each number of keys in a call. With single gets,
/// a depth is a number of threads.
fn points(
    run: &RunSpec,
    read: ReadMethod,
    depths: Option<Vec<NonZeroUsize>>,
) -> Result<Vec<PlannedPoint>> {
    let threads: Vec<NonZeroUsize> =
        run.thread_counts.iter().filter_map(|count| NonZeroUsize::new(*count as usize)).collect();
    if read == ReadMethod::Get && !threads.is_empty() && depths.is_some() {
        bail!(
            "--depth and --threads: with --read get a thread has one read under way, so they are the \
             same; give one of them, or --read multi-get"
        );
    }
    let depths = depths
        .unwrap_or_else(|| DEPTHS.iter().filter_map(|depth| NonZeroUsize::new(*depth)).collect());
    let (threads, calls) = match read {
        ReadMethod::Get => {
            (if threads.is_empty() { depths } else { threads }, vec![SlotsPerCall::One])
        }
        ReadMethod::MultiGet => {
            let threads = if threads.is_empty() { vec![NonZeroUsize::MIN] } else { threads };
            (threads, depths.into_iter().map(SlotsPerCall::Many).collect())
        }
    };
    let points = threads.iter().flat_map(|&threads| {
        calls.iter().map(move |&slots_per_call| PlannedPoint { threads, slots_per_call })
    });
    Ok(points.collect())
}

fn depths(text: &str, read: ReadMethod) -> Result<Vec<NonZeroUsize>> {
    let (most, what) = match read {
        ReadMethod::Get => (THREADS_MAX, "threads, each with a read under way"),
        ReadMethod::MultiGet => (KEYS_PER_CALL_MAX, "keys in a call"),
    };
    let mut depths = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.parse::<NonZeroUsize>() {
            Ok(depth) if depth.get() <= most && !depths.contains(&depth) => depths.push(depth),
            _ => bail!(
                "--depth {text}: counts from 1 to {most} are wanted ({what}), separated by commas, \
                 each once, as in --depth 1,16,64"
            ),
        }
    }
    Ok(depths)
}

/// Returns the time of each of `point_count` points that share the budget `text`.
fn point_time(text: &str, point_count: usize) -> Result<Duration> {
    let budget = spec::fine_duration("--budget", text)?;
    let time = budget / u32::try_from(point_count.max(1))?;
    if time < POINT_TIME_MIN {
        bail!(
            "--budget {text}: {point_count} points share it, and each takes {POINT_TIME_MIN:?} or more; give more, \
             or fewer of --depth, --threads and --store"
        );
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::cmd::io::IoArgs;

    fn args() -> IoArgs {
        IoArgs { slots: "1M".to_owned(), ..IoArgs::default() }
    }

    fn plan(args: &IoArgs) -> IoPlan {
        args.plan().unwrap()
    }

    fn depths_of(args: &IoArgs) -> Vec<(usize, usize)> {
        let plan = plan(args);
        plan.points.iter().map(|p| (p.threads.get(), p.keys_per_call())).collect()
    }

    #[test]
    fn with_get_a_depth_is_a_number_of_threads_and_with_multi_get_keys_in_a_call() {
        let depth = Some("8,2".to_owned());
        assert_eq!(depths_of(&args()), [(1, 1), (4, 1), (16, 1), (64, 1), (256, 1)]);
        assert_eq!(depths_of(&IoArgs { depth: depth.clone(), ..args() }), [(8, 1), (2, 1)]);
        assert_eq!(depths_of(&IoArgs { threads: depth.clone(), ..args() }), [(8, 1), (2, 1)]);
        let multi_get = IoArgs {
            read: Some("multi-get".to_owned()),
            threads: Some("1,2".to_owned()),
            depth,
            ..args()
        };
        assert_eq!(depths_of(&multi_get), [(1, 8), (1, 2), (2, 8), (2, 2)]);
        let plan = plan(&multi_get);
        assert_eq!(plan.run.rocksdb.multi_get_key_count, 8);
        assert_eq!(plan.device_depths(), [2, 4, 8, 16]);
    }

    #[test]
    fn the_draw_has_a_seed_of_its_own_and_the_state_stays_the_same() {
        let first = plan(&args());
        let second = plan(&IoArgs { seed: Some("7".to_owned()), ..args() });
        assert_eq!(first.genesis, second.genesis);
        assert_eq!(second.seed, 7);
        assert_ne!(first.seed, plan(&args()).seed, "where it is not said it is another each time");
    }

    #[test]
    fn points_share_the_budget_and_have_three_seconds_each_without_one() {
        let time = |budget: Option<&str>| {
            let budget = budget.map(str::to_owned);
            let store = Some("rocksdb,memory".to_owned());
            IoArgs { budget, store, ..args() }.plan().map(|plan| plan.time)
        };
        assert_eq!(time(None).unwrap(), Duration::from_secs(3));
        assert_eq!(time(Some("20s")).unwrap(), Duration::from_secs(2), "ten points");
        for wrong in ["50ms", "0", "nan", "3"] {
            let error = time(Some(wrong)).unwrap_err().to_string();
            assert!(error.contains("--budget"), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_block_cache_holds_hardly_anything_unless_asked_to() {
        let bytes = |args| plan(&args).run.rocksdb.block_cache_bytes;
        assert_eq!(bytes(args()), 8 << 20);
        let set = vec!["run.rocksdb.block_cache=1GiB".to_owned()];
        assert_eq!(bytes(IoArgs { set, ..args() }), 1 << 30);
    }
}
