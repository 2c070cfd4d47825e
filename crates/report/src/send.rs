//! The page of `stress send`: the fates of the transactions, their times, and the blocks that have
//! them.

use result::{
    Percentiles,
    send::{SendBlock, SendCounts, SendErrors, SendResult},
};

use super::{
    Paint,
    columns::{Column, plain, table},
    page::{INDENT, Page, Tone},
    units::{self, UNKNOWN},
};

const SHOWN_BLOCK_COUNT: usize = 12;

/// The result as a page of `width` columns (at least 24), each line ended by a newline.
pub fn send_table(result: &SendResult, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    if result.interrupted {
        let text = "INTERRUPTED before its plan ended: finished transactions are shown";
        page.line(Tone::Warning, text);
        page.gap();
    }
    head(&mut page, result);
    page.gap();
    let counts = &result.counts;
    let is_whole = counts.included_count == counts.planned_count;
    page.labelled(if is_whole { Tone::Plain } else { Tone::Alarm }, "sent", &count_words(counts));
    speed(&mut page, result);
    page.gap();
    latencies(&mut page, result);
    page.gap();
    blocks(&mut page, &result.blocks);
    page.gap();
    troubles(&mut page, result);
    page.each(Tone::Warning, "warning", &result.warnings);
    page.gap();
    page.labelled(if is_whole { Tone::Strong } else { Tone::Alarm }, "found", &conclusion(result));
    page.render(paint)
}

fn head(page: &mut Page, result: &SendResult) {
    let work = &result.work;
    let text = format!(
        "{}: {} from {}, {}; rules of {}, seed {}",
        work.scenario,
        units::things(result.counts.planned_count, "transaction"),
        units::things(work.sender_count, "account"),
        units::things(work.contract_count, "contract"),
        work.fork,
        work.seed,
    );
    page.labelled(Tone::Plain, "load", &text);
    let node = &result.node;
    let version = node.version.as_deref().unwrap_or("a node that does not tell its version");
    let text = format!("{version}, chain {}, at {} ({})", node.chain_id, node.url, node.transport);
    page.labelled(Tone::Plain, "node", &text);
    page.labelled(Tone::Plain, "pace", &pace_words(result));
    let setup = &result.setup;
    let text = format!(
        "{} paid, {} kept, {} created by {} in {}",
        units::things(setup.funded_count, "account"),
        units::count(setup.reused_count),
        units::things(setup.contract_count, "contract"),
        units::things(setup.tx_count, "transaction"),
        units::ns(setup.time_ns),
    );
    page.labelled(Tone::Plain, "setup", &text);
}

fn pace_words(result: &SendResult) -> String {
    let value = result.pace_value;
    match result.pace.as_str() {
        "rate" => format!("{value} a second, planned ahead (open loop)"),
        "in-flight" => format!("at most {value} that are sent and in no block (closed loop)"),
        _ => format!("about {value} in the node's pool"),
    }
}

fn count_words(counts: &SendCounts) -> String {
    let mut parts = vec![format!(
        "{} of {}: {} included",
        units::count(counts.sent_count),
        units::things(counts.planned_count, "transaction"),
        units::count(counts.included_count)
    )];
    parts.extend(other_fates(counts));
    parts.join(", ")
}

/// Counts of the planned transactions that did not succeed in a block, by their fate.
fn other_fates(counts: &SendCounts) -> Vec<String> {
    counted(&[
        (counts.reverted_count, "reverted"),
        (counts.pending_count, "in no block"),
        (counts.failed_count, "refused"),
        (counts.unsent_count, "never sent"),
    ])
}

/// Counts above zero with their words: `3 reverted`.
fn counted(all: &[(u64, &str)]) -> Vec<String> {
    let some = all.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, word)| format!("{} {word}", units::count(*count))).collect()
}

fn speed(page: &mut Page, result: &SendResult) {
    let [included, gas, sent] = [result.included_per_s, result.gas_per_s, result.sent_per_s]
        .map(|rate| units::or_unknown(rate.map(units::number)));
    let text = format!(
        "{included} transactions a second included, {gas} gas a second; {sent} a second handed over, in {}",
        units::ns(result.sending_ns),
    );
    page.labelled(Tone::Plain, "speed", &text);
}

