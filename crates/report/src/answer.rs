//! The answer of a run, with four lines for each store. `fastest` is the fastest row, `gain` the
//! time that it saves against execution in order, `limit` its bottleneck, `trust` the evidence.
//! Terminal, pages, comparisons and the result's `conclusion` take their words from here.

use variant::{CacheMode, Design, StoreKind};

use result::{Bottleneck, Cell, RunResult, ratios, stats};

use super::{
    certainty,
    facts::{self, Reading, StoreCells},
    ratio::Ratio,
    split, units,
};

/// The answer of a run on one store.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The store, where the run has several.
    pub(super) store: Option<StoreKind>,
    pub(super) lines: Lines,
}

/// The lines `fastest`, `gain`, `limit` and `trust`: their labels and their texts.
type Lines = [(&'static str, String); 4];

impl Answer {
    /// The line `fastest`, after the store's name where the run has several stores.
    pub(super) fn headline(&self) -> String {
        let [(_, fastest), ..] = &self.lines;
        self.store.map(|store| format!("{store}: ")).unwrap_or_default() + fastest
    }

    /// The first lines in one sentence.
    fn sentence(&self, line_count: usize) -> String {
        let others = self.lines[1..line_count].iter();
        let others = others.map(|(label, text)| format!("; {label} {text}"));
        self.headline() + &others.collect::<String>()
    }
}

/// The answers of a run for all stores, and its clients, in one line. `None` where nothing was
/// measured. For a run whose designs disagree, the line says so and has no figure.
pub fn conclusion(result: &RunResult) -> Option<String> {
    let reading = Reading::new(result);
    if reading.disagrees {
        return Some(format!("{}: no figure is to be believed", facts::disagreement(result)));
    }
    let sentences = answers(&reading).into_iter().map(|answer| answer.sentence(4));
    let before = if result.interrupted { "interrupted, so far: " } else { "" };
    Some(before.to_owned() + &units::any_joined(sentences.chain(clients(result)), ". ")?)
}

/// The fastest row on each store and its gain, in one line. `None` without a time. The designs of
/// the run have to agree.
pub(super) fn fastest(result: &RunResult) -> Option<String> {
    let answers = answers(&Reading::new(result)).into_iter();
    units::any_joined(answers.map(|answer| answer.sentence(2)), ". ")
}

/// The answer for each store that has a time.
pub(super) fn answers(reading: &Reading<'_>) -> Vec<Answer> {
    let is_one = reading.stores.len() == 1;
    let stores = reading.stores.iter().filter_map(|of| {
        let store = (!is_one).then_some(of.store);
        Some(Answer { store, lines: lines(reading, of)? })
    });
    stores.collect()
}

/// `geth 25.0 s (0.81 times in order)` for each client with a time; the factor compares speeds.
/// `None` without such a client.
pub(super) fn clients(result: &RunResult) -> Option<String> {
    let words = result.clients.iter().filter_map(|client| {
        let time = units::time_ns(client.ms_per_batch.median? * 1e6);
        let is_repeated = client.counted().len() > 1;
        let ratio = client.in_order_ratio.filter(|ratio| is_repeated && ratio.is_finite());
        let ratio = ratio.map(|ratio| format!(" ({} times in order)", units::ratio(ratio)));
        let few = client.counted().len() < stats::INTERVAL_COUNT_MIN;
        let few = if few { ", no interval" } else { "" };
        Some(format!("{} {time}{}{few}", client.client, ratio.unwrap_or_default()))
    });
    units::any_joined(words, ", ")
}

/// The lines on a store; `None` without a time. The first line also names the rows whose intervals
/// overlap that of the fastest.
fn lines(reading: &Reading<'_>, of: &StoreCells<'_>) -> Option<Lines> {
    let cells = facts::most_duties(&of.cells);
    let best = facts::best(cells.iter().copied())?;
    let base = ratios::in_order(best, cells.iter().copied());
    let base = base.filter(|base| facts::time_ms(base).is_some());
    let alike = certainty::alike(best, &cells).map(|names| format!("; not told from {names}"));
    let fastest = time(best, reading.time_is_per) + &beside_base(best, base);
    // Whether the state is small, whether the machine was busy, and whether the samples can tell
    // rows apart that differ by 5 %.
    let doubts = [facts::small_state(reading.result), facts::busy_machine(reading.result)];
    let doubts: String = doubts.into_iter().flatten().map(|words| format!(", {words}")).collect();
    let told_apart = certainty::telling_apart(&cells).map(|words| format!("; {words}"));
    let trust = format!("{}, {}", certainty::counts(&cells), coldness(&cells, reading.result));
    Some([
        ("fastest", fastest + &alike.unwrap_or_default()),
        ("gain", gain(best, base, &cells)),
        ("limit", limit(best)),
        ("trust", trust + &doubts + &told_apart.unwrap_or_default()),
    ])
}

/// Name, time and interval of a row: `batched-io 2+8io: 143 ms a block (132–159)`. Without duties
/// the row has `of execution` in the place of `a block`. Without an interval it has the number of
/// samples.
fn time(cell: &Cell, per: &str) -> String {
    let ms = facts::time_ms(cell).unwrap_or(f64::NAN);
    let (unit, in_ms) = if ms >= 999.5 { ("s", 1e3) } else { ("ms", 1.0) };
    let spread = match certainty::interval(cell) {
        Some(ends) => units::range(ends, |end| units::plain(end / in_ms)),
        None => certainty::counts(&[cell]),
    };
    let of = if cell.duties.is_empty() { "of execution".to_owned() } else { format!("a {per}") };
    let time = units::plain(ms / in_ms);
    format!("{}: {time} {unit} {of} ({spread})", facts::row_name(cell))
}

/// `, 9.9× in order (8.6–11.0)`, or the reason why there is no such factor.
fn beside_base(best: &Cell, base: Option<&Cell>) -> String {
    let Some(base) = base else { return ", no row in order (--design sequential)".to_owned() };
    if std::ptr::eq(best, base) {
        return ", in order".to_owned();
    }
    // A factor needs more than one sample.
    if !certainty::is_repeated(best) {
        let time = units::time_ns(facts::time_ms(base).unwrap_or(f64::NAN) * 1e6);
        return format!("; in order {time}");
    }
    times_in_order(best, base).map(|words| format!(", {words}")).unwrap_or_default()
}

/// Speed of a row as a multiple of execution in order, with its interval: `9.9× in order
/// (8.6–11.0)`. `None` without a finite factor.
pub(super) fn times_in_order(cell: &Cell, base: &Cell) -> Option<String> {
    let Ratio { median, ci95 } = Ratio::within_run(base, cell);
    let factor = median.filter(|factor| factor.is_finite())?;
    let ends = match ci95.filter(|ends| ends.iter().all(|end| end.is_finite())) {
        Some(ends) => units::range(ends, times),
        None if base.value_count() == 1 => "one sample in order".to_owned(),
        None => "no interval".to_owned(),
    };
    Some(format!("{}× in order ({ends})", times(factor)))
}

/// Text of a factor: `1.37`, `9.9`, `24.0`, `240`.
fn times(factor: f64) -> String {
    match factor {
        small if small < 1.995 => format!("{small:.2}"),
        medium if medium < 99.95 => format!("{medium:.1}"),
        large => units::number(large),
    }
}

fn gain(best: &Cell, base: Option<&Cell>, cells: &[&Cell]) -> String {
    let Some(base) = base else { return "unknown without a row in order".to_owned() };
    if !std::ptr::eq(best, base) {
        return split::difference(base, best).unwrap_or_else(|| units::UNKNOWN.to_owned());
    }
    let others = cells.iter().copied().filter(|cell| cell.design != Design::Sequential);
    let next = facts::best(others);
    next.map_or_else(
        || "none: no other design was run".to_owned(),
        |next| {
            let cost = split::difference(next, best).unwrap_or_else(|| units::UNKNOWN.to_owned());
            format!("none: {} takes more by {cost}", facts::row_name(next))
        },
    )
}

/// The bottleneck of a row, and the longest other part of its time: `the disk, at 70 % of its rate
/// for these reads; next list, 4.00 ms`.
fn limit(best: &Cell) -> String {
    let mut parts = split::parts_ms(best);
    parts.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let share = best.bottleneck_share.filter(|share| share.is_finite());
    let bottleneck = facts::bottleneck(best);
    let share = share.map(|share| format!(", {} % of the time at least", units::percent(share)));
    let share = share.unwrap_or_default();
    let (first, next) = match bottleneck {
        Some(Bottleneck::Device) => {
            let of_rate = units::finite(best.device_fraction, units::percent)
                .map(|share| format!(", at {share} % of its rate for these reads"));
            (Some(format!("the disk{}", of_rate.unwrap_or(share))), "next")
        }
        Some(Bottleneck::Chain) => (Some(format!("reads one after another{share}")), "next"),
        Some(Bottleneck::Cpu) => (Some(format!("the CPU{share}")), "most of it for"),
        None => (None, "next"),
    };
    if matches!(bottleneck, Some(Bottleneck::Device | Bottleneck::Chain)) {
        parts.retain(|(name, _)| *name != "reads");
    }
    let mut parts = parts.into_iter().filter(|(_, ms)| *ms > 0.0);
    let mut part = || {
        let (name, ms) = parts.next()?;
        Some(format!("{name}, {}", units::time_ns(ms * 1e6)))
    };
    let Some(first) = first.or_else(&mut part) else { return "unknown".to_owned() };
    part().map_or_else(|| first.clone(), |part| format!("{first}; {next} {part}"))
}

/// Coldness of the result's cells, in a few words.
fn coldness(cells: &[&Cell], result: &RunResult) -> &'static str {
    let cold = || cells.iter().filter(|cell| cell.cache.want == Some(CacheMode::Cold));
    let first = cells.first().and_then(|cell| cell.cache.want);
    match (cold().next(), first) {
        (Some(_), _) if cold().all(|cell| cell.cache.proved == Some(true)) => {
            if facts::has_host_cache(result) {
                "cold here, host cache seen"
            } else {
                "cold proved"
            }
        }
        (Some(_), _) if cold().any(|cell| cell.cache.proved == Some(false)) => "NOT COLD",
        (Some(_), _) => "cold NOT PROVED",
        (None, Some(_)) => "warm",
        (None, None) => "no device",
    }
}
