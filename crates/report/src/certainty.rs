//! Which differences between designs a run shows, and how many more samples would show the others.
//! Nothing here names a winner where intervals overlap, or where there is one sample.

use variant::CacheMode;

use result::{
    Cell,
    stats::{self, INTERVAL_COUNT_MIN, PRECISION_SHARE},
};

use super::{facts, units};

/// One value of a time of a run on one database.
const SAMPLE: &str = "sample";
/// The most further values of a cell that a user is asked for: more of them take hours on a large state.
const MORE_COUNT_MAX: usize = 100;

/// Returns whether the cell's own time is more than one observation.
pub(super) fn is_repeated(cell: &Cell) -> bool {
    cell.value_count() > 1
}

/// The 95 % interval of a cell's time, where it has one.
fn interval(cell: &Cell) -> Option<[f64; 2]> {
    let finite = cell.ms_per_batch.ci95.filter(|ends| ends.iter().all(|end| end.is_finite()));
    finite.filter(|_| cell.value_count() >= INTERVAL_COUNT_MIN)
}

/// Returns whether `cell` may be called the fastest: it has an interval, and every other time of
/// `cells`, with its own interval if it has one, lies above.
pub(super) fn is_fastest<'a>(cell: &Cell, cells: impl IntoIterator<Item = &'a Cell>) -> bool {
    let Some([_, high]) = interval(cell) else { return false };
    let others = cells.into_iter().filter(|other| !std::ptr::eq(*other, cell));
    let lows: Vec<f64> = others
        .filter_map(|other| interval(other).map(|[low, _]| low).or_else(|| facts::time_ms(other)))
        .collect();
    !lows.is_empty() && lows.iter().all(|low| *low > high)
}

