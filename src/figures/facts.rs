//! Facts of a result beside the figures: the tool, the workload, the stores, reasons for doubt.

use std::fmt;

use result::{
    BalBytes, Cell, DRIFT_MAX, Device, Fill, HOST_CACHE_RATIO, LoadFill, Program, StoreFacts, Tool,
    WorkloadFacts, environment::Build,
};

use executor::store::Store;
use generator::{GENERATOR_VERSION, TxGas};
use serde_json::{Map, Value};
use spec::{BlockTarget, Scenario};
use workload::{
    Fork, Workload,
    list::{ListBounds, ListIndex},
};

use crate::machine::environment;

/// Version of revm, as pinned in the workspace's manifest.
const REVM_VERSION: &str = "43.0.3";

/// Describes the program that makes the result, by its `build`, and the version of revm.
pub fn tool(build: &Build) -> Tool {
    let program = Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: build.commit.clone(),
        features: build.features.clone(),
        binary_hash: build.binary_hash.clone(),
        build_profile: Some(build.profile_in_words()),
        patched: environment::patched(),
        generator_version: GENERATOR_VERSION,
    };
    Tool { program, revm: REVM_VERSION.to_owned() }
}

/// Number of keys that the lists of a workload declare.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeclaredKeys {
    pub account_count: u64,
    pub slot_count: u64,
}

impl DeclaredKeys {
    /// Returns the number of accounts and slots together.
    pub const fn count(&self) -> u64 {
        self.account_count + self.slot_count
    }
}

/// Counts of the keys that a workload asks for.
#[derive(Clone, Copy, Debug)]
pub struct AskedKeys {
    /// The keys that its lists declare.
    pub declared: DeclaredKeys,
    /// Share of the planned slots that exist in the state.
    pub present_share: f64,
}

impl AskedKeys {
    pub fn of(workload: &Workload) -> Self {
        Self { declared: declared_keys(workload), present_share: present_share(workload) }
    }
}

/// Counts the keys that the lists of `workload` declare.
fn declared_keys(workload: &Workload) -> DeclaredKeys {
    let mut keys = DeclaredKeys::default();
    for batch in &workload.batches {
        // A session has decoded its lists before, so an error needs no report here.
        let bounds = ListBounds::new(batch, &workload.rules);
        if let Ok(list) = ListIndex::decode(&batch.list, &bounds) {
            keys.account_count += u64::from(list.account_count());
            keys.slot_count += u64::from(list.slot_count());
        }
    }
    keys
}

/// Returns the share of the planned slots that exist in the state; 1 without planned slots.
pub fn present_share(workload: &Workload) -> f64 {
    let (mut asked, mut present) = (0_u64, 0_u64);
    for range in workload.batches.iter().flat_map(|batch| &batch.plan.slots) {
        let family = workload.genesis.slots.get(range.family as usize);
        let held = family.map_or(0, |family| family.count);
        asked += range.count;
        present += (range.start + range.count).min(held).saturating_sub(range.start);
    }
    if asked == 0 { 1.0 } else { present as f64 / asked as f64 }
}

/// Sums the encoded lengths of all lists of `workload`.
pub fn bal_bytes(workload: &Workload) -> BalBytes {
    let sizes = workload.batches.iter().map(|batch| &batch.list_sizes);
    BalBytes {
        parallel_io_bytes: sizes.clone().map(|sizes| sizes.parallel_io_bytes).sum(),
        batched_io_bytes: sizes.clone().map(|sizes| sizes.batched_io_bytes).sum(),
        full_bytes: sizes.map(|sizes| sizes.full_bytes).sum(),
    }
}

