//! The cells of a run.

use std::time::Duration;

use executor::store::rocksdb::IoUring;
use result::stats::INTERVAL_COUNT_MIN;
use variant::{BlockDuties, RootTime};

use super::*;

mod rounds;
mod shards;

fn run(extra: &str) -> RunSpec {
    let text = format!(
        "schema = 1\nname = \"t\"\ndescription = \"t\"\n[state]\nslots = 1000\n[block]\n\
         gas = \"1M\"\n[[load]]\nkind = \"sload-storm\"\nkeys = \"keccak\"\n[run]\n{extra}"
    );
    spec::Scenario::parse("t.toml", &text, &[]).unwrap().run
}

fn machine(io_uring: IoUring) -> Machine {
    Machine { core_count: NonZeroUsize::new(2).unwrap(), io_uring }
}

fn names_on(machine: &Machine, extra: &str) -> Vec<String> {
    cells(&run(extra), machine).iter().map(|cell| cell.variant.to_string()).collect()
}

fn names(extra: &str) -> Vec<String> {
    names_on(&machine(IoUring::Refused), extra)
}

#[test]
fn readers_that_read_together_are_fewer() {
    let machine = machine(IoUring::Available);
    let batched = |extra: &str| names_on(&machine, &format!("designs = [\"batched-io\"]\n{extra}"));
    let together = ["batched-io/bal+batched@2+2io", "batched-io/bal+batched@2+8io"];
    assert_eq!(batched(""), together);
    assert_eq!(batched("read = \"multi-get\""), together);
    let one_by_one = ["batched-io/bal+batched@2+16io", "batched-io/bal+batched@2+64io"];
    assert_eq!(batched("read = \"get\""), one_by_one);
}

#[test]
fn what_is_chosen_is_told_and_what_the_user_says_is_not() {
    let choices = |io_uring, extra: &str| machine(io_uring).choices(&run(extra));
    let together = choices(IoUring::Available, "");
    assert!(together[0].contains("read = multi-get") && together[1].contains("[2, 8]"));
    let one_by_one = choices(IoUring::Refused, "");
    assert!(one_by_one[0].contains("read = get") && one_by_one[1].contains("[16, 64]"));
    for said in ["read = \"get\"\nio_threads = [3]", "stores = [\"memory\"]"] {
        assert!(choices(IoUring::Available, said).is_empty(), "{said}");
    }
}

#[test]
fn ways_of_roots_are_crossed() {
    let listed = names(
        "designs = [\"sequential\"]\ntrie = \"cut\"\nroot = \"after\"\nroot_shards = [1, 16]\n\
         root_cache = [\"cold\", \"warm\"]",
    );
    let expected = ["", "-warm", "-16-shards", "-16-shards-warm"];
    let expected = expected.map(|way| format!("none/sequential+on-demand+root-after{way}@1"));
    assert_eq!(listed, expected);
}

#[test]
fn whole_blocks_stand_beside_execution_alone_unless_it_is_left_out() {
    let whole = "none/sequential+on-demand+root-after+whole@1";
    let alone = "none/sequential+on-demand@1";
    let of = |extra: &str| names(&format!("designs = [\"sequential\"]\nwhole = \"all\"\n{extra}"));
    assert_eq!(of(""), [whole, alone]);
    assert_eq!(of("execution_alone = false"), [whole]);
    let some =
        names("designs = [\"sequential\"]\nduties = \"recover\"\ntrie = \"cut\"\nroot = \"after\"");
    assert_eq!(some[0], whole.replace("whole", "block-decode+recover"));
}

/// A cell without root and duties: the row of execution alone.
fn alone(cell: &PlannedCell) -> PlannedCell {
    let variant = Variant { root: RootWay::NONE, block_duties: BlockDuties::NONE, ..cell.variant };
    PlannedCell { variant, ..*cell }
}

