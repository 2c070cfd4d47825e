//! Numbers as text, with three significant digits, SI units and decimal prefixes. Reports and
//! progress take such texts from here alone. A value that is no finite number is [`UNKNOWN`].
//! Tables for other programs have every digit ([`Exact`]).

use std::{borrow::Borrow, fmt::Display, time::Duration};

use serde_json::{Number, Value};

/// The text for an unknown figure.
pub const UNKNOWN: &str = "-";

const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// The text, or [`UNKNOWN`] for `None`.
pub(crate) fn or_unknown(text: Option<String>) -> String {
    text.unwrap_or_else(|| UNKNOWN.to_owned())
}

/// The text of a figure; `None` where it is not known, or no number.
pub(crate) fn finite(value: Option<f64>, text: fn(f64) -> String) -> Option<String> {
    value.filter(|value| value.is_finite()).map(text)
}

/// The ends of an interval: `4.83–5.00`. Without an interval `n=`, and the number of values.
pub(crate) fn interval(
    ends: Option<[f64; 2]>,
    value_count: impl Display,
    text: impl Fn(f64) -> String,
) -> String {
    ends.map_or_else(|| format!("n={value_count}"), |ends| range(ends, text))
}

/// Both ends of a range: `4.83–5.00`.
pub(crate) fn range(ends: [f64; 2], text: impl Fn(f64) -> String) -> String {
    ends.map(text).join("–")
}

/// The texts with `between` between each two.
pub(crate) fn joined<S: Borrow<str>>(texts: impl IntoIterator<Item = S>, between: &str) -> String {
    texts.into_iter().collect::<Vec<S>>().join(between)
}

/// [`joined`]; `None` without a text.
pub(crate) fn any_joined<S: Borrow<str>>(
    texts: impl IntoIterator<Item = S>,
    between: &str,
) -> Option<String> {
    let mut texts = texts.into_iter().peekable();
    texts.peek().is_some().then(|| joined(texts, between))
}

/// The number of entries beyond the first `shown`; `None` where there are none.
pub(crate) fn beyond(count: usize, shown: usize) -> Option<u64> {
    Some(count.saturating_sub(shown) as u64).filter(|more| *more > 0)
}

/// The text for entries that a page leaves out.
pub(crate) fn more_in_json(entries: u64) -> String {
    format!("and {} more: --format json", count(entries))
}

/// A number of a result, which may be unknown, with every digit.
pub(crate) trait Exact: Copy {
    /// The number; `None` where it is not known, or not finite.
    fn number(self) -> Option<Number>;

    /// Its text, empty where it is not known.
    fn text(self) -> String {
        self.number().map_or_else(String::new, |number| number.to_string())
    }
}

impl Exact for u64 {
    fn number(self) -> Option<Number> {
        Some(self.into())
    }
}

impl Exact for f64 {
    fn number(self) -> Option<Number> {
        Number::from_f64(self)
    }
}

impl<N: Exact> Exact for Option<N> {
    fn number(self) -> Option<Number> {
        self?.number()
    }
}

/// A number with three significant digits and a decimal prefix: `31.8`, `12.3k`.
pub fn number(value: f64) -> String {
    let (digits, prefix) = scale(value);
    format!("{digits}{prefix}")
}

/// A count. An exact text has no zeros at its end: `39`, `291k`, `128M`, `1.5M`.
pub fn count(value: u64) -> String {
    let (digits, prefix) = scale(value as f64);
    let power = PREFIXES.iter().position(|p| *p == prefix).unwrap_or(0);
    let hundredth = (1000_u64.pow(power as u32) / 100).max(1);
    if digits.contains('.') && value.is_multiple_of(hundredth) {
        return format!("{}{prefix}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    format!("{digits}{prefix}")
}

/// Bytes with a decimal prefix: `9.60 MB`.
pub fn bytes(value: u64) -> String {
    let (digits, prefix) = scale(value as f64);
    format!("{digits} {prefix}B")
}

/// A count with its noun: `1 block`, `39 blocks`, `128M blocks`, `2 batches`.
pub fn things(value: u64, noun: &str) -> String {
    let plural = match value {
        1 => "",
        _ if noun.ends_with("ch") || noun.ends_with("sh") => "es",
        _ => "s",
    };
    format!("{} {noun}{plural}", count(value))
}

/// The text of a JSON value, a string without its quotes; `None` for null.
pub(crate) fn json_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The first 12 characters of a digest.
pub(crate) fn digest(digest: &str) -> String {
    digest.chars().take(12).collect()
}

/// A time that is known roughly: `5.3 s`, `55 s`, `12 min`, `2.4 h`.
pub fn rough_time(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 9.95 => format!("{seconds:.1} s"),
        seconds if seconds < 119.5 => format!("{seconds:.0} s"),
        seconds if seconds < 7_170.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3_600.0),
    }
}

/// A time given in nanoseconds: `110 µs`, `4.90 s`, `1200 s`, `5.12 h`.
pub fn time_ns(ns: f64) -> String {
    if !ns.is_finite() {
        return UNKNOWN.to_owned();
    }
    for (unit, ns_per_unit) in [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)] {
        if (ns / ns_per_unit).abs() < 999.5 {
            return format!("{} {unit}", three_digits(ns / ns_per_unit));
        }
    }
    match ns / 1e9 {
        seconds if seconds < 9_999.5 => format!("{seconds:.0} s"),
        seconds => format!("{} h", number(seconds / 3600.0)),
    }
}