/// Describes `workload` for a result. `overridden`: the keys of the scenario that the user set.
pub fn workload(workload: &Workload, overridden: Vec<String>) -> WorkloadFacts {
    let keys = declared_keys(workload);
    WorkloadFacts {
        scenario: workload.scenario.clone(),
        seed: workload.seed,
        fork: workload.rules.to_string(),
        gas: workload.gas_used(),
        header_gas: workload.batches.iter().flat_map(|batch| &batch.expected.header_gas).sum(),
        block_count: workload.blocks().count() as u64,
        batch_count: workload.batches.len() as u64,
        blocks_per_batch: workload.batches.first().map_or(0, |batch| batch.blocks.len() as u64),
        tx_count: workload.tx_count(),
        digest: workload.digest().to_string(),
        bal: bal_bytes(workload),
        list_account_count: keys.account_count,
        list_slot_count: keys.slot_count,
        state_slot_count: workload.genesis.slot_count(),
        // Only storm contracts have families of slots. Other loads list their slots one by one.
        sized_slot_count: Some(workload.genesis.slots.iter().map(|family| family.count).sum()),
        state_account_count: workload.genesis.account_count(),
        layout: workload.layout.name().to_owned(),
        overridden,
        fill: None,
    }
}

/// The loads of a scenario, and the load of each transaction.
#[derive(Clone, Copy, Debug)]
pub struct Loads<'a> {
    pub scenario: &'a Scenario,
    /// The load of each transaction, as an index into the scenario's loads.
    pub of_txs: &'a [u32],
}

/// Computes how full the blocks of `workload` are, from the gas that the reference counted for each
/// transaction.
pub fn fill(workload: &Workload, gas: &[TxGas], loads: Option<Loads<'_>>) -> Fill {
    let specs = loads.map_or(&[][..], |loads| &loads.scenario.loads[..]);
    let mut fill = Fill {
        block_limit_gas: loads.and_then(|loads| match loads.scenario.block.target {
            BlockTarget::Limit(limit) => Some(limit),
            BlockTarget::Gas(_) | BlockTarget::Transactions(_) => None,
        }),
        limit_gas: workload.blocks().map(|block| block.env.gas_limit).sum(),
        loads: specs
            .iter()
            .map(|spec| LoadFill {
                name: spec.name.clone(),
                kind: spec.kind.name().to_owned(),
                ..LoadFill::default()
            })
            .collect(),
        ..Fill::default()
    };
    let forks = workload.blocks().flat_map(|block| {
        std::iter::repeat_n(workload.rules_of(block).fork, block.transactions.len())
    });
    for (tx_index, (gas, fork)) in gas.iter().zip(forks).enumerate() {
        let (execution_gas, state_gas) = match fork.is_from(Fork::Amsterdam) {
            true => (gas.block_regular_gas, gas.block_state_gas),
            false => (gas.receipt_gas, 0),
        };
        fill.execution_gas += execution_gas;
        fill.state_gas += state_gas;
        let load = loads.and_then(|loads| loads.of_txs.get(tx_index));
        if let Some(load) = load.and_then(|load| fill.loads.get_mut(*load as usize)) {
            load.execution_gas += execution_gas;
            load.state_gas += state_gas;
        }
    }
    fill
}

/// Describes a store for a result.
pub fn store(store: &dyn Store) -> StoreFacts {
    let facts = store.facts().into_iter().map(|(name, text)| (name, fact(text)));
    StoreFacts { store: store.kind(), facts: facts.collect::<Map<_, _>>() }
}

/// Turns the text of a store's fact into a JSON value: a boolean, `null`, a whole number, or the
/// text itself, such as `+5` and `007`.
fn fact(text: String) -> Value {
    match text.as_str() {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        "null" => return Value::Null,
        _ => {}
    }
    let number = text.parse::<u64>().ok().filter(|number| number.to_string() == text);
    number.map_or(Value::String(text), Value::from)
}

/// A sample that reads faster than the plain ring by more than this factor counts as faster.
const RING_SLOWER_MIN: f64 = 1.05;