#[test]
fn one_whole_row_of_each_design_stands_before_the_rows_of_execution_alone() {
    for machine in [machine(IoUring::Available), machine(IoUring::Refused)] {
        for extra in [
            "",
            "stores = [\"rocksdb\", \"flat\", \"memory\", \"mdbx\"]",
            "designs = [\"prewarm\", \"block-stm\", \"full\", \"bare-revm\", \"sequential\"]",
            "cache = \"warm\"",
            "threads = [4, 1]\nio_threads = [8, 2]",
            "list = [\"none\", \"build\"]",
            "fibers = [1, 32]\nstores = [\"flat\"]",
            "prefetch = [\"before\", \"while\"]\nschedule = [\"gas-limit\", \"block-order\"]",
        ] {
            let before = run(extra);
            let rows = cells(&before, &machine);
            let all = cells(&before.clone().with_whole_rows(), &machine);
            let (whole, others): (Vec<_>, Vec<_>) =
                all.iter().copied().partition(|cell| !cell.variant.block_duties.is_none());
            assert_eq!(others, rows, "{extra}: rows of execution alone are those of before");
            let of = |cell: &PlannedCell| (cell.store, cell.variant.design);
            let mut groups: Vec<_> = rows.iter().map(of).collect();
            groups.dedup();
            assert_eq!(whole.iter().map(of).collect::<Vec<_>>(), groups, "{extra}: one each");
            for &cell in &whole {
                assert_eq!(cell.variant.block_duties, BlockDuties::all());
                assert_eq!(cell.variant.root, RootWay::at(RootTime::After));
                assert!(rows.contains(&alone(&cell)), "{extra}: beside its own row");
                let first = all.iter().find(|other| of(other) == of(&cell));
                assert_eq!(first, Some(&cell), "{extra}: on top");
            }
            let without = RunSpec { execution_alone: false, ..before.with_whole_rows() };
            assert_eq!(cells(&without, &machine), whole, "{extra}: these alone");
        }
    }
}

#[test]
fn the_whole_row_is_the_deepest_and_roots_that_are_said_stay_those_of_all_rows() {
    let of = |extra: &str| {
        let run = run(extra).with_whole_rows();
        let cells = cells(&run, &machine(IoUring::Refused));
        let names: Vec<String> = cells.iter().map(|cell| cell.variant.to_string()).collect();
        names
    };
    let whole = |names: Vec<String>| -> Vec<String> {
        names.into_iter().filter(|name| name.contains("+whole@")).collect()
    };
    let expected = [
        "none/sequential+on-demand+root-after+whole@1",
        "parallel-io/bal+on-demand+root-after+whole@64",
        "batched-io/bal+batched+root-after+whole@2+64io",
    ];
    assert_eq!(whole(of("")), expected);
    let built = of("designs = [\"sequential\"]\nlist = [\"none\", \"build\"]");
    assert_eq!(whole(built), ["build/sequential+on-demand+root-after+whole@1"]);
    let sharded = whole(of("designs = [\"batched-io\"]\nshards = [1, 2]\nthreads = [1, 2]"));
    assert_eq!(sharded, ["batched-io/bal+on-demand+root-after+whole@2+2shards"]);
    let rooted = of("designs = [\"sequential\"]\ntrie = \"cut\"\nroot = \"pipelined\"");
    let expected = [
        "none/sequential+on-demand+root-pipelined+whole@1",
        "none/sequential+on-demand+root-pipelined@1",
    ];
    assert_eq!(rooted, expected);
}

