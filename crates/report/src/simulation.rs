//! The page of `stress shard simulate`: predicted times by number of shards, the costs behind them,
//! and the comparison with measured rows.

use result::simulation::{CheckedRow, SimulatedRow, Simulation, SimulationCosts};
use variant::Sharding;

use super::{
    Paint,
    columns::{Column, plain, table},
    page::{Page, Tone},
    units::{self, ns},
};

/// The simulation as a page of `width` columns (at least 24), each line ended by a newline.
pub fn simulation(simulation: &Simulation, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    let work = &simulation.workload;
    let text = format!(
        "{}: {} in {}; values come from memory, and no device is in the times",
        work.scenario,
        units::things(work.tx_count, "transaction"),
        units::things(work.batch_count, "batch")
    );
    page.labelled(Tone::Plain, "work", &text);
    page.labelled(Tone::Plain, "costs", &costs(&simulation.costs));
    page.each(Tone::Faint, "assumed", &simulation.assumptions);
    page.gap();
    predictions(&mut page, &simulation.rows);
    if !simulation.checks.is_empty() {
        page.gap();
        checks(&mut page, &simulation.checks);
    }
    page.gap();
    page.labelled(Tone::Strong, "found", &found(simulation));
    page.render(paint)
}

fn costs(of: &SimulationCosts) -> String {
    // Time of all steps without shards over their time on one shard.
    let alone_share =
        if of.steps_ns == 0 { 1.0 } else { of.alone_steps_ns as f64 / of.steps_ns as f64 };
    let tx = match of.given_tx_ns {
        Some(given) => format!("{} a transaction, as given", ns(given)),
        None => format!(
            "{} a transaction, at most {}; without shards ({}) {}",
            units::time_ns(of.tx_ns.mean),
            ns(of.tx_ns.max),
            of.step_variant,
            units::time_ns(of.tx_ns.mean * alone_share),
        ),
    };
    format!(
        "{tx}; of one shard ({}): at the coordinator {} for a message, {} for a result and {} for a value, at the shard \
         {}, {} and {}, {} until a shard is ready, {} for decoding, {} for join and commit; {}",
        of.shard_variant,
        ns(of.message_ns),
        ns(of.result_ns),
        ns(of.value_ns),
        ns(of.shard_message_ns),
        ns(of.shard_result_ns),
        ns(of.shard_value_ns),
        ns(of.start_ns),
        ns(of.decode_ns),
        ns(of.after_ns),
        units::things(of.sample_count, "sample"),
    )
}

/// Name of a prediction: `@2+30shards-fanout-500us list` with two threads a shard.
fn name(row: &SimulatedRow) -> String {
    let way = &row.sharding;
    let sharding = Sharding {
        count: row.shard_count as usize,
        partitioner: way.partitioner,
        partition_time: way.partition_time,
        micro_batch_key_count: u32::try_from(way.micro_batch_key_count).unwrap_or(u32::MAX),
        delay_us: u32::try_from(way.delay_ns / 1_000).unwrap_or(u32::MAX),
    };
    let knowledge = if row.has_list { "list" } else { "no list" };
    format!("@{}+{sharding} {knowledge}", row.thread_count)
}

fn predictions(page: &mut Page, rows: &[SimulatedRow]) {
    let columns = vec![
        Column::ranked(0, ["", "time"], rows, |of| ns(of.time_ns)),
        Column::ranked(0, ["", "tx/s"], rows, |of| units::number(of.tx_per_s)),
        Column::ranked(0, ["times", "1 shard"], rows, |of| of.speedup.map(units::ratio)),
        Column::ranked(0, ["", "bound"], rows, |of| of.bound.name().to_owned()),
        Column::ranked(0, ["% of", "time"], rows, |of| units::percent(of.bound_share)),
        Column::ranked(2, ["% over", "mean"], rows, |of| units::percent(of.imbalance)),
        Column::ranked(3, ["", "chain"], rows, |of| ns(of.chain_ns)),
        Column::ranked(4, ["keys", "demand"], rows, |of| units::count(of.demand_request_count)),
        Column::ranked(5, ["shard", "messages"], rows, |of| units::count(of.shard_message_count)),
    ];
    let names: Vec<String> = rows.iter().map(name).collect();
    table(page, &plain(&names), columns);
}

