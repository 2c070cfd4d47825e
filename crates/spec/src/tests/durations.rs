//! Durations of options, read and refused. Proptest prints its seed on failure.

use std::time::Duration;

use proptest::prelude::*;

use crate::{durations, fine_duration, quantity};

const DAY_NS: u64 = 24 * 3_600_000_000_000;

/// Units of a fine duration in nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A whole number of `unit_ns / 10^digit_count`, as a decimal with that many digits after the point.
fn decimal(count: u64, digit_count: u32) -> String {
    let (whole, part) = (count / 10_u64.pow(digit_count), count % 10_u64.pow(digit_count));
    match digit_count {
        0 => whole.to_string(),
        _ => format!("{whole}.{part:0width$}", width = digit_count as usize),
    }
}

proptest! {
    #[test]
    fn a_decimal_of_any_unit_is_read_exactly_or_refused_as_not_whole(
        count in 1..1_000_000_u64, digit_count in 0..12_u32, unit in proptest::sample::select(&UNITS),
    ) {
        let (name, unit_ns) = unit;
        let (text, scale) = (format!("{}{name}", decimal(count, digit_count)), 10_u64.pow(digit_count));
        // In 128 bits: the product of both has more than 64.
        let product = u128::from(count) * u128::from(unit_ns);
        let (ns, rest) = (product / u128::from(scale), product % u128::from(scale));
        match fine_duration("--tx-time", &text) {
            Ok(time) => {
                prop_assert_eq!((time.as_nanos(), rest), (ns, 0), "{}", text);
                prop_assert!(ns <= u128::from(DAY_NS), "{text}");
            }
            Err(error) => {
                let error = error.to_string();
                let word = if rest > 0 { "is not whole" } else { "from 1ns to 24h" };
                prop_assert!(error.contains(word) && error.contains(&text), "{error}");
                prop_assert!(rest > 0 || ns > u128::from(DAY_NS), "{error}");
            }
        }
    }

    #[test]
    fn a_fine_duration_means_what_a_scenarios_duration_means(text in "[0-9]{1,6}(\\.[0-9]{1,4})?(ms|s|m|h)") {
        if let Ok(time) = quantity::duration(&text) {
            prop_assert_eq!(quantity::fine_duration(&text).ok(), Some(time));
        }
    }

    #[test]
    fn any_text_is_read_or_is_an_error_of_its_option(text in "\\PC{0,12}|[0-9._]{0,8}[a-zµμ]{0,3}") {
        for read in [durations::duration, fine_duration] {
            match read("--tx-time", &text) {
                Ok(time) => prop_assert!(time > Duration::ZERO && time.as_nanos() <= u128::from(DAY_NS)),
                Err(error) => {
                    let error = error.to_string();
                    prop_assert!(error.starts_with("error: --tx-time: "), "{error}");
                    prop_assert!(error.contains("--> --tx-time") && error.contains("= help: "), "{error}");
                }
            }
        }
    }
}

#[test]
fn errors_say_what_was_given_and_what_is_allowed() {
    for (text, rule, help) in [
        (
            "soon",
            "soon is not a quantity; a duration is a number and a unit",
            "write a value such as 1.6ms",
        ),
        ("1.6", "1.6 has no unit; durations are in ns, us, ms, s, m or h", "write --tx-time 1.6ms"),
        ("9usec", "9usec: durations are in ns, us, ms, s, m or h", "write --tx-time 9us"),
        (
            "1.6x",
            "1.6x: x is no unit of time; ns, us, ms, s, m and h are",
            "such as 250us or 1.6ms",
        ),
        (
            "0.5ns",
            "0.5ns is not whole; a duration is whole ns",
            "use fewer decimals or a smaller unit",
        ),
        ("0s", "0s is out of range; a duration is from 1ns to 24h", "write a longer duration"),
        ("25h", "25h is out of range; a duration is from 1ns to 24h", "write a shorter duration"),
    ] {
        let error = fine_duration("--tx-time", text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("error: --tx-time: {rule}")), "{error}");
        assert!(error.contains(help), "{error}");
    }
    for (text, rule) in [
        ("1.6ms", "1.6ms is not whole; a duration is whole ms"),
        ("250us", "250us: us is no unit of time; ms, s, m and h are"),
    ] {
        let error = durations::duration("--slot-time", text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("error: --slot-time: {rule}")), "{error}");
    }
}