/// The main job on two of our machines and on a faster one.
#[test]
fn the_main_job_with_whole_rows_ends_in_three_minutes_with_intervals_of_whole_blocks() {
    // Seconds of a sample alone with the work around its clock, by row; and whole rows with an interval.
    for (in_order, on_demand, most_on_demand, two_readers, batched, whole_count) in
        [(27, 17, 7, 6, 6, 1), (15, 13, 7, 7, 6, 2), (12, 10, 4, 4, 3, 3)]
    {
        let run = run("").with_whole_rows();
        let planned = cells(&run, &machine(IoUring::Available));
        let seconds = |cell: &PlannedCell| {
            let Variant { design, thread_count, io_thread_count, block_duties, .. } = cell.variant;
            let alone = match (design, thread_count, io_thread_count) {
                (Design::Sequential, ..) => in_order,
                (Design::ParallelIo, 2, _) => on_demand,
                (Design::ParallelIo, ..) => most_on_demand,
                (_, _, 2) => two_readers,
                _ => batched,
            };
            alone + u64::from(!block_duties.is_none())
        };
        let (taken, spent) = all_rounds(&run, &planned, seconds);
        assert!(spent <= 165, "{spent} s");
        let is_whole = |of: &&CellProgress| !of.cell.variant.block_duties.is_none();
        let whole =
            taken.iter().filter(is_whole).filter(|of| of.sample_count >= INTERVAL_COUNT_MIN);
        let designs: Vec<Design> = whole.map(|of| of.cell.variant.design).collect();
        assert_eq!(designs.len(), whole_count, "{taken:?}");
        assert!(designs.contains(&Design::BatchedIo), "the fastest");
    }
}

/// Samples of all rounds of cells that take these seconds each, and the seconds of all.
fn all_rounds(
    run: &RunSpec,
    planned: &[PlannedCell],
    seconds: impl Fn(&PlannedCell) -> u64,
) -> (Vec<CellProgress>, u64) {
    let rounds = Rounds { sample_count: run.sample_count, budget: run.budget };
    let mut taken: Vec<CellProgress> =
        planned.iter().map(|cell| CellProgress::alike(*cell, 0, Duration::ZERO)).collect();
    let (mut done, mut spent) = (0, 0);
    loop {
        let next = rounds.next(done, Duration::from_secs(spent), &taken);
        if next.is_empty() {
            return (taken, spent);
        }
        for index in next {
            let took = seconds(&planned[index]);
            let count = taken[index].sample_count + 1;
            taken[index] = CellProgress::alike(planned[index], count, Duration::from_secs(took));
            spent += took;
        }
        done += 1;
    }
}

#[test]
fn policies_of_reading_ahead_are_crossed_with_threads() {
    let listed = names(
        "designs = [\"parallel-io\", \"batched-io\"]\nthreads = [2]\nio_threads = [4]\n\
         prefetch = [\"before\", \"while\"]\nprefetch_chunk = [32]",
    );
    let expected = [
        "parallel-io/bal+on-demand@2",
        "batched-io/bal+batched.chunk-32@2+4io",
        "batched-io/bal+batched-while.chunk-32@2+4io",
    ];
    assert_eq!(listed, expected);
}

#[test]
fn by_default_each_design_is_tried_at_a_few_depths() {
    let expected = [
        "none/sequential+on-demand@1",
        "parallel-io/bal+on-demand@2",
        "parallel-io/bal+on-demand@64",
        "batched-io/bal+batched@2+16io",
        "batched-io/bal+batched@2+64io",
    ];
    assert_eq!(names(""), expected);
}

#[test]
fn what_the_user_lists_is_crossed_without_doubles() {
    let listed =
        names("designs = [\"sequential\", \"batched-io\"]\nthreads = [1, 4]\nio_threads = [8]");
    let expected = [
        "none/sequential+on-demand@1",
        "batched-io/bal+batched@1+8io",
        "batched-io/bal+batched@4+8io",
    ];
    assert_eq!(listed, expected);
}

#[test]
fn schedules_are_crossed_with_the_engine_that_can_follow_them() {
    let listed = names(
        "designs = [\"sequential\", \"parallel-io\"]\nthreads = [4]\n\
         schedule = [\"block-order\", \"gas-limit\", \"list-entries\", \"known-cost\"]",
    );
    let expected = [
        "none/sequential+on-demand@1",
        "parallel-io/bal+on-demand@4",
        "parallel-io/bal+on-demand+gas-limit@4",
        "parallel-io/bal+on-demand+list-entries@4",
        "parallel-io/bal+on-demand+known-cost@4",
    ];
    assert_eq!(listed, expected);
}

