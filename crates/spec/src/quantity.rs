//! Numbers with suffixes and units: counts ("640M"), sizes ("10GiB"), durations ("60s"). They are
//! read exactly, without floating point. A violation has the given value, the rule and the remedy.
//! `fields.rs` and `durations.rs` call it.

use std::time::Duration;

use crate::fault::{Remedy, Violation, listed, shown};

/// Suffixes of counts and gas, which are decimal.
const SI: [(&str, u64); 4] = [("", 1), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
/// Suffixes of sizes, which are binary, like memory and blocks of disks.
const BINARY: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
/// Durations in whole milliseconds.
const WHOLE_MS: TimeScale = TimeScale {
    units: &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)],
    smallest: "ms",
    bare_number_unit: "s",
    examples: ["500ms", "60s"],
};
/// Durations in whole nanoseconds. A microsecond may have either of the two characters for mu.
const WHOLE_NS: TimeScale = TimeScale {
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
    ],
    smallest: "ns",
    bare_number_unit: "ms",
    examples: ["250us", "1.6ms"],
};
/// Maximum number of digits of a number, so that its mantissa fits in 128 bits.
const DIGITS_MAX: usize = 30;

/// Reads a count with an optional SI suffix. `what` is the key and `example` one of its counts, for
/// the error text.
pub(crate) fn count(text: &str, what: &str, example: &str) -> Result<u64, Violation> {
    let such = Remedy::advice(&format!("write a count such as {example}"));
    if range_ends(text).is_some() {
        let rule = format!("{} is a range, and a count is one number", shown(text));
        return Err(Violation::new(rule, such));
    }
    let Some(parts) = split(text) else {
        let rule = format!("{} is not a count; {what} wants a number", shown(text));
        return Err(Violation::new(rule, such));
    };
    if let Some(multiplier) = multiplier(&SI, parts.unit) {
        return parts.times(text, multiplier, &format!("{what} is counted whole"));
    }
    let number = parts.number;
    let (rule, fixed) = match parts.unit {
        "K" => ("the suffix of a thousand is k".to_owned(), Some("k")),
        "m" => ("the suffix of a million is M".to_owned(), Some("M")),
        "g" => ("the suffix of a billion is G".to_owned(), Some("G")),
        unit => match (byte_prefix(unit), gas_prefix(unit)) {
            (Some(prefix), _) => {
                let rule = format!("{} is bytes; {what} wants {number}{prefix}", shown(text));
                return Err(Violation::new(rule, Remedy::text(&format!("{number}{prefix}"))));
            }
            (None, Some(prefix)) => (format!("{what} is a count, without a unit"), Some(prefix)),
            (None, None) => {
                (format!("{} is no suffix of a count; k, M and G are", shown(unit)), None)
            }
        },
    };
    let remedy = match fixed {
        Some(suffix) => Remedy::text(&format!("{number}{suffix}")),
        None => such,
    };
    Err(Violation::new(format!("{}: {rule}", shown(text)), remedy))
}

/// Reads the ends of a text that means a range of counts (`1-4`, `1..4`), the lower end first.
pub(crate) fn range_ends(text: &str) -> Option<(u64, u64)> {
    let marks = ["..=", "..", "-", ":"];
    let (first, last) = marks.into_iter().find_map(|mark| text.split_once(mark))?;
    let [first, last] = [first, last].map(|text| {
        let parts = split(text)?;
        parts.times(text, multiplier(&SI, parts.unit)?, "").ok()
    });
    let (first, last) = (first?, last?);
    Some((first.min(last), first.max(last)))
}