fn checks(page: &mut Page, rows: &[CheckedRow]) {
    let text = "predictions for measured rows, with all processes on this host; costs are measured on rows of one \
                shard of one thread without a delay (*)";
    page.labelled(Tone::Plain, "check", text);
    let columns = vec![
        Column::ranked(0, ["", "measured"], rows, |of| ns(of.measured_ns)),
        Column::ranked(0, ["", "predicted"], rows, |of| ns(of.predicted_ns)),
        Column::ranked(0, ["error", "%"], rows, |of| format!("{:+.1}", 100.0 * of.error)),
        Column::ranked(1, ["keys", "measured"], rows, |of| units::count(of.measured_key_count)),
        Column::ranked(2, ["keys", "predicted"], rows, |of| units::count(of.predicted_key_count)),
    ];
    let names = rows.iter().map(|of| match of.is_source {
        true => format!("{}*", of.variant),
        false => of.variant.clone(),
    });
    table(page, &plain(&names.collect::<Vec<_>>()), columns);
}

/// The fastest prediction, then the mean and the largest error of the checks. Rows that costs were
/// measured on are no check.
fn found(simulation: &Simulation) -> String {
    let fastest = simulation.rows.iter().min_by_key(|row| row.time_ns);
    let Some(fastest) = fastest else { return "nothing was asked for".to_owned() };
    let rate = units::number(fastest.tx_per_s);
    let mut text = format!("predicted at most {rate} tx/s: {}", name(fastest));
    let checks = simulation.checks.iter().filter(|row| !row.is_source);
    let errors: Vec<f64> = checks.map(|row| row.error.abs()).collect();
    if !errors.is_empty() {
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let most = errors.iter().copied().fold(0.0, f64::max);
        let count = units::things(errors.len() as u64, "row");
        let (mean, most) = (units::percent(mean), units::percent(most));
        text.push_str(&format!("; mean error of {count} on this host {mean} %, at most {most} %"));
    }
    text
}

#[cfg(test)]
mod tests {
    use result::{
        ShardWayFacts, example,
        simulation::{SCHEMA, SimulatedBound},
    };
    use variant::{PartitionTime, Partitioner};

    use super::*;
    use crate::tests::fits;

    fn row(shard_count: u64, time_ns: u64) -> SimulatedRow {
        SimulatedRow {
            shard_count,
            thread_count: 60,
            sharding: ShardWayFacts {
                partitioner: Partitioner::Fanout,
                partition_time: PartitionTime::Inside,
                micro_batch_key_count: 256,
                delay_ns: 500_000,
            },
            has_list: shard_count > 1,
            time_ns,
            tx_per_s: 1e9 / time_ns as f64,
            speedup: (shard_count > 1).then_some(13.25),
            bound: SimulatedBound::CoordinatorThread,
            bound_share: 0.875,
            partition_ns: 1,
            imbalance: 0.03,
            chain_ns: 2,
            value_wait_ns: 3,
            coordinator_work_ns: 4,
            busiest_thread_work_ns: 5,
            shard_message_work_ns: 11,
            ahead_request_count: 6,
            ahead_key_count: 7,
            demand_request_count: 8,
            result_message_count: 10,
            shard_message_count: 9,
        }
    }

    fn check(is_source: bool, error: f64) -> CheckedRow {
        let variant = "memory/batched-io/bal+on-demand@1+1shards".to_owned();
        CheckedRow { variant, error, is_source, ..CheckedRow::default() }
    }

    fn simulated() -> Simulation {
        let of = example::typical();
        Simulation {
            schema: SCHEMA,
            tool: of.tool,
            workload: of.workload,
            core_count: 2,
            coordinator_core_count: Some(60),
            host_core_count: None,
            costs: SimulationCosts::default(),
            assumptions: vec!["the network has no limit but its delay".to_owned()],
            rows: vec![row(1, 4_000), row(30, 1_000)],
            checks: Vec::new(),
        }
    }

    #[test]
    fn the_page_names_each_setting_its_bound_and_the_fastest() {
        for width in [80, 120] {
            let page = simulation(&simulated(), width, Paint::Plain);
            fits(&page, width);
            let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
            for needed in [
                "@60+1shards-fanout-500us no list",
                "@60+30shards-fanout-500us list",
                "coordinator-thread",
                "13.2",
                "the network has no limit",
                "predicted at most 1.00M tx/s: @60+30shards-fanout-500us list",
            ] {
                assert!(words.contains(needed), "{needed:?} is not in {page}");
            }
            assert!(!words.contains("error"), "{page}");
        }
    }

    #[test]
    fn the_mean_error_leaves_out_rows_that_costs_are_measured_on() {
        let checks = vec![check(true, 0.0), check(false, -0.2), check(false, 0.1)];
        let page = simulation(&Simulation { checks, ..simulated() }, 100, Paint::Plain);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("mean error of 2 rows on this host 15 %, at most 20 %"), "{page}");
        assert!(words.contains("@1+1shards*") && words.contains("-20.0"), "{page}");
    }
}
