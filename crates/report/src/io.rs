//! The page of `stress doctor io`: the device and the stores, depth by depth.

use result::{
    HOST_CACHE_RATIO, Percentiles,
    io::{DevicePoint, IoDevice, IoPoint, IoResult, IoStore},
};

use super::{
    Paint,
    columns::{Column, table},
    facts,
    head::store_words,
    page::{INDENT, Page, Tone},
    units,
};

/// A ceiling that changed by more than this share makes ratios to it doubtful.
const DRIFT_MAX: f64 = 0.1;

/// Said where a second pass over the same blocks was much faster.
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
        page.labelled(
            Tone::Plain,
            store.store.name(),
            &store_words(store.store.name(), &store.facts),
        );
        device_words(&mut page, store.device.as_ref());
        page.labelled(Tone::Plain, "cache", &cache_words(store));
        page.gap();
        points(&mut page, store);
        page.gap();
    }
    for text in &result.warnings {
        page.labelled(Tone::Warning, "warning", text);
    }
    let found = conclude(result).unwrap_or_else(|| "nothing was measured".to_owned());
    page.labelled(Tone::Strong, "found", &found);
    page.gap();
    page.labelled(
        Tone::Faint,
        "deeper",
        "--read multi-get --threads 1,2; --keys absent; --set run.rocksdb.block=8KiB; --out DIR",
    );
    page.render(paint)
}

fn device_words(page: &mut Page, device: Option<&IoDevice>) {
    let Some(device) = device else { return };
    let mut parts = Vec::new();
    let how = device.ceiling_method.as_ref().map(|how| format!(" ({how})")).unwrap_or_default();
    parts.extend(
        device
            .ceiling_iops
            .map(|iops| format!("{} reads/s of 4 KiB at most{how}", units::number(iops))),
    );
    parts.extend(device.ceiling_start_iops.zip(device.ceiling_end_iops).map(|(start, end)| {
        format!("{} before and {} after", units::number(start), units::number(end))
    }));
    parts.extend(
        device
            .host_cache_ratio
            .map(|ratio| format!("second pass {} times as fast", units::ratio(ratio))),
    );
    parts.extend(device.reason.clone());
    page.labelled(Tone::Plain, "disk", &parts.join(", "));
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
    let sweep = store.device.iter().flat_map(|device| &device.sweep).map(device_line);
    let lines: Vec<Line<'_>> = sweep
        .chain(store.points.iter().map(|point| point_line(store.store.name(), point)))
        .collect();
    if lines.is_empty() {
        return;
    }
    let labels: Vec<(Tone, &str)> = lines.iter().map(|line| (line.tone, line.label)).collect();
    table(page, &labels, columns(&lines));
    let ceiling = "% of the most single random reads a second: above 100 where neighbours come in one request";
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

/// A line of the table: the device or a store.
struct Line<'a> {
    label: &'a str,
    tone: Tone,
    depth: String,
    rate: f64,
    marks: String,
    ceiling_ratio: Option<f64>,
    blocks_per_get: Option<f64>,
    device_bytes: Option<f64>,
    present: Percentiles,
    absent: Percentiles,
    of_calls: bool,
    cpu_ns: Option<f64>,
}

fn device_line(point: &DevicePoint) -> Line<'static> {
    Line {
        label: "disk",
        tone: Tone::Faint,
        depth: units::count(point.depth),
        rate: point.iops,
        marks: String::new(),
        ceiling_ratio: None,
        blocks_per_get: None,
        device_bytes: None,
        present: point.latency_ns,
        absent: Percentiles::default(),
        of_calls: false,
        cpu_ns: point.cpu_ns_per_read.map(|ns| ns as f64),
    }
}

fn point_line<'a>(label: &'a str, point: &IoPoint) -> Line<'a> {
    let threads = units::count(point.threads);
    let early = if point.keys_exhausted { "e" } else { "" };
    let again = if point.earlier_passes > 0 { "r" } else { "" };
    Line {
        label,
        tone: Tone::Plain,
        depth: match point.keys_per_call {
            1 => threads,
            keys => format!("{threads}x{}", units::count(keys)),
        },
        rate: point.gets_per_s,
        marks: format!("{early}{again}"),
        ceiling_ratio: point.ceiling_ratio,
        blocks_per_get: point.blocks_per_get,
        device_bytes: point.device_bytes_per_get,
        present: point.present_latency_ns,
        absent: point.absent_latency_ns,
        of_calls: point.latency_of_calls,
        cpu_ns: point.cpu_ns_per_get,
    }
}

impl Line<'_> {
    /// A time, marked where it is that of a whole call.
    fn time(&self, ns: Option<u64>) -> Option<String> {
        let mark = if self.of_calls { "b" } else { "" };
        Some(format!("{}{mark}", units::ns(ns?)))
    }
}

fn columns(lines: &[Line<'_>]) -> Vec<Column> {
    use units::{finite, number, percent, ratio, time_ns};
    vec![
        Column::ranked(0, ["", "depth"], lines, |line| line.depth.clone()),
        Column::ranked(0, ["gets", "a second"], lines, |line| {
            format!("{}{}", number(line.rate), line.marks)
        }),
        Column::ranked(0, ["% of", "ceiling"], lines, |line| finite(line.ceiling_ratio, percent)),
        Column::ranked(2, ["", "p50"], lines, |line| line.time(line.present.p50)),
        Column::ranked(11, ["", "p90"], lines, |line| line.time(line.present.p90)),
        Column::ranked(3, ["", "p99"], lines, |line| line.time(line.present.p99)),
        Column::ranked(12, ["", "max"], lines, |line| line.time(line.present.max)),
        Column::ranked(4, ["absent", "p50"], lines, |line| line.time(line.absent.p50)),
        Column::ranked(5, ["absent", "p99"], lines, |line| line.time(line.absent.p99)),
        Column::ranked(6, ["CPU", "a get"], lines, |line| finite(line.cpu_ns, time_ns)),
        Column::ranked(7, ["blocks", "a get"], lines, |line| finite(line.blocks_per_get, ratio)),
        Column::ranked(10, ["disk bytes", "a get"], lines, |line| {
            finite(line.device_bytes, number)
        }),
    ]
}

/// The fastest point of each store, in a line.
fn conclude(result: &IoResult) -> Option<String> {
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
    let found: Vec<String> = best.collect();
    (!found.is_empty()).then(|| found.join("; "))
}

#[cfg(test)]
mod tests;