/// Reads a size in bytes; the unit is required.
pub(crate) fn bytes(text: &str) -> Result<u64, Violation> {
    let Some(parts) = split(text) else {
        return Err(not_a_number(text, "a size is a number and a unit", "10GiB"));
    };
    if let Some(multiplier) = multiplier(&BINARY, parts.unit) {
        return parts.times(text, multiplier, "a size is whole bytes");
    }
    let (text, number) = (shown(text), parts.number);
    let (rule, unit) = match parts.unit {
        "" => (format!("{text} has no unit; sizes are in B, KiB, MiB, GiB or TiB"), "GiB"),
        "kB" | "KB" | "kb" => decimal_size(&text, "KiB"),
        "MB" | "mb" => decimal_size(&text, "MiB"),
        "GB" | "gb" => decimal_size(&text, "GiB"),
        "TB" | "tb" => decimal_size(&text, "TiB"),
        "k" | "K" => (format!("{text} is a count; a size wants {number}KiB"), "KiB"),
        "M" => (format!("{text} is a count; a size wants {number}MiB"), "MiB"),
        "G" => (format!("{text} is a count; a size wants {number}GiB"), "GiB"),
        "T" => (format!("{text} is a count; a size wants {number}TiB"), "TiB"),
        unit => {
            let unit = shown(unit);
            let rule = format!("{text}: {unit} is no unit of size; B, KiB, MiB, GiB and TiB are");
            return Err(Violation::new(
                rule,
                Remedy::advice("write a size such as 512MiB or 10GiB"),
            ));
        }
    };
    Err(Violation::new(rule, Remedy::text(&format!("{number}{unit}"))))
}

fn decimal_size(text: &str, unit: &'static str) -> (String, &'static str) {
    (format!("{text} is in decimal units; sizes are in B, KiB, MiB, GiB or TiB"), unit)
}

/// Units of a duration.
struct TimeScale {
    /// Units, each with its multiple of the smallest unit.
    units: &'static [(&'static str, u64)],
    smallest: &'static str,
    /// Unit that the remedy suggests if the user gave no unit.
    bare_number_unit: &'static str,
    examples: [&'static str; 2],
}

impl TimeScale {
    /// Lists the units, as in "ms, s, m and h". Leaves out units that not every keyboard can write.
    fn names(&self, conjunction: &str) -> String {
        let names = self.units.iter().map(|(name, _)| *name).filter(|name| name.is_ascii());
        listed(&names.collect::<Vec<_>>(), conjunction)
    }

    /// Reads a duration as a number of the smallest unit.
    fn read(&self, text: &str) -> Result<u64, Violation> {
        let [example, other] = self.examples;
        let Some(parts) = split(text) else {
            return Err(not_a_number(text, "a duration is a number and a unit", other));
        };
        if let Some(multiplier) = multiplier(self.units, parts.unit) {
            let rule = format!("a duration is whole {}", self.smallest);
            return parts.times(text, multiplier, &rule);
        }
        let (text, number) = (shown(text), parts.number);
        let fixed = match parts.unit {
            "" => Some(self.bare_number_unit),
            "sec" | "secs" | "second" | "seconds" | "S" => Some("s"),
            "min" | "mins" | "minute" | "minutes" | "M" => Some("m"),
            "hour" | "hours" | "hr" | "H" => Some("h"),
            "msec" | "millis" | "milliseconds" => Some("ms"),
            "usec" | "micros" | "microseconds" => Some("us"),
            "nsec" | "nanos" | "nanoseconds" => Some("ns"),
            _ => None,
        };
        let Some(fixed) = fixed.filter(|unit| multiplier(self.units, unit).is_some()) else {
            let (unit, names) = (shown(parts.unit), self.names("and"));
            let rule = format!("{text}: {unit} is no unit of time; {names} are");
            let remedy = format!("write a duration such as {example} or {other}");
            return Err(Violation::new(rule, Remedy::advice(&remedy)));
        };
        let rule = match parts.unit {
            "" => format!("{text} has no unit; durations are in {}", self.names("or")),
            _ => format!("{text}: durations are in {}", self.names("or")),
        };
        Err(Violation::new(rule, Remedy::text(&format!("{number}{fixed}"))))
    }
}

/// Reads a duration in whole milliseconds; the unit is required.
pub(crate) fn duration(text: &str) -> Result<Duration, Violation> {
    WHOLE_MS.read(text).map(Duration::from_millis)
}

