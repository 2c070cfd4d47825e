//! What a result says beside the figures: the tool, the workload, the stores, reasons for doubt.

use result::{BalBytes, Cell, Program, StoreFacts, Tool, WorkloadFacts, environment::Build};

use executor::store::any::AnyStore;
use generator::GENERATOR_VERSION;
use serde_json::{Map, Value};
use workload::{
    Workload,
    list::{ListBounds, ListIndex},
};

use crate::session::Session;

/// Version of revm, as pinned in the workspace's manifest.
const REVM_VERSION: &str = "43.0.3";

/// What made the result: the binary whose `build` is in the environment.
pub fn tool(build: &Build) -> Tool {
    let program = Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: build.commit.clone(),
        features: build.features.clone(),
        binary_hash: build.binary_hash.clone(),
        generator_version: GENERATOR_VERSION,
    };
    Tool { program, build_profile: build.profile.clone(), revm: REVM_VERSION.to_owned() }
}

/// Keys that the lists of a workload declare.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeclaredKeys {
    /// Accounts.
    pub account_count: u64,
    /// Slots.
    pub slot_count: u64,
}

impl DeclaredKeys {
    /// Accounts and slots.
    pub const fn count(&self) -> u64 {
        self.account_count + self.slot_count
    }
}

/// Keys that a workload asks for.
#[derive(Clone, Copy, Debug)]
pub struct AskedKeys {
    /// Those that its lists declare.
    pub declared: DeclaredKeys,
    /// Share of the planned slots that exist.
    pub present_share: f64,
}

impl AskedKeys {
    /// Those of `workload`.
    pub fn of(workload: &Workload) -> Self {
        Self { declared: declared_keys(workload), present_share: present_share(workload) }
    }
}

/// Counts what the lists of `workload` declare.
fn declared_keys(workload: &Workload) -> DeclaredKeys {
    let mut keys = DeclaredKeys::default();
    for batch in &workload.batches {
        // A session's lists have been decoded before.
        let bounds = ListBounds::of(batch, workload.fork);
        if let Ok(list) = ListIndex::decode(&batch.list, &bounds) {
            keys.account_count += u64::from(list.account_count());
            keys.slot_count += u64::from(list.slot_count());
        }
    }
    keys
}

/// Share of the planned slots that exist.
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

/// What a result says of its workload.
pub fn workload(workload: &Workload, overridden: Vec<String>) -> WorkloadFacts {
    let keys = declared_keys(workload);
    let sizes = |size: fn(&workload::block::ListSizes) -> u64| {
        workload.batches.iter().map(|batch| size(&batch.list_sizes)).sum()
    };
    WorkloadFacts {
        scenario: workload.scenario.clone(),
        seed: workload.seed,
        fork: workload.fork.name().to_owned(),
        gas: workload.gas_used(),
        header_gas: workload.batches.iter().flat_map(|batch| &batch.expected.header_gas).sum(),
        block_count: workload.blocks().count() as u64,
        batch_count: workload.batches.len() as u64,
        blocks_per_batch: workload.batches.first().map_or(0, |batch| batch.blocks.len() as u64),
        tx_count: workload.tx_count(),
        digest: workload.digest().to_string(),
        bal: BalBytes {
            parallel_io_bytes: sizes(|sizes| sizes.parallel_io_bytes),
            batched_io_bytes: sizes(|sizes| sizes.batched_io_bytes),
            full_bytes: sizes(|sizes| sizes.full_bytes),
        },
        list_account_count: keys.account_count,
        list_slot_count: keys.slot_count,
        state_slot_count: workload.genesis.slot_count(),
        state_account_count: workload.genesis.account_count(),
        layout: workload.layout.name().to_owned(),
        overridden,
    }
}

/// What the stores say of themselves.
pub fn stores(session: &Session) -> Vec<StoreFacts> {
    session.stores().iter().map(store).collect()
}

/// What a store says of itself.
pub fn store(store: &AnyStore) -> StoreFacts {
    let facts = store.facts().into_iter().map(|(name, text)| (name, fact(text)));
    StoreFacts { store: store.kind(), facts: facts.collect::<Map<_, _>>() }
}

/// A number where the text is a plain one, a truth or its absence where it says so, otherwise the
/// text.
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

/// What the run itself gives reason to doubt, each with its remedy.
pub fn doubts(cells: &[Cell], failure: Option<&anyhow::Error>) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(failure) = failure {
        doubts.push(format!(
            "the run ended before its plan did ({failure:#}): mend that, and run again"
        ));
    }
    let share = |cell: &Cell| cell.device_fraction.filter(|share| share.is_finite());
    let highest = cells.iter().filter_map(|cell| Some((share(cell)?, cell)));
    if let Some((share, cell)) = highest.max_by(|a, b| a.0.total_cmp(&b.0))
        && share > 1.0
    {
        doubts.push(format!(
            "ceiling too low: {} read blocks {share:.2} times as fast as the device's ceiling of \
             this run; shares of the disk are too high by that much or more, or neighbouring \
             blocks were read in one request, or a cache below answered; run again when nothing else uses the disk",
            cell.variant
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::example;

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
            ..crate::environment::build()
        };
        let tool = tool(&build);
        assert_eq!((tool.program.commit.as_deref(), &*tool.build_profile), (Some("c0ffee"), "odd"));
        let Program { features, binary_hash, .. } = tool.program;
        assert_eq!((features, binary_hash), (build.features, build.binary_hash));
    }

    #[test]
    fn a_cell_faster_than_the_ceiling_is_a_doubt_and_so_is_an_early_end() {
        let mut cells = example::typical().cells;
        assert_eq!(doubts(&cells, None), Vec::<String>::new());
        cells[1].device_fraction = Some(1.25);
        cells[2].device_fraction = Some(f64::NAN);
        let failure = anyhow::anyhow!("no space").context("rocksdb/x");
        let doubts = doubts(&cells, Some(&failure));
        assert!(doubts[0].contains("rocksdb/x: no space"), "{doubts:?}");
        assert!(doubts[1].starts_with("ceiling too low: rocksdb/parallel-io"), "{doubts:?}");
        assert!(doubts[1].contains(" 1.25 times "), "{doubts:?}");
        assert_eq!(doubts.len(), 2);
    }
}
