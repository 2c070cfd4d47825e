//! Compares the table of duties in `docs/methodology.md` with samples. A phase in the clock of a
//! design has a span in each batch, and one outside the clock has none.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeSet, num::NonZeroUsize, path::Path, sync::atomic::AtomicBool};

use executor::{engine::Task, sample, store::memory::MemoryStore, tries};
use generator::{export, reference};
use spec::Scenario;
use variant::{
    BlockDuties, CacheMode, Design, ListDuty, Named, Phase, RootTime, RootWay, TrieForm, Variant,
};
use workload::Workload;

/// Phases that are no duty of a client: ways to fulfil a duty, and deferred work of a store.
const WAYS: [Phase; 13] = [
    Phase::Schedule,
    Phase::Partition,
    Phase::ShardSend,
    Phase::ShardValues,
    Phase::ShardResults,
    Phase::WarmUp,
    Phase::Order,
    Phase::Prefetch,
    Phase::Validate,
    Phase::RootPlan,
    Phase::RootRead,
    Phase::RootJoin,
    Phase::Settle,
];

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Reads the designs of the table, and the duties with a phase: the phase, and its word for each
/// design.
fn table() -> (Vec<Design>, Vec<(Phase, Vec<String>)>) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/methodology.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| duty,"));
    let head = cells(lines.next().expect("the table of duties"));
    let design = |name: &&str| Design::from_name(name.trim_matches('`')).unwrap();
    let designs = head[1..].iter().map(design).collect();
    let mut duties = Vec::new();
    for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let cells = cells(line);
        let known = ["in clock", "out", "option", "not done"];
        assert!(cells[1..].iter().all(|word| known.contains(word)), "{line}");
        let Some((_, phase)) = cells[0].split_once(": `") else { continue };
        let phase = Phase::from_name(phase.trim_end_matches('`')).unwrap();
        duties.push((phase, cells[1..].iter().map(|word| (*word).to_owned()).collect()));
    }
    (designs, duties)
}

fn workload() -> Workload {
    let text = "schema = 1\nname = \"s\"\ndescription = \"\"\n[state]\naccounts = 50\n\
        slots = 3_000\n[block]\ngas = \"2M\"\nblocks = 2\ntx_gas = \"500k\"\n[[load]]\n\
        kind = \"sload-storm\"\n";
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap();
    generator::generate(&scenario, |_| ()).unwrap()
}

/// The phases of a sample with a span for each batch.
fn phases(workload: &Workload, store: &MemoryStore, variant: Variant) -> BTreeSet<&'static str> {
    let full = || reference::full_lists(workload, || ()).unwrap();
    let lists = sample::lists_for(workload, variant.list, full).unwrap();
    let cancel = AtomicBool::new(false);
    let blocks = export::received_blocks(workload, &[], &cancel).unwrap();
    let task = Task { blocks: &blocks, ..Task::new(workload, &lists, variant, &cancel) };
    let taken = sample::take(store, &task, CacheMode::Cold).unwrap();
    assert_eq!(taken.disagreement, None, "{variant}");
    let spans = &taken.executed.spans;
    let count = |phase: Phase| spans.iter().filter(|span| span.phase == phase).count();
    let batch_count = workload.batches.len();
    let done = Phase::ALL.iter().copied().filter(|phase| count(*phase) >= batch_count);
    done.map(Named::name).collect()
}

#[test]
fn the_table_of_duties_says_what_samples_do() {
    let (workload, (designs, duties)) = (workload(), table());
    let format = tries::trie_format(TrieForm::Cut).unwrap();
    let store = MemoryStore::build(&workload.genesis, Some(format), 1 << 30).unwrap();
    assert_eq!(designs.len(), Design::ALL.len(), "every design has a column");
    let named: BTreeSet<_> = duties.iter().map(|(phase, _)| phase.name()).collect();
    let wanted: BTreeSet<_> =
        Phase::ALL.iter().filter(|phase| !WAYS.contains(phase)).map(|phase| phase.name()).collect();
    assert_eq!(named, wanted, "every duty that is a phase has a line");
    let two = NonZeroUsize::new(2).unwrap();
    for (place, design) in designs.into_iter().enumerate() {
        let variant = Variant::of(design, two, two);
        let done = phases(&workload, &store, variant);
        let built = variant.engine.builds_lists().then(|| {
            let variant = Variant { list_duty: ListDuty::Build, ..variant };
            phases(&workload, &store, variant)
        });
        let rooted =
            phases(&workload, &store, Variant { root: RootWay::at(RootTime::After), ..variant });
        let whole =
            phases(&workload, &store, Variant { block_duties: BlockDuties::all(), ..variant });
        for (phase, words) in &duties {
            let (is_done, word) = (done.contains(phase.name()), words[place].as_str());
            let by_option = built.as_ref().is_some_and(|built| built.contains(phase.name()))
                || rooted.contains(phase.name())
                || whole.contains(phase.name());
            let expected = match (is_done, by_option) {
                (true, _) => "in clock",
                (false, true) => "option",
                (false, false) => "not done",
            };
            assert_eq!(word, expected, "{phase} of {design}");
        }
    }
}