/// Reads a duration in whole nanoseconds; the unit is required. No key of a scenario uses it,
/// because scenarios are written in milliseconds or more.
pub(crate) fn fine_duration(text: &str) -> Result<Duration, Violation> {
    WHOLE_NS.read(text).map(Duration::from_nanos)
}

/// Writes a size in the largest unit in which it is whole, as [`bytes`] reads it.
pub(crate) fn size(bytes: u64) -> String {
    let mut units = BINARY.iter().rev();
    let whole = units.find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit));
    let (name, unit) = whole.unwrap_or(&BINARY[0]);
    format!("{}{name}", bytes / unit)
}

/// Writes `16777216` as `16,777,216`, for people.
pub(crate) fn grouped(number: u64) -> String {
    separated(number, ',')
}

/// Writes `16777216` as `16_777_216`, for TOML.
pub(crate) fn underscored(number: u64) -> String {
    separated(number, '_')
}

fn separated(number: u64, separator: char) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

fn not_a_number(text: &str, rule: &str, example: &str) -> Violation {
    let remedy = Remedy::advice(&format!("write a value such as {example}"));
    Violation::new(format!("{} is not a quantity; {rule}", shown(text)), remedy)
}

fn multiplier(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, multiplier)| *multiplier)
}

/// Suffix of a count in the place of a mistaken unit of bytes.
fn byte_prefix(unit: &str) -> Option<&'static str> {
    match unit {
        "B" | "b" => Some(""),
        "kB" | "KB" | "KiB" => Some("k"),
        "MB" | "MiB" => Some("M"),
        "GB" | "GiB" => Some("G"),
        _ => None,
    }
}

/// Suffix of a count in the place of a suffix with a unit, such as `Mgas`.
fn gas_prefix(unit: &str) -> Option<&'static str> {
    match unit.trim_start_matches(['k', 'K', 'M', 'G']).trim() {
        "gas" | "slots" | "tx" | "txs" => match unit.chars().next() {
            Some('k' | 'K') => Some("k"),
            Some('M') => Some("M"),
            Some('G') => Some("G"),
            _ => Some(""),
        },
        _ => None,
    }
}

/// A number and the text after it.
struct Parts<'text> {
    number: &'text str,
    unit: &'text str,
    /// The number without its point and underscores; [`u128::MAX`] if it has too many digits.
    mantissa: u128,
    /// Number of digits after the point, without zeros at the end.
    fraction_digit_count: u32,
}

/// Splits a text. `None` if the text does not start with a well-formed decimal number.
fn split(text: &str) -> Option<Parts<'_>> {
    let text = text.trim();
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '_' | '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if !well_formed(whole) || !well_formed(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches(['0', '_']);
    let digits: String = [whole, fraction].concat().replace('_', "");
    let digits = digits.trim_start_matches('0');
    // A number with more digits is above every limit, and overflows the mantissa.
    let mantissa = match digits.len() {
        0 => 0,
        1..=DIGITS_MAX => digits.parse().ok()?,
        _ => u128::MAX,
    };
    let fraction_digit_count = u32::try_from(fraction.replace('_', "").len()).ok()?;
    Some(Parts { number, unit: unit.trim(), mantissa, fraction_digit_count })
}

/// Whether a text is digits, with underscores only between them.
fn well_formed(digits: &str) -> bool {
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && !digits.contains("__")
        && !digits.contains('.')
}

fn too_large(text: &str) -> Violation {
    let rule = format!("{} is too large", shown(text));
    Violation::new(rule, Remedy::advice("write a smaller value"))
}

impl Parts<'_> {
    /// Multiplies the number exactly. The product must be whole, and fit in 64 bits. `text` and
    /// `whole_rule` are for the violation.
    fn times(&self, text: &str, multiplier: u64, whole_rule: &str) -> Result<u64, Violation> {
        let product = self.mantissa.checked_mul(u128::from(multiplier));
        let divisor = 10_u128.checked_pow(self.fraction_digit_count);
        let Some((product, divisor)) = product.zip(divisor) else { return Err(too_large(text)) };
        if !product.is_multiple_of(divisor) {
            let rule = format!("{} is not whole; {whole_rule}", shown(text));
            return Err(Violation::new(
                rule,
                Remedy::advice("use fewer decimals or a smaller unit"),
            ));
        }
        u64::try_from(product / divisor).map_err(|_| too_large(text))
    }
}