/// How sure the times are: nothing where there are intervals and the best design's lies apart.
pub(super) fn words(cells: &[&Cell]) -> Option<String> {
    let timed = cells.iter().copied().filter(|cell| facts::time_ms(cell).is_some());
    let counts = timed.clone().map(Cell::value_count);
    let (least, most) = (counts.clone().min()?, counts.max()?);
    if most < INTERVAL_COUNT_MIN {
        let count = match least {
            0 | 1 if noun(cells) == SAMPLE => "one sample each".to_owned(),
            few => units::things(few as u64, noun(cells)),
        };
        let designs = best_of_designs(cells);
        let of_designs = (designs.len() > 1)
            .then(|| format!(": no interval yet, {}", more_words(cells, &designs)));
        return Some(count + &of_designs.unwrap_or_else(|| ": no interval yet".to_owned()));
    }
    let mut parts = Vec::new();
    parts.extend(overlaps(cells));
    let without: Vec<String> =
        timed.filter(|cell| cell.value_count() < INTERVAL_COUNT_MIN).map(name).collect();
    if !without.is_empty() {
        parts.push(format!("no interval: {}", without.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `no difference shown between batched-io@2+64io and parallel-io@64: about 40 more samples of each
/// for ±3 %`, of the best design and those whose intervals overlap its own.
fn overlaps(cells: &[&Cell]) -> Option<String> {
    let designs = best_of_designs(cells);
    let best = facts::best(designs.iter().copied().filter(|cell| interval(cell).is_some()))?;
    let alike =
        designs.into_iter().filter(|other| !std::ptr::eq(*other, best) && overlap(best, other));
    let alike: Vec<&Cell> = alike.collect();
    if alike.is_empty() {
        return None;
    }
    let names: Vec<String> = alike.iter().map(|cell| name(cell)).collect();
    let compared: Vec<&Cell> = alike.into_iter().chain([best]).collect();
    let more = more_words(cells, &compared);
    let names = names.join(", ");
    Some(format!("no difference shown between {} and {names}: {more}", name(best)))
}

/// Whether both cells have intervals, and these overlap.
pub(super) fn overlap(a: &Cell, b: &Cell) -> bool {
    let ends = interval(a).zip(interval(b));
    ends.is_some_and(|(a, b)| b[0] <= a[1] && a[0] <= b[1])
}

/// `about 40 more samples of each for ±3 %`, by the widest spread of the compared cells. A database
/// serves all of them, a sample one.
fn more_words(cells: &[&Cell], compared: &[&Cell]) -> String {
    let of = if noun(cells) == SAMPLE { " of each" } else { "" };
    let noun = format!("more {}", noun(cells));
    let percent = PRECISION_SHARE * 100.0;
    let lacks = compared.iter().map(|cell| {
        let needed_count = stats::count_needed(&times(cell), PRECISION_SHARE)?;
        let more_count = needed_count.saturating_sub(cell.value_count());
        Some(Lack { more_count, needed_count })
    });
    let known: Option<Vec<Lack>> = lacks.collect();
    match known.and_then(|known| known.into_iter().max_by_key(|lack| lack.more_count)) {
        Some(Lack { more_count: 0, .. }) => format!("they are known to ±{percent:.0} %"),
        Some(Lack { more_count: more @ ..=MORE_COUNT_MAX, .. }) => {
            format!("about {}{of} for ±{percent:.0} %", units::things(more as u64, &noun))
        }
        Some(lack) if lack.had_count() >= INTERVAL_COUNT_MIN => undecided_words(cells, &lack),
        // The spread of fewer values is too rough to give up.
        _ => {
            let least = compared.iter().map(|cell| cell.value_count()).min().unwrap_or(0);
            let more = INTERVAL_COUNT_MIN.saturating_sub(least).max(1);
            format!("{}{of} for an interval", units::things(more as u64, &noun))
        }
    }
}

/// Values that a cell needs for its precision, and how many of them it lacks.
struct Lack {
    more_count: usize,
    needed_count: usize,
}

impl Lack {
    const fn had_count(&self) -> usize {
        self.needed_count - self.more_count
    }
}

/// Says of a spread which no run of a bearable length averages out that samples will not decide, and
/// names other ways to a decision. The width of an interval falls with the root of the count.
fn undecided_words(cells: &[&Cell], lack: &Lack) -> String {
    let noun = noun(cells);
    let count = units::count(lack.more_count as u64);
    let of = if noun == SAMPLE { " of each" } else { "" };
    let reached_count = lack.had_count() + MORE_COUNT_MAX;
    let shrink = (lack.needed_count as f64 / reached_count as f64).sqrt();
    let [wanted, reached] = [1.0, shrink].map(|by| PRECISION_SHARE * 100.0 * by);
    let is_cold = cells.iter().any(|cell| cell.cache.want == Some(CacheMode::Cold));
    let without_disk = match is_cold {
        true => ", or measure without the disk (--cache warm, --store memory)",
        false => "",
    };
    format!(
        "{noun}s will not decide on this machine: ±{wanted:.0} % needs about {count} more{of}, and \
         {MORE_COUNT_MAX} more give ±{reached:.1} %; measure on a quieter machine, or claim only a \
         difference of more than {reached:.1} %{without_disk}"
    )
}

/// The values that a cell's time is the median of, up to a factor.
fn times(cell: &Cell) -> Vec<f64> {
    match &cell.databases {
        Some(databases) => {
            databases.each.iter().filter_map(|database| database.ms_per_batch.median).collect()
        }
        None => {
            let counted = cell.counted().into_iter().flatten();
            counted.map(|sample| sample.wall_ns as f64).collect()
        }
    }
}

/// The best cell of each design that has a time.
pub(super) fn best_of_designs<'a>(cells: &[&'a Cell]) -> Vec<&'a Cell> {
    facts::distinct(cells.iter().map(|cell| cell.design))
        .into_iter()
        .filter_map(|design| facts::best_of(cells, design))
        .collect()
}

/// The noun for one value of a time.
fn noun(cells: &[&Cell]) -> &'static str {
    if cells.iter().any(|cell| cell.databases.is_some()) { "database" } else { SAMPLE }
}

fn name(cell: &Cell) -> String {
    format!("{}@{}", cell.design, facts::threads(cell))
}
