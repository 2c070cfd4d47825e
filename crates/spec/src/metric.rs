//! `[[expect]]`: what must hold of the results, as a bound on a metric such as
//! `speedup(batched-io, parallel-io)`.

use std::fmt;

use crate::fault::{Fault, Misfit, Remedy, listed, nearest, shown};
use crate::fields::{Fields, named};
use crate::keys;
use crate::tree::{Node, Value};
use variant::{CacheMode, Design, ListForm, Named, StoreKind};

/// A bound that a result must keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// What is bounded.
    pub metric: Metric,
    /// The bound, inclusive.
    pub bound: Bound,
    /// The runs it is judged in.
    pub when: When,
}

/// An inclusive bound, finite, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The metric is at least this.
    Min(f64),
    /// The metric is at most this.
    Max(f64),
}

/// The runs an expectation is judged in; a field that is `None` takes any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct When {
    /// Only with this store.
    pub store: Option<StoreKind>,
    /// Only with this cache state.
    pub cache: Option<CacheMode>,
}

/// A figure of a run's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// `speedup(a, b)`: how many times as fast as `b` design `a` is.
    Speedup {
        /// The design that is to be faster.
        of: Design,
        /// The design it is compared with.
        over: Design,
    },
    /// `mgas_per_s(d)`: throughput in millions of gas a second.
    MgasPerS(Design),
    /// `ms_per_block(d)`: time per block, in milliseconds.
    MsPerBlock(Design),
    /// `tx_latency_p99(d)`: the 99th percentile of a transaction's latency, in seconds.
    TxLatencyP99(Design),
    /// `bal_bytes(list)`: encoded size of a block's list, in bytes.
    BalBytes(ListForm),
    /// `device_fraction(d)`: block reads a second over the device's ceiling of the same run.
    DeviceFraction(Design),
}

const SPEEDUP: &str = "speedup";
const MGAS_PER_S: &str = "mgas_per_s";
const MS_PER_BLOCK: &str = "ms_per_block";
const TX_LATENCY_P99: &str = "tx_latency_p99";
const BAL_BYTES: &str = "bal_bytes";
const DEVICE_FRACTION: &str = "device_fraction";

/// Every metric with its form.
const FORMS: [(&str, &str); 6] = [
    (SPEEDUP, "speedup(design, design)"),
    (MGAS_PER_S, "mgas_per_s(design)"),
    (MS_PER_BLOCK, "ms_per_block(design)"),
    (TX_LATENCY_P99, "tx_latency_p99(design)"),
    (BAL_BYTES, "bal_bytes(list)"),
    (DEVICE_FRACTION, "device_fraction(design)"),
];

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speedup { of, over } => write!(f, "{SPEEDUP}({of}, {over})"),
            Self::MgasPerS(design) => write!(f, "{MGAS_PER_S}({design})"),
            Self::MsPerBlock(design) => write!(f, "{MS_PER_BLOCK}({design})"),
            Self::TxLatencyP99(design) => write!(f, "{TX_LATENCY_P99}({design})"),
            Self::BalBytes(list) => write!(f, "{BAL_BYTES}({list})"),
            Self::DeviceFraction(design) => write!(f, "{DEVICE_FRACTION}({design})"),
        }
    }
}

