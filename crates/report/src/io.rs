//! The page of `stress doctor io`: the device and the stores, depth by depth.

use result::{
    HOST_CACHE_RATIO, Percentiles,
    io::{DevicePoint, IoDevice, IoPoint, IoResult, IoStore},
};

use super::{
    Paint,
    columns::{self, Column, table},
    facts,
    head::{ceiling_words, store_words},
    page::{INDENT, Page, Tone},
    units,
};

/// A ceiling that changed by more than this share makes ratios to it doubtful.
const DRIFT_MAX: f64 = 0.1;

/// Text after `cold, proved` where a second pass over the same blocks was much faster, so that a
/// cache below this machine has them.
const ONLY_HERE: &str = " in this machine only (host cache seen)";

/// The result as a page of `width` columns (at least 24), each line ended by a newline.
pub fn io_table(result: &IoResult, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    if result.interrupted {
        page.line(Tone::Warning, "INTERRUPTED before its plan ended: finished points are shown");
        page.gap();
    }
    let state = &result.state;
    let text = format!(
        "{} reads of {}, {} keys of {}, values of {}; {} present; seed {}; {} s a point",
        result.read,
        units::things(state.rows, "row"),
        state.key_layout,
        units::bytes(state.key_bytes),
        units::bytes(state.value_bytes),
        units::percent(state.present_share) + " %",
        result.seed,
        units::plain(result.seconds),
    );
    page.labelled(Tone::Plain, "raw", &text);
    for store in &result.stores {
        let name = store.store.name();
        page.labelled(Tone::Plain, name, &store_words(name, &store.facts));
        device_words(&mut page, store.device.as_ref());
        page.labelled(Tone::Plain, "cache", &cache_words(store));
        page.gap();
        points(&mut page, store);
        page.gap();
    }
    page.each(Tone::Warning, "warning", &result.warnings);
    let found = conclusion(result).unwrap_or_else(|| "nothing was measured".to_owned());
    page.labelled(Tone::Strong, "found", &found);
    page.gap();
    let text =
        "--read multi-get --threads 1,2; --keys absent; --set run.rocksdb.block=8KiB; --out DIR";
    page.labelled(Tone::Faint, "deeper", text);
    page.render(paint)
}

fn device_words(page: &mut Page, device: Option<&IoDevice>) {
    let Some(device) = device else { return };
    let ceiling =
        device.ceiling_iops.map(|iops| ceiling_words(iops, device.ceiling_method.as_ref()));
    let ends = device.ceiling_start_iops.zip(device.ceiling_end_iops).map(|(start, end)| {
        format!("{} before and {} after", units::number(start), units::number(end))
    });
    let ratio = device.host_cache_ratio.map(units::ratio);
    let again = ratio.map(|ratio| format!("second pass {ratio} times as fast"));
    let parts = [ceiling, ends, again, device.reason.clone()];
    page.labelled(Tone::Plain, "disk", &units::joined(parts.into_iter().flatten(), ", "));
    if device.ceiling_drift.is_some_and(|drift| (drift - 1.0).abs() > DRIFT_MAX) {
        let text = "the disk's ceiling changed by more than 10 % meanwhile: ratios to it are \
                    rough; run again when nothing else uses it";
        page.labelled(Tone::Warning, "warning", text);
    }
}

fn cache_words(store: &IoStore) -> String {
    let mut caches = store.points.iter().map(|point| &point.cache);
    let unproved = caches.clone().find(|cache| cache.proved != Some(true));
    match (unproved, caches.next()) {
        (None, None) => "nothing was read".to_owned(),
        (None, Some(cache)) => {
            let ratio = store.device.as_ref().and_then(|device| device.host_cache_ratio);
            let seen = ratio.is_some_and(|ratio| ratio > HOST_CACHE_RATIO);
            let (note, reason) = (if seen { ONLY_HERE } else { "" }, &cache.reason);
            format!("cold, proved{note}: {reason}")
        }
        (Some(cache), _) => match cache.proved {
            Some(_) => format!("cold was asked for and is NOT proved: {}", cache.reason),
            None if cache.want.is_none() => facts::no_cold_state(cache),
            None => format!("cold is not proved: {}", cache.reason),
        },
    }
}