#[test]
fn the_memory_store_reads_as_it_is_told_and_by_itself_where_nothing_is_said() {
    let of = |extra: &str| {
        let run = "stores = [\"memory\"]\ndesigns = [\"batched-io\"]\nthreads = [2]\n";
        names(&format!("{run}{extra}"))
    };
    assert_eq!(of(""), ["batched-io/bal+batched@2"]);
    assert_eq!(of("prefetch = \"while\""), ["batched-io/bal+batched-while@2+1io"]);
    assert_eq!(of("io_threads = [3]"), ["batched-io/bal+batched@2+3io"]);
    let both = of("prefetch = \"while\"\nio_threads = [3]");
    assert_eq!(both, ["batched-io/bal+batched-while@2+3io"]);
    assert!(names("prefetch = \"while\"").iter().any(|name| name.contains("batched-while@2+16io")));
}

#[test]
fn readers_that_keep_many_reads_in_flight_are_few() {
    let names = names("stores = [\"flat\", \"mdbx\"]\ndesigns = [\"batched-io\"]");
    let expected = ["+2io", "+8io", "+16io", "+64io"];
    let expected = expected.map(|readers| format!("batched-io/bal+batched@2{readers}"));
    assert_eq!(names, expected);
}

#[test]
fn full_has_readers_that_verify_and_prewarm_the_cache_that_was_asked_for() {
    let of = |extra: &str| names(&format!("designs = [\"full\", \"prewarm\"]\n{extra}"));
    let expected = [
        "full/bal+from-list@2+16io",
        "full/bal+from-list@2+64io",
        "none/prewarm-shared-while+on-demand@2",
        "none/prewarm-shared-while+on-demand@64",
    ];
    assert_eq!(of(""), expected);
    let own = of("warm_cache = \"per-worker\"\nthreads = [4]\nio_threads = [8]");
    let expected = ["full/bal+from-list@4+8io", "none/prewarm-per-worker-while+on-demand@4"];
    assert_eq!(own, expected);
    let times = "prefetch = [\"before\", \"while\"]";
    let both = names(&format!("designs = [\"prewarm\"]\n{times}\nthreads = [4]"));
    let expected = ["none/prewarm-shared+on-demand@4", "none/prewarm-shared-while+on-demand@4"];
    assert_eq!(both, expected);
}

#[test]
fn where_the_cpu_decides_designs_are_tried_on_one_thread_too() {
    let designs = "designs = [\"sequential\", \"batched-io\", \"parallel-io\"]\nio_threads = [4]";
    let of = |rest: &str| names(&format!("{designs}\n{rest}"));
    let expected = [
        "none/sequential+on-demand@1",
        "batched-io/bal+batched@1+4io",
        "batched-io/bal+batched@2+4io",
        "parallel-io/bal+on-demand@1",
        "parallel-io/bal+on-demand@2",
    ];
    assert_eq!(of("cache = \"warm\""), expected);
    assert_eq!(of("stores = [\"memory\"]"), expected);
    // Cold, one thread would measure its reads; and the user's counts are the user's.
    for rest in ["", "cache = \"warm\"\nthreads = [2]"] {
        assert!(!of(rest).iter().any(|name| name.contains("/bal+batched@1")), "{rest}");
    }
}

#[test]
fn who_runs_in_order_builds_a_list_where_that_is_asked_for() {
    let of = |list: &str| {
        let designs =
            "designs = [\"sequential\", \"prewarm\", \"block-stm\", \"bare-revm\"]\nthreads = [2]";
        names(&format!("{designs}\nlist = {list}"))
    };
    let expected = [
        "build/sequential+on-demand@1",
        "build/prewarm-shared-while+on-demand@2",
        "none/block-stm+on-demand@2",
        "none/bare-revm+on-demand@1",
    ];
    assert_eq!(of("\"build\""), expected);
    let both = of("[\"none\", \"build\"]");
    assert_eq!(both.len(), 6);
    assert_eq!(both[..2], ["none/sequential+on-demand@1", "build/sequential+on-demand@1"]);
}
