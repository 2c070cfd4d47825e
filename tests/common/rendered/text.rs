//! Reads numbers off texts as a person does: digits, a decimal prefix, a unit. It shares no code
//! with the writers, so that an error there is not repeated here.

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// As the heading says.
    Plain,
    /// In per cent; the value is of one.
    Share,
    /// The value is in nanoseconds.
    Time,
    Bytes,
}

/// A number as a text shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    /// Half a unit of its last digit: the error of rounding.
    pub(crate) half: f64,
    pub(crate) unit: Unit,
}

/// Least precision: three significant digits, or two decimals of a ratio.
const PRECISION: f64 = 0.0051;

const PREFIXES: [(char, f64); 6] =
    [('k', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12), ('P', 1e15), ('E', 1e18)];

const UNITS: [(&str, Unit, f64); 8] = [
    ("", Unit::Plain, 1.0),
    ("%", Unit::Share, 0.01),
    ("ns", Unit::Time, 1.0),
    ("µs", Unit::Time, 1e3),
    ("ms", Unit::Time, 1e6),
    ("s", Unit::Time, 1e9),
    ("h", Unit::Time, 3.6e12),
    ("B", Unit::Bytes, 1.0),
];

/// The leading number of a text; `None` without one, or with an unknown unit.
pub(crate) fn number(text: &str) -> Option<Number> {
    let text = text.trim().replace('\u{a0}', " ");
    if let Some(below) = text.strip_prefix('<') {
        let most = number(below)?;
        return Some(Number { value: most.value / 2.0, half: most.value / 2.0, ..most });
    }
    let is_of_number = |at: usize, c: char| match c {
        '+' | '-' => at == 0 || text[..at].ends_with('e'),
        'e' => text[at + 1..].starts_with(|c: char| c.is_ascii_digit()),
        c => c.is_ascii_digit() || c == '.',
    };
    let end = text.char_indices().find(|(at, c)| !is_of_number(*at, *c));
    let (digits, rest) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let value: f64 = digits.parse().ok()?;
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((digits, "0"));
    let decimal_count = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half =
        0.5 * 10_f64.powi(exponent.parse::<i32>().ok()? - i32::try_from(decimal_count).ok()?);
    let (unit, factor) = unit(rest)?;
    Some(Number { value: value * factor, half: half * factor, unit })
}

/// A unit with its prefix, or a noun that is counted.
fn unit(text: &str) -> Option<(Unit, f64)> {
    let word = text.trim();
    let known = |word: &str| UNITS.iter().find(|(name, ..)| *name == word);
    if let Some((_, unit, factor)) = known(word) {
        return Some((*unit, *factor));
    }
    let prefixed = |text: &str| {
        let first = text.chars().next()?;
        let (_, factor) = PREFIXES.iter().find(|(prefix, _)| *prefix == first)?;
        Some((text[1..].to_owned(), *factor))
    };
    let is_noun = |word: &str| word.len() > 3 && word.chars().all(|c| c.is_ascii_lowercase());
    match prefixed(word) {
        _ if is_noun(word) => Some((Unit::Plain, 1.0)),
        Some((rest, factor)) => match known(rest.trim()) {
            Some((_, unit, own)) => Some((*unit, own * factor)),
            None => is_noun(rest.trim()).then_some((Unit::Plain, factor)),
        },
        None => None,
    }
}

/// The unit of the number at a path of a result.
fn unit_of(at: &str) -> Unit {
    let ends = |end: &str| at.split('/').any(|part| part.ends_with(end));
    match () {
        // Of a latency: their number.
        () if at.ends_with("/count") => Unit::Plain,
        () if ends("_ns") => Unit::Time,
        () if ends("_bytes") => Unit::Bytes,
        () => Unit::Plain,
    }
}

/// Compares a text with the number at a path of a result.
///
/// # Errors
/// The text says another number, another unit, or fewer digits than a reader needs.
pub(crate) fn compare(text: &str, at: &str, wanted: f64) -> Result<(), String> {
    let shown = number(text).ok_or_else(|| format!("{at}: {text:?} is no number"))?;
    let unit = unit_of(at);
    // Nothing is nothing in any unit.
    if text == "0" && wanted == 0.0 {
        return Ok(());
    }
    if unit != shown.unit && (unit, shown.unit) != (Unit::Plain, Unit::Share) {
        return Err(format!("{at}: {text:?} has another unit than {unit:?}"));
    }
    if (shown.value - wanted).abs() > shown.half * (1.0 + 1e-6) {
        return Err(format!("{at}: the page shows {text:?}, the result has {wanted}"));
    }
    if shown.half > PRECISION * wanted.abs().max(1.0) && shown.value != wanted {
        return Err(format!("{at}: {text:?} has too few digits for {wanted}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_with_its_prefix_and_its_unit() {
        for (text, value, half, unit) in [
            ("31.8", 31.8, 0.05, Unit::Plain),
            ("12.3k", 12_300.0, 50.0, Unit::Plain),
            ("1.0e21", 1e21, 5e19, Unit::Plain),
            ("128M blocks", 128e6, 5e5, Unit::Plain),
            ("39 transactions", 39.0, 0.5, Unit::Plain),
            ("110 µs", 110e3, 500.0, Unit::Time),
            ("4.90 s", 4.9e9, 5e6, Unit::Time),
            ("9.60 MB", 9.6e6, 5e3, Unit::Bytes),
            ("0 B", 0.0, 0.5, Unit::Bytes),
            ("+5.1 %", 0.051, 0.0005, Unit::Share),
            ("-0.3 %", -0.003, 0.0005, Unit::Share),
            ("<0.01", 0.005, 0.005, Unit::Plain),
        ] {
            let read = number(text).unwrap_or_else(|| panic!("{text}"));
            let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
            assert!(is_near(read.value, value) && is_near(read.half, half), "{text}: {read:?}");
            assert_eq!(read.unit, unit, "{text}");
        }
        for text in ["", "-", "–", "n=5", "12 XB", "fast"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_of_another_number_unit_or_precision_is_found() {
        compare("131", "/a", 130.6).unwrap();
        compare("4.90 s", "/wall_ns", 4.902e9).unwrap();
        compare("79 %", "/share", 0.791).unwrap();
        for (text, at, wanted) in [
            ("262", "/a", 130.6),
            ("131 µs", "/wall_ns", 130.6),
            ("131", "/wall_ns", 131.0),
            ("131 ms", "/a", 131e6),
            ("9.60 kB", "/list_bytes", 9.6e6),
            ("0.1k", "/a", 120.0),
            ("–", "/a", 1.0),
        ] {
            assert!(compare(text, at, wanted).is_err(), "{text} {at}");
        }
    }
}