/// Parses `name(argument, …)`.
fn metric(text: &str) -> Result<Metric, Misfit> {
    let call = text.trim().strip_suffix(')').and_then(|call| call.split_once('('));
    let (name, arguments) = call.unwrap_or((text, ""));
    let name = name.trim();
    let Some((_, form)) = FORMS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown_metric(name));
    };
    let arguments: Vec<&str> = match call {
        Some(_) => arguments.split(',').map(str::trim).collect(),
        None => Vec::new(),
    };
    let wrong_form = || {
        let rule = format!("{} does not have the form {form}", shown(text));
        Misfit::new(rule, Remedy::text(&example(name)))
    };
    match (name, arguments.as_slice()) {
        (SPEEDUP, [of, over]) => {
            let (of, over) = (argument(of)?, argument(over)?);
            if of == over {
                let rule = format!("{} compares a design with itself", shown(text));
                return Err(Misfit::new(rule, Remedy::text(&example(name))));
            }
            Ok(Metric::Speedup { of, over })
        }
        (MGAS_PER_S, [design]) => Ok(Metric::MgasPerS(argument(design)?)),
        (MS_PER_BLOCK, [design]) => Ok(Metric::MsPerBlock(argument(design)?)),
        (TX_LATENCY_P99, [design]) => Ok(Metric::TxLatencyP99(argument(design)?)),
        (BAL_BYTES, [list]) => Ok(Metric::BalBytes(argument(list)?)),
        (DEVICE_FRACTION, [design]) => Ok(Metric::DeviceFraction(argument(design)?)),
        _ => Err(wrong_form()),
    }
}

fn argument<T: Named>(text: &str) -> Result<T, Misfit> {
    named(text)
}

fn example(name: &str) -> String {
    match name {
        SPEEDUP => format!("{SPEEDUP}(batched-io, parallel-io)"),
        name => format!("{name}(batched-io)"),
    }
}

fn unknown_metric(name: &str) -> Misfit {
    let forms: Vec<&str> = FORMS.iter().map(|(_, form)| *form).collect();
    let all = listed(&forms, "and");
    let advice = match nearest(name, FORMS.iter().map(|(known, _)| *known)) {
        Some(meant) => format!("did you mean {meant}? (metrics are {all})"),
        None => format!("metrics are {all}"),
    };
    Misfit::new(format!("{} is no metric", shown(name)), Remedy::advice(&advice))
}

/// Reads every `[[expect]]` of the file whose fields are `top`.
pub(crate) fn read(expects: &[Node], top: &Fields<'_>) -> Result<Vec<Expect>, Fault> {
    expects.iter().enumerate().map(|(index, node)| expect(index, node, top)).collect()
}

fn expect(index: usize, node: &Node, top: &Fields<'_>) -> Result<Expect, Fault> {
    let path = format!("expect[{index}]");
    let Value::Table(table) = &node.value else {
        let rule = format!("{} is {}; an expect is a table", node.given, node.value.kind());
        let remedy = Remedy::advice("write each expect under [[expect]]");
        return Err(Misfit::new(rule, remedy).at(&path, &node.origin));
    };
    let fields = top.within(&path, table, &node.origin, keys::EXPECT)?;
    let Some(text) = fields.text("metric")? else {
        return Err(fields.missing("metric", Remedy::text(&example(SPEEDUP))));
    };
    let metric = metric(text).map_err(|misfit| fields.fault("metric", misfit))?;
    let bound = match (fields.number("min")?, fields.number("max")?) {
        (Some(min), None) => Bound::Min(min),
        (None, Some(max)) => Bound::Max(max),
        (None, None) => {
            let rule = "neither min nor max is given; exactly one is wanted";
            let remedy = Remedy::advice("add min = … or max = …");
            return Err(Misfit::new(rule, remedy).at(&path, &node.origin));
        }
        (Some(_), Some(_)) => {
            let rule = "min is given too; exactly one is wanted";
            let remedy = Remedy::advice("keep one, and write a second [[expect]] for the other");
            return Err(fields.fault("max", Misfit::new(rule, remedy)));
        }
    };
    Ok(Expect { metric, bound, when: when(&fields)? })
}

fn when(fields: &Fields<'_>) -> Result<When, Fault> {
    let Some(node) = fields.get("when") else { return Ok(When::default()) };
    let Value::Table(table) = &node.value else {
        let rule = format!("{} is {}; when is a table", node.given, node.value.kind());
        let remedy = Remedy::advice("write when = { store = \"rocksdb\", cache = \"cold\" }");
        return Err(fields.fault("when", Misfit::new(rule, remedy)));
    };
    let inner = fields.within(&fields.key("when"), table, &node.origin, keys::WHEN)?;
    Ok(When { store: inner.named("store")?, cache: inner.named("cache")? })
}