/// The counts that a key takes, and the reasons for its limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) least: u64,
    pub(crate) most: u64,
    /// Meaning of `least`; completes "is below 30,000, …".
    pub(crate) below: &'static str,
    /// Meaning of `most`; completes "is above 16,777,216, …".
    pub(crate) above: &'static str,
}

/// Maximum number of counts of a range that a remedy lists in full.
const ALL_OF_RANGE_MAX: u64 = 8;

impl Range {
    /// The counts from `least` to `most`, which is the largest supported count.
    pub(crate) const fn supported(least: u64, most: u64, below: &'static str) -> Self {
        Self { least, most, below, above: "the most that is supported" }
    }

    /// A count of the range, as a user writes it.
    pub(crate) fn example(&self) -> String {
        let usual = [(640_000_000, "640M"), (100_000, "100k"), (8, "8")];
        let range = self.least..=self.most / 10;
        let fitting = usual.into_iter().find(|(count, _)| range.contains(count));
        fitting.map_or_else(|| underscored(self.least), |(_, text)| text.to_owned())
    }

    /// Lists counts of the range from `first` to `last`. Lists all counts if they are few; else
    /// `last`, and below it counts that double from the first.
    pub(crate) fn between(&self, first: u64, last: u64) -> Vec<String> {
        let is_short = last.saturating_sub(first) < ALL_OF_RANGE_MAX;
        let start = if is_short { first } else { first.max(1) };
        std::iter::successors(Some(start), |count| match is_short {
            true => count.checked_add(1),
            false => count.checked_mul(2),
        })
        .take_while(|count| *count < last)
        .chain([last])
        .filter(|count| (self.least..=self.most).contains(count))
        .map(|count| count.to_string())
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_exactly() {
        for (text, expected) in [
            ("0", 0),
            ("640M", 640_000_000),
            ("2.2G", 2_200_000_000),
            ("128M", 128_000_000),
            ("1.50k", 1_500),
            ("16_777_216", 16_777_216),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(text, "gas", "640M").ok(), Some(expected), "{text}");
        }
    }

    #[test]
    fn sizes_are_binary_and_durations_are_milliseconds() {
        assert_eq!(bytes("10GiB").ok(), Some(10 << 30));
        assert_eq!(bytes("1.5KiB").ok(), Some(1_536));
        assert_eq!(duration("500ms").ok(), Some(Duration::from_millis(500)));
        assert_eq!(duration("1.5h").ok(), Some(Duration::from_secs(5_400)));
    }

    #[test]
    fn a_size_is_written_as_it_is_read() {
        for (size_bytes, text) in
            [(0, "0B"), (3_900, "3900B"), (4_096, "4KiB"), (3 << 29, "1536MiB")]
        {
            assert_eq!(size(size_bytes), text);
            assert_eq!(bytes(text).ok(), Some(size_bytes));
        }
    }

    #[test]
    fn malformed_and_unwhole_quantities_are_rejected() {
        for text in ["", "-1", "M", "1.k", ".5k", "1__0", "_1", "1_", "1.2.3k", "1e6", "∞", "1.5"]
        {
            assert!(count(text, "gas", "640M").is_err(), "{text}");
            assert!(bytes(text).is_err(), "{text}");
            assert!(duration(text).is_err(), "{text}");
            assert!(fine_duration(text).is_err(), "{text}");
        }
        for text in ["99999999999999999999", &"9".repeat(400), "18446744073709551616", "1e30G"] {
            assert!(count(text, "gas", "640M").is_err(), "{text}");
        }
        let tiny = format!("0.{}1G", "0".repeat(400));
        assert!(count(&tiny, "gas", "640M").is_err());
    }
}