/// A reason to doubt the figures of a run, found in the run itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// The run ended before its plan did.
    EndedEarly { reason: String },
    /// The device's rate changed between the start and the end of the samples.
    DeviceDrift {
        /// Reads a second before the samples.
        start_iops: f64,
        /// Reads a second after the samples.
        end_iops: f64,
    },
    /// Samples read faster than all ceilings of the device that the run measured.
    AboveCeiling {
        /// The variant that was fastest, as its cell names it.
        variant: String,
        /// Requests a second of this variant.
        iops: f64,
        /// The highest measured ceiling, in reads a second.
        ceiling_iops: f64,
    },
    /// The state has too few blocks to measure the device with new blocks only.
    DeviceReadTwice {
        /// Number of reads for the device's figures whose block had been read before.
        read_count: u64,
    },
    /// The program is built with libraries of its user, and so is its own reference.
    Patched {
        /// The libraries, with their sources.
        libraries: Vec<String>,
    },
    /// The plain ring was slower than samples with the same requests.
    RingSlower {
        /// The variants, as cells name them.
        variants: Vec<String>,
        /// The largest factor by which a sample was faster.
        most: f64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndedEarly { reason } => {
                write!(f, "the run ended before its plan did ({reason}): mend that, and run again")
            }
            Self::DeviceDrift { start_iops, end_iops } => write!(
                f,
                "the device changed: {start_iops:.0} reads/s before the samples, {end_iops:.0} after; \
                 times of early and late rounds are of two devices: run again when nothing else \
                 uses it, and trust ratios within a round only"
            ),
            Self::AboveCeiling { variant, iops, ceiling_iops } => write!(
                f,
                "the device was measured at {ceiling_iops:.0} reads/s, but made {iops:.0} requests/s for \
                 {variant}: a cache below this machine has blocks of the samples (take a larger state: --slots), \
                 or a block is slow only at its first read, as on a disk restored from an image (read the state's files \
                 once: cat DIRECTORY/* > /dev/null)"
            ),
            Self::DeviceReadTwice { read_count } => write!(
                f,
                "the state has too few blocks: {read_count} reads that measured the device were of \
                 blocks read before, which a cache below may have answered; take a larger state \
                 (--slots)"
            ),
            Self::Patched { libraries } => write!(
                f,
                "built with {}: the reference that says which results are right has it too; let a build \
                 without it judge: stress gate --against stress --program THIS",
                libraries.join(", ")
            ),
            Self::RingSlower { variants, most } => write!(
                f,
                "a plain ring made the requests of samples up to {most:.2} times slower than they did: the \
                 share of the disk is shown as 100 % and is not known of {}; take more samples",
                variants.join(", ")
            ),
        }
    }
}

/// Returns the doubt about a program that is built with libraries of its user.
pub fn patched_doubt(patched: &[String]) -> Option<Doubt> {
    let libraries = patched.to_vec();
    (!libraries.is_empty()).then_some(Doubt::Patched { libraries })
}

/// Collects the doubts that the run itself gives.
pub fn doubts<'d>(
    devices: impl IntoIterator<Item = &'d Device>,
    cells: &[Cell],
    failure: Option<&anyhow::Error>,
) -> Vec<Doubt> {
    let ended = failure.map(|failure| Doubt::EndedEarly { reason: format!("{failure:#}") });
    let mut doubts: Vec<_> = ended.into_iter().collect();
    let mut highest = None;
    for device in devices {
        let ceilings = device.ceiling_iops.into_iter().chain(device.ceiling_end_iops);
        highest = highest.into_iter().chain(ceilings).max_by(f64::total_cmp);
        if let (Some(start_iops), Some(end_iops)) = (device.ceiling_iops, device.ceiling_end_iops)
            && (end_iops / start_iops - 1.0).abs() > DRIFT_MAX
        {
            doubts.push(Doubt::DeviceDrift { start_iops, end_iops });
        }
        if device.repeated_read_count > 0 {
            doubts.push(Doubt::DeviceReadTwice { read_count: device.repeated_read_count });
        }
    }
    doubts.extend(highest.and_then(|ceiling| above_ceiling(cells, ceiling)));
    doubts.extend(ring_slower(cells));
    doubts
}