fn latencies(page: &mut Page, result: &SendResult) {
    let latency = &result.latency;
    let rows: [(&str, Percentiles); 4] = [
        ("due to handed over", latency.delay_ns),
        ("due to taken by the node", latency.acceptance_ns),
        ("due to seen in a block", latency.inclusion_ns),
        ("a call", latency.call_ns),
    ];
    let columns = vec![
        Column::ranked(0, ["", "p50"], &rows, |(_, times)| times.p50.map(units::ns)),
        Column::ranked(2, ["", "p90"], &rows, |(_, times)| times.p90.map(units::ns)),
        Column::ranked(1, ["", "p99"], &rows, |(_, times)| times.p99.map(units::ns)),
        Column::ranked(3, ["", "max"], &rows, |(_, times)| times.max.map(units::ns)),
    ];
    table(page, &plain(&rows.map(|(label, _)| label)), columns);
}

fn blocks(page: &mut Page, all: &[SendBlock]) {
    let own: Vec<&SendBlock> = all.iter().filter(|block| block.own_tx_count > 0).collect();
    if own.is_empty() {
        return;
    }
    let shown = &own[..own.len().min(SHOWN_BLOCK_COUNT)];
    let labels: Vec<String> = shown.iter().map(|block| format!("block {}", block.number)).collect();
    let columns = vec![
        Column::ranked(1, ["", "seen after"], shown, |block| units::ns(block.seen_ns)),
        Column::ranked(0, ["of the", "load"], shown, |block| units::count(block.own_tx_count)),
        Column::ranked(0, ["", "gas"], shown, |block| units::number(block.gas as f64)),
        Column::ranked(2, ["% of", "limit"], shown, |block| {
            units::percent(block.gas as f64 / block.limit_gas.max(1) as f64)
        }),
        Column::ranked(3, ["base fee", "gwei"], shown, |block| {
            Some(units::plain(block.base_fee_wei? as f64 / 1e9))
        }),
    ];
    table(page, &plain(&labels), columns);
    if let Some(more) = units::beyond(own.len(), SHOWN_BLOCK_COUNT) {
        let more = units::things(more, "block");
        page.indented(Tone::Faint, INDENT, &format!("and {more} more: --format json"));
    }
}

fn troubles(page: &mut Page, result: &SendResult) {
    let depths = result.pool.iter().map(|at| at.pending_count.saturating_add(at.queued_count));
    let deepest = depths.max().map(|depth| units::things(depth, "transaction") + " at most");
    page.each(Tone::Plain, "pool", deepest);
    let attempts = &result.attempts;
    let parts = counted(&[
        (attempts.retry_count, "calls repeated with the same bytes"),
        (attempts.known_count, "known to the node already"),
        (attempts.resent_count, "sent again because the node had forgotten them"),
        (attempts.signed_anew_count, "signed anew"),
        (attempts.nonce_corrected_count, "nonces corrected from the node"),
        (attempts.twice_count, "IN BLOCKS TWICE"),
    ]);
    page.each(Tone::Plain, "again", units::any_joined(parts, ", "));
    let of_sending = result.errors.iter().map(|errors| ("sending", errors));
    let of_reading = result.read_errors.iter().map(|errors| ("reading blocks", errors));
    let errors = of_sending.chain(of_reading).map(|(doing, SendErrors { kind, count, first })| {
        format!("{} {kind} while {doing}; the first: {first}", units::count(*count))
    });
    page.each(Tone::Warning, "errors", errors);
    let reorgs = &result.reorgs;
    if reorgs.count > 0 {
        let text = format!(
            "{} removed {} and undid {}",
            units::things(reorgs.count, "reorganisation"),
            units::things(reorgs.removed_block_count, "block"),
            units::things(reorgs.undone_count, "inclusion"),
        );
        page.labelled(Tone::Warning, "reorgs", &text);
    }
    if let Some(profile) = &result.profile {
        let text = match (&profile.file, &profile.reason) {
            (Some(file), _) => format!("{file}, from {}", profile.url),
            (None, reason) => {
                format!("none from {}: {}", profile.url, reason.as_deref().unwrap_or(UNKNOWN))
            }
        };
        page.labelled(Tone::Plain, "profile", &text);
    }
}

/// The finding in one sentence.
pub(crate) fn conclusion(result: &SendResult) -> String {
    let counts = &result.counts;
    if counts.included_count == counts.planned_count {
        let inclusion = &result.latency.inclusion_ns;
        let after = match (inclusion.p50, inclusion.max) {
            (Some(p50), _) => format!(", half of them within {}", units::ns(p50)),
            (None, Some(max)) => format!(", all within {}", units::ns(max)),
            (None, None) => String::new(),
        };
        return format!(
            "all {} are in blocks{after}",
            units::things(counts.planned_count, "transaction")
        );
    }
    let missing = units::count(counts.planned_count.saturating_sub(counts.included_count));
    let planned = units::things(counts.planned_count, "transaction");
    format!("{missing} of {planned} did not succeed: {}", other_fates(counts).join(", "))
}

#[cfg(test)]
mod tests;