/// A time given in whole nanoseconds.
pub(crate) fn ns(value: u64) -> String {
    time_ns(value as f64)
}

/// A time: `4.90 s`.
pub fn time(value: Duration) -> String {
    time_ns(value.as_nanos() as f64)
}

/// A share in per cent, without the `%` sign: `79`, `3.4`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        size if size < 9.95 => format!("{value:.1}"),
        size if size < 999.5 => format!("{value:.0}"),
        _ => number(value),
    }
}

/// A ratio near one: `0.94`.
pub fn ratio(value: f64) -> String {
    if value.abs() < 9.995 { format!("{value:.2}") } else { number(value) }
}

/// A probability: `0.31`, `<0.01`.
pub fn probability(value: f64) -> String {
    if value < 0.01 { "<0.01".to_owned() } else { ratio(value) }
}

/// A number for a column with one unit: at least three significant digits, and no prefix below
/// 100,000.
pub fn plain(value: f64) -> String {
    match value.abs() {
        size if size < 999.5 => three_digits(value),
        size if size < 99_999.5 => format!("{value:.0}"),
        _ => number(value),
    }
}

/// A moment in seconds since 1970 as text: `2026-01-01 00:00 UTC`. The calculation begins years in
/// March, so that a leap day ends a year.
pub fn moment(unix_s: u64) -> String {
    let days = unix_s / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (unix_s / 3_600 % 24, unix_s / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Digits and prefix. Beyond the last prefix the digits have an exponent.
fn scale(value: f64) -> (String, &'static str) {
    if !value.is_finite() {
        return (UNKNOWN.to_owned(), "");
    }
    let mut rest = value;
    for prefix in PREFIXES {
        if rest.abs() < 999.5 {
            let is_count = prefix.is_empty() && value.fract() == 0.0;
            let digits = if is_count { format!("{value:.0}") } else { three_digits(rest) };
            return (digits, prefix);
        }
        rest /= 1000.0;
    }
    (format!("{value:.1e}"), "")
}

/// Three significant digits, at most four decimals: `4.90`, `20.1`, `131`, `0.0123`.
fn three_digits(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let decimals = match value.abs() {
        size if size < 0.099_95 => 4,
        size if size < 0.999_5 => 3,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_rough_as_they_are_known() {
        let of = |seconds| rough_time(Duration::from_secs_f64(seconds));
        assert_eq!([of(0.0), of(9.9), of(10.0), of(119.0)], ["0.0 s", "9.9 s", "10 s", "119 s"]);
        assert_eq!([of(120.0), of(7_100.0), of(7_200.0)], ["2 min", "118 min", "2.0 h"]);
    }

    #[test]
    fn a_number_has_three_significant_digits_and_rounds_into_the_next_prefix() {
        let cases = [
            (31.84, "31.8"),
            (4.9, "4.90"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (12_345.0, "12.3k"),
            (999_499.0, "999k"),
            (999_500.0, "1.00M"),
            (0.0123, "0.0123"),
            (2.0, "2"),
            (1e21, "1.0e21"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn a_count_that_is_exact_is_not_padded() {
        let cases = [(0, "0"), (39, "39"), (1_000, "1k"), (1_500_000, "1.5M"), (8_000_000, "8M")];
        for (value, text) in cases {
            assert_eq!(count(value), text);
        }
        assert_eq!(count(8_003_000), "8.00M");
        assert_eq!(count(291_342), "291k");
        assert_eq!(count(u64::MAX), "18.4E");
        assert_eq!(things(1, "block"), "1 block");
        assert_eq!(things(39, "transaction"), "39 transactions");
    }

    #[test]
    fn times_and_bytes_carry_their_unit() {
        let cases = [
            (7.0, "7.00 ns"),
            (110_200.0, "110 µs"),
            (999_600.0, "1.00 ms"),
            (4.9e9, "4.90 s"),
            (20.13e9, "20.1 s"),
            (1.2e12, "1200 s"),
            (18_432e9, "5.12 h"),
            (f64::NAN, "-"),
        ];
        for (ns, text) in cases {
            assert_eq!(time_ns(ns), text, "{ns}");
        }
        assert_eq!(time(Duration::from_millis(350)), "350 ms");
        assert_eq!(bytes(9_600_000), "9.60 MB");
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1_210), "1.21 kB");
    }

    #[test]
    fn shares_and_ratios_stay_short() {
        assert_eq!([percent(0.79), percent(0.034), percent(1.2)], ["79", "3.4", "120"]);
        assert_eq!([ratio(0.944), ratio(12.34)], ["0.94", "12.3"]);
        assert_eq!([plain(4.9), plain(20_134.4), plain(1e6)], ["4.90", "20134", "1.00M"]);
    }

    #[test]
    fn a_moment_is_that_of_the_calendar() {
        // date -u -d @N
        assert_eq!(moment(0), "1970-01-01 00:00 UTC");
        assert_eq!(moment(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(moment(1_709_251_199), "2024-02-29 23:59 UTC");
        assert_eq!(moment(1_767_225_600), "2026-01-01 00:00 UTC");
        assert_eq!(moment(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
