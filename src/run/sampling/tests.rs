//! Laws of a run's rounds: failures keep samples, and the budget is the samples' alone.

use std::num::NonZeroUsize;

use variant::{Design, ListForm, Variant};

use super::*;
use crate::run::session::{Session, Work};

#[test]
fn nothing_agrees_before_the_first_sample() {
    let mut sampled = Sampled { by_cell: vec![CellSamples::default(); 3], ..Sampled::default() };
    assert_eq!(sampled.agree(), None);
    let error = anyhow::anyhow!("the disk is gone");
    sampled.failure = Some(Failure { code: Code::Io, error });
    assert_eq!(sampled.agree(), None);
    // A list that is rejected gives no sample, and is wrong all the same.
    sampled.disagreements.push("list rejected".to_owned());
    assert_eq!(sampled.agree(), Some(false));
}

#[test]
fn of_a_cells_samples_the_last_and_the_fastest_are_known() {
    let variant = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
    let cell = PlannedCell { store: StoreKind::Memory, variant };
    let taken = vec![CellProgress::alike(cell, 0, Duration::ZERO); 2];
    let by_cell = vec![CellSamples::default(); 2];
    let mut sampled = Sampled { by_cell, taken, ..Sampled::default() };
    let second = Duration::from_secs(1);
    let known: Vec<_> = [3, 2, 4]
        .map(|seconds| {
            sampled.note_sample(1, seconds * second);
            (sampled.taken[1].last, sampled.taken[1].fastest)
        })
        .into();
    assert_eq!(
        known,
        [(3, 3), (2, 2), (4, 2)].map(|(last, fastest)| (last * second, fastest * second))
    );
    assert_eq!(sampled.taken[0].last, Duration::ZERO, "another cell's");
}

/// Calls `test` with a run of five rounds of milliseconds.
fn with_sampling(test: impl FnOnce(&Sampling<'_>)) {
    let text = "schema = 1\nname = \"t\"\ndescription = \"\"\n[state]\naccounts = 10\n\
        slots = 1_000\n[block]\ngas = \"200k\"\n[[load]]\nkind = \"sload-storm\"\n\
        [run]\nstores = [\"memory\"]\nsamples = 5\nthreads = [2]\n";
    let scenario = spec::Scenario::parse("t.toml", text, &[]).unwrap();
    let workload = generator::generate(&scenario, |_| {}).unwrap();
    let store = executor::store::memory::MemoryStore::build(&workload.genesis, None, u64::MAX);
    let mut work = Work::new(workload);
    for form in [None, Some(ListForm::BatchedIo), Some(ListForm::ParallelIo)] {
        work.add_lists(form, Vec::new()).unwrap();
    }
    let mut session = Session::new(work);
    session.add(Box::new(store.unwrap()));
    let machine = Machine { core_count: NonZeroUsize::MIN, ..Machine::this() };
    let prepared =
        Prepared { session, device: None, disk: None, fresh: None, signatures: None, fill: None };
    let progress = Progress::new(crate::terminal::progress::ProgressForm::Lines);
    let cells = plan::cells(&scenario.run, &machine);
    test(&Sampling::new(&prepared, &scenario.run, &cells, machine, &progress));
}

#[test]
fn a_failure_in_a_late_round_ends_the_run_and_loses_no_sample() {
    with_sampling(|sampling| {
        // The last one of the third round.
        let mut sample = 0;
        let sampled = sampling.run(|_| {
            sample += 1;
            if sample == 9 { Err(anyhow::anyhow!("no space")) } else { Ok(()) }
        });
        assert_eq!((sample, sampled.agree()), (9, Some(true)));
        assert_eq!(sampled.failure.as_ref().unwrap().to_string(), "no space");
        let cells = sampling.cells(&sampled);
        assert_eq!(cells.iter().map(|cell| cell.samples.len()).collect::<Vec<_>>(), [3, 3, 3]);
        let keys = cells.iter().map(|cell| cell.samples[0].unique_keys).collect::<Vec<_>>();
        assert!(keys[0] > 0 && keys.iter().all(|count| *count == keys[0]), "{keys:?}");
        // One of transactions and one of reads for each cell.
        assert_eq!(sampling.logs(&sampled).len(), 6);
    });
}

#[test]
fn what_is_done_after_a_sample_is_not_of_the_budget() {
    with_sampling(|sampling| {
        let (begun, pause) = (Instant::now(), Duration::from_millis(20));
        let mut paused = Duration::ZERO;
        let sampled = sampling.run(|_| {
            std::thread::sleep(pause);
            paused += pause;
            Ok(())
        });
        let all = begun.elapsed();
        assert!(paused == 15 * pause && !sampled.spent.is_zero());
        assert!(sampled.spent + paused <= all, "{:?} of {all:?}", sampled.spent);
    });
}
