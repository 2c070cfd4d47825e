//! The table of all shipped scenarios in Markdown, for `docs/workloads.md`. Below it each scenario
//! has a paragraph on its effect on a client, from the head of its file.

use super::units;

/// A row of the table: one shipped scenario.
#[derive(Clone, Debug)]
pub struct ScenarioRow {
    /// Name of the scenario.
    pub scenario: String,
    /// The kinds of its loads.
    pub kinds: Vec<String>,
    /// Noun for an operation: a key where transactions spend all of their gas, otherwise a
    /// transaction.
    pub operation: &'static str,
    /// Gas of one operation.
    pub operation_gas: f64,
    /// Operations in 2^24 gas, the most that a transaction may have (EIP-7825).
    pub operations_per_tx_cap: f64,
    /// Bytes of the EIP-7928 list for each million gas.
    pub list_bytes_per_mgas: f64,
    /// Throughput of execution in order.
    pub in_order_mgas_per_s: Option<f64>,
    /// The fastest variant, and its throughput in MGas/s.
    pub best: Option<(String, f64)>,
    /// The scenario's effect on a client.
    pub about: String,
}

const HEAD: &str = "\
| scenario | load | operation | gas each | in 2^24 gas | list B/MGas | MGas/s in order | MGas/s at best | by |
|---|---|---|---|---|---|---|---|---|
";

/// The table, then a paragraph for each row.
pub fn scenario_table(rows: &[ScenarioRow]) -> String {
    let mut out = HEAD.to_owned();
    for row in rows {
        let best = row.best.as_ref();
        out.push_str(&format!(
            "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            row.scenario,
            row.kinds.join(", "),
            row.operation,
            units::plain(row.operation_gas),
            units::plain(row.operations_per_tx_cap),
            units::plain(row.list_bytes_per_mgas),
            units::or_unknown(row.in_order_mgas_per_s.map(units::number)),
            units::or_unknown(best.map(|(_, rate)| units::number(*rate))),
            units::or_unknown(best.map(|(name, _)| format!("`{name}`"))),
        ));
    }
    for row in rows {
        out.push_str(&format!("\n**`{}`.** {}\n", row.scenario, row.about));
    }
    out
}