fn points(page: &mut Page, store: &IoStore) {
    let device = store.device.as_ref().map_or(&[][..], |device| device.sweep.as_slice());
    let lines = Lines { first: device, second: &store.points };
    if lines.first.is_empty() && lines.second.is_empty() {
        return;
    }
    let of_device = lines.first.iter().map(|_| (Tone::Faint, "disk"));
    let of_store = lines.second.iter().map(|_| (Tone::Plain, store.store.name()));
    table(page, &of_device.chain(of_store).collect::<Vec<_>>(), columns(&lines));
    let ceiling = "% of the device's highest rate of single random reads: above 100 where one \
                   request reads neighbouring blocks";
    let mut legend = vec![ceiling.to_owned()];
    if store.points.iter().any(|point| point.latency_of_calls) {
        legend.push("b as long as the call it was made in".to_owned());
    }
    if store.points.iter().any(|point| point.keys_exhausted) {
        legend.push("e ended early: every key was asked for; give more --slots".to_owned());
    }
    if store.points.iter().any(|point| point.earlier_passes > 0) {
        legend.push("r keys of earlier points asked for again; give more --slots".to_owned());
    }
    page.indented(Tone::Faint, INDENT, &legend.join("; "));
}

/// The lines of the table: the device at each depth, then the points of the store.
type Lines<'a> = columns::Lines<'a, DevicePoint, IoPoint>;

/// Depth of a point: threads, and keys of a call where it has several: `2x32`.
fn depth(point: &IoPoint) -> String {
    let threads = units::count(point.threads);
    match point.keys_per_call {
        1 => threads,
        keys => format!("{threads}x{}", units::count(keys)),
    }
}

fn rate(point: &IoPoint) -> String {
    let early = if point.keys_exhausted { "e" } else { "" };
    let again = if point.earlier_passes > 0 { "r" } else { "" };
    format!("{}{early}{again}", units::number(point.gets_per_s))
}

/// Text of the time of a get. It has a `b` where it is the time of a call for several keys.
fn time(point: &IoPoint, ns: Option<u64>) -> Option<String> {
    let mark = if point.latency_of_calls { "b" } else { "" };
    Some(format!("{}{mark}", units::ns(ns?)))
}

/// A percentile of the device's reads, and of gets of keys that exist.
fn latency(
    lines: &Lines<'_>,
    rank: u8,
    name: &'static str,
    of: fn(&Percentiles) -> Option<u64>,
) -> Column {
    lines.both(
        rank,
        ["", name],
        |at| of(&at.latency_ns).map(units::ns),
        |at| time(at, of(&at.present_latency_ns)),
    )
}

fn columns(lines: &Lines<'_>) -> Vec<Column> {
    use units::{count, finite, ns, number, percent, ratio, time_ns};
    vec![
        lines.both(0, ["", "depth"], |at| Some(count(at.depth)), |at| Some(depth(at))),
        lines.both(0, ["gets", "a second"], |at| Some(number(at.iops)), |at| Some(rate(at))),
        lines.second(0, ["% of", "ceiling"], |at| finite(at.ceiling_ratio, percent)),
        latency(lines, 2, "p50", |of| of.p50),
        latency(lines, 11, "p90", |of| of.p90),
        latency(lines, 3, "p99", |of| of.p99),
        latency(lines, 12, "max", |of| of.max),
        lines.second(4, ["absent", "p50"], |at| time(at, at.absent_latency_ns.p50)),
        lines.second(5, ["absent", "p99"], |at| time(at, at.absent_latency_ns.p99)),
        lines.both(
            6,
            ["CPU", "a get"],
            |at| at.cpu_ns_per_read.map(ns),
            |at| finite(at.cpu_ns_per_get, time_ns),
        ),
        lines.second(7, ["blocks", "a get"], |at| finite(at.blocks_per_get, ratio)),
        lines.second(10, ["disk bytes", "a get"], |at| finite(at.device_bytes_per_get, number)),
    ]
}

/// The fastest point of each store, in one line; `None` without points.
fn conclusion(result: &IoResult) -> Option<String> {
    let best = result.stores.iter().filter_map(|store| {
        let point = store.points.iter().max_by(|a, b| a.gets_per_s.total_cmp(&b.gets_per_s))?;
        let ratio = point.ceiling_ratio.filter(|ratio| ratio.is_finite());
        let of_ceiling = ratio.map(|ratio| format!(", {} % of the ceiling", units::percent(ratio)));
        Some(format!(
            "{} reads at most {} keys a second, at depth {}{}",
            store.store,
            units::number(point.gets_per_s),
            units::count(point.depth),
            of_ceiling.unwrap_or_default()
        ))
    });
    units::any_joined(best, "; ")
}

#[cfg(test)]
mod tests;