/// Compares the rate of the fastest variant with `ceiling_iops`. A variant's rate is the one that
/// more than half of its samples reach. Adjacent blocks that one request reads count once, since
/// they come faster than single blocks. Up to a factor of [`HOST_CACHE_RATIO`] there is no doubt:
/// two measurements of one device differ by less.
fn above_ceiling(cells: &[Cell], ceiling_iops: f64) -> Option<Doubt> {
    let rates = cells.iter().filter_map(|cell| Some((cell, majority_rate(cell)?)));
    let (fastest, iops) = rates.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let variant = fastest.variant.clone();
    (iops > HOST_CACHE_RATIO * ceiling_iops).then_some(Doubt::AboveCeiling {
        variant,
        iops,
        ceiling_iops,
    })
}

/// Returns the rate of requests that more than half of a cell's samples reach.
fn majority_rate(cell: &Cell) -> Option<f64> {
    let rates = cell.samples.iter().filter_map(|sample| {
        let requests_per_s = sample.disk_requests? as f64 / (sample.wall_ns as f64 / 1e9);
        Some(requests_per_s.min(sample.blocks_per_s?))
    });
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len().checked_sub(1)? / 2).copied()
}

/// Finds the cells in which most samples read faster than the plain ring on the same blocks.
fn ring_slower(cells: &[Cell]) -> Option<Doubt> {
    let mut variants = Vec::new();
    let mut factors = Vec::new();
    for cell in cells {
        let rates = cell.samples.iter().filter_map(|s| s.blocks_per_s.zip(s.trace_blocks_per_s));
        let slower: Vec<f64> = rates
            .map(|(blocks, trace)| blocks / trace)
            .filter(|factor| factor.is_finite() && *factor > RING_SLOWER_MIN)
            .collect();
        // The share of the device is a median: a few faster samples in a busy moment do not move
        // it.
        if 2 * slower.len() > cell.samples.len() {
            variants.push(cell.variant.clone());
            factors.extend(slower);
        }
    }
    let most = factors.into_iter().max_by(f64::total_cmp)?;
    Some(Doubt::RingSlower { variants, most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{SampleFacts, example};

    #[test]
    fn a_fact_is_a_number_or_a_truth_where_its_text_is_one() {
        assert_eq!(fact("268435456".to_owned()), Value::from(268_435_456_u64));
        assert_eq!(fact("0".to_owned()), Value::from(0));
        assert_eq!(fact("true".to_owned()), Value::Bool(true));
        assert_eq!(fact("false".to_owned()), Value::Bool(false));
        assert_eq!(fact("null".to_owned()), Value::Null);
        for text in [
            "",
            "+5",
            "True",
            "nil",
            "007",
            "-1",
            "1.0",
            "11.8.1",
            "Logged",
            "99999999999999999999999",
        ] {
            assert_eq!(fact(text.to_owned()), Value::from(text), "{text}");
        }
    }

    #[test]
    fn the_tool_and_the_environment_tell_of_the_same_build() {
        let build = Build {
            commit: Some("c0ffee".to_owned()),
            binary_hash: Some("1a2b".to_owned()),
            profile: "odd".to_owned(),
            ..crate::machine::environment::build()
        };
        let tool = tool(&build);
        let Program { commit, features, build_profile, binary_hash, .. } = tool.program;
        assert_eq!(commit.as_deref(), Some("c0ffee"));
        let profile = build_profile.unwrap();
        assert!(profile.starts_with("odd, opt-level "), "{profile}");
        assert_eq!((features, binary_hash), (build.features, build.binary_hash));
    }

    #[test]
    fn samples_that_make_more_requests_than_the_ceiling_are_a_doubt_unless_few_of_them_do() {
        let device = example::typical().device.unwrap();
        let (start, end) = (device.ceiling_iops.unwrap(), device.ceiling_end_iops.unwrap());
        let ceiling = start.max(end);
        let told = |device: &Device, cells: &[Cell]| {
            doubts([device], cells, None).iter().map(Doubt::to_string).collect::<Vec<_>>()
        };
        let of = |factors: &[f64]| told(&device, &[reading("whole", ceiling, factors)]);
        let none = Vec::<String>::new();
        for factors in [&[1.29, 1.29, 1.29][..], &[1.0, 1.0, 8.0], &[1.0, 1.0, 8.0, 8.0], &[]] {
            assert_eq!(of(factors), none, "{factors:?}: not more than half are above");
        }
        for factors in [&[1.0, 8.0, 8.0][..], &[1.0, 8.0, 8.0, 8.0], &[8.0]] {
            let texts = of(factors);
            assert_eq!(texts.len(), 1, "{factors:?}: {texts:?}");
            assert!(texts[0].contains(&format!("{ceiling:.0} reads/s")), "{texts:?}");
        }
        // The fastest variant is named.
        let cells = [reading("slow", ceiling, &[2.0]), reading("fast", ceiling, &[3.0])];
        assert!(told(&device, &cells)[0].contains("requests/s for fast"));
        // The higher ceiling counts, whichever it is.
        let swapped =
            Device { ceiling_iops: Some(end), ceiling_end_iops: Some(start), ..device.clone() };
        for device in [&device, &swapped] {
            assert_eq!(told(device, &[reading("whole", ceiling, &[1.29])]), none);
        }
        // Many requests for few blocks are no reads of the state.
        let mut cell = reading("whole", ceiling, &[8.0]);
        cell.samples[0].blocks_per_s = Some(ceiling);
        assert_eq!(told(&device, &[cell]), none);
    }

    /// A cell of samples that make so many times the requests of a ceiling each second.
    fn reading(variant: &str, ceiling: f64, factors: &[f64]) -> Cell {
        let mut cell = example::typical().cells[0].clone();
        let sample = cell.samples[0].clone();
        let samples = factors.iter().map(|factor| {
            let requests = (factor * ceiling * sample.wall_ns as f64 / 1e9) as u64;
            // Joined blocks: their rate alone shows nothing.
            let (blocks_per_s, trace_blocks_per_s) = (Some(1e9), Some(1e9));
            SampleFacts {
                disk_requests: Some(requests),
                blocks_per_s,
                trace_blocks_per_s,
                ..sample.clone()
            }
        });
        cell.samples = samples.collect();
        cell.variant = variant.to_owned();
        cell
    }

    #[test]
    fn a_device_that_changed_and_an_early_end_are_doubts_with_remedies() {
        let device = example::typical().device.unwrap();
        let (example, none) = (example::typical(), &[][..]);
        assert_eq!(doubts([&device], &example.cells, None), Vec::new());
        let ends = [0.79, 0.81, 1.19, 1.21].map(|drift| {
            let start_iops = device.ceiling_iops.unwrap();
            let after = Device { ceiling_end_iops: Some(start_iops * drift), ..device.clone() };
            doubts([&after], none, None).len()
        });
        assert_eq!(ends, [1, 0, 0, 1]);
        let slow = Device { ceiling_end_iops: Some(9_000.0), ..device.clone() };
        let repeated = Device { repeated_read_count: 5, ..device };
        let failure = anyhow::anyhow!("no space").context("rocksdb/x");
        let mut cell = example.cells[0].clone();
        for sample in &mut cell.samples {
            (sample.blocks_per_s, sample.trace_blocks_per_s) = (Some(120.0), Some(100.0));
        }
        let doubts = doubts([&slow, &repeated], &[cell], Some(&failure));
        let texts: Vec<_> = doubts.iter().map(ToString::to_string).collect();
        assert!(texts[0].contains("rocksdb/x: no space"), "{texts:?}");
        assert!(texts[1].contains("70512 reads/s before the samples, 9000 after"), "{texts:?}");
        assert!(texts[2].contains("5 reads") && texts[2].contains("--slots"), "{texts:?}");
        assert!(texts[3].contains("1.20 times slower"), "{texts:?}");
        assert_eq!(texts.len(), 4);
    }
}
