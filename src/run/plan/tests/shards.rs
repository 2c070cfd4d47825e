//! The cells of designs on shards.

use super::names;

#[test]
fn shards_execute_two_designs_in_each_way_that_is_said() {
    let of = |extra: &str| names(&format!("stores = [\"memory\"]\nthreads = [2]\n{extra}"));
    let expected = [
        "none/sequential+on-demand@1",
        "parallel-io/bal+on-demand@2",
        "batched-io/bal+on-demand@2+1shards",
        "batched-io/bal+on-demand@2+2shards",
    ];
    assert_eq!(of("shards = [1, 2]"), expected);
    let ways = of("designs = [\"batched-io\"]\nshards = [2]\nshard_delay_us = [0, 5_000]\n\
        schedule = [\"gas-limit\", \"block-order\"]\nio_threads = [4, 8]");
    let expected =
        ["batched-io/bal+on-demand@2+2shards", "batched-io/bal+on-demand@2+2shards-5000us"];
    assert_eq!(ways, expected, "readers and schedules are not theirs");
    let optimistic = of("designs = [\"sequential\", \"block-stm\"]\nshards = [2, 4]");
    let expected = [
        "none/sequential+on-demand@1",
        "none/block-stm+on-demand@2+2shards",
        "none/block-stm+on-demand@2+4shards",
    ];
    assert_eq!(optimistic, expected);
}
