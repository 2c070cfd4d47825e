//! `[[expect]]`: a claim on the results, as a bound on a metric such as `speedup(batched-io,
//! parallel-io)`. `src/figures/claims/` judges it.

use std::fmt;

use crate::fault::{Fault, Remedy, Violation, listed, nearest, shown};
use crate::fields::{Fields, named};
use crate::keys;
use crate::tree::{Node, Value};
use variant::{CacheMode, Design, ListForm, Named, StoreKind};

/// A bound that a result must keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// The bounded metric.
    pub metric: Metric,
    /// The rows that the metric is read from.
    pub scope: Scope,
    /// The bound, inclusive.
    pub bound: Bound,
    /// The runs in which the claim is judged.
    pub when: When,
}

variant::named! {
    /// The rows of a claim. By default these are whole blocks, since a validator waits for them.
    #[derive(Default)]
    pub enum Scope: "scope of a claim" {
        /// Rows that run whole blocks.
        #[default]
        Whole = "whole",
        /// Rows that run no whole blocks: execution alone, or with some duties.
        Execution = "execution",
    }
}

impl Expect {
    /// Whether the claim is judged on rows that run whole blocks.
    pub fn is_on_whole_blocks(&self) -> bool {
        self.scope == Scope::Whole && !matches!(self.metric, Metric::BalBytes(_))
    }

    /// Returns the metric as a scenario writes it: `execution(ms_per_block(batched-io))`.
    pub fn text(&self) -> String {
        match self.scope {
            Scope::Whole => self.metric.to_string(),
            Scope::Execution => self.scoped(),
        }
    }

    /// Returns the metric with its scope, also with the default scope. The size of a list has no
    /// scope.
    pub fn scoped(&self) -> String {
        match self.metric {
            Metric::BalBytes(_) => self.metric.to_string(),
            _ => format!("{}({})", self.scope, self.metric),
        }
    }
}

/// An inclusive bound, finite, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The metric is at least this value.
    Min(f64),
    /// The metric is at most this value.
    Max(f64),
}

/// The runs in which an expectation is judged; a field that is `None` allows all values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct When {
    /// Only runs with this store.
    pub store: Option<StoreKind>,
    /// Only runs with this cache state.
    pub cache: Option<CacheMode>,
}

/// A figure of a run's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// `speedup(a, b)`: the speed of design `a` as a multiple of the speed of design `b`.
    Speedup {
        /// The design `a`.
        of: Design,
        /// The design `b`, the base.
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
    /// `device_fraction(d)`: block reads a second over the device's rate on the same blocks.
    DeviceFraction(Design),
}

impl Metric {
    /// Returns the designs that a run needs for the metric.
    pub fn designs(self) -> Vec<Design> {
        match self {
            Self::Speedup { of, over } => vec![of, over],
            Self::MgasPerS(design)
            | Self::MsPerBlock(design)
            | Self::TxLatencyP99(design)
            | Self::DeviceFraction(design) => vec![design],
            Self::BalBytes(_) => Vec::new(),
        }
    }
}

variant::named! {
    /// The metrics without their arguments.
    pub(crate) enum MetricKind: "metric" {
        /// See [`Metric::Speedup`].
        Speedup = "speedup",
        /// See [`Metric::MgasPerS`].
        MgasPerS = "mgas_per_s",
        /// See [`Metric::MsPerBlock`].
        MsPerBlock = "ms_per_block",
        /// See [`Metric::TxLatencyP99`].
        TxLatencyP99 = "tx_latency_p99",
        /// See [`Metric::BalBytes`].
        BalBytes = "bal_bytes",
        /// See [`Metric::DeviceFraction`].
        DeviceFraction = "device_fraction",
    }
}

impl MetricKind {
    /// Form of the metric, with the kinds of its arguments.
    fn form(self) -> String {
        let arguments = match self {
            Self::Speedup => "design, design",
            Self::BalBytes => "list",
            Self::MgasPerS | Self::MsPerBlock | Self::TxLatencyP99 | Self::DeviceFraction => {
                "design"
            }
        };
        format!("{self}({arguments})")
    }

    /// An example of the metric with valid arguments.
    pub(crate) fn example(self) -> String {
        match self {
            Self::Speedup => format!("{self}(batched-io, parallel-io)"),
            _ => format!("{self}(batched-io)"),
        }
    }

    /// Makes the metric with these arguments; `text` is the whole text that the user gave, for the
    /// violation.
    fn of(self, arguments: &[&str], text: &str) -> Result<Metric, Violation> {
        let rule = match (self, arguments) {
            (Self::Speedup, [of, over]) => {
                let (of, over) = (named(of)?, named(over)?);
                if of != over {
                    return Ok(Metric::Speedup { of, over });
                }
                format!("{} compares a design with itself", shown(text))
            }
            (Self::MgasPerS, [one]) => return Ok(Metric::MgasPerS(named(one)?)),
            (Self::MsPerBlock, [one]) => return Ok(Metric::MsPerBlock(named(one)?)),
            (Self::TxLatencyP99, [one]) => return Ok(Metric::TxLatencyP99(named(one)?)),
            (Self::BalBytes, [one]) => return Ok(Metric::BalBytes(named(one)?)),
            (Self::DeviceFraction, [one]) => return Ok(Metric::DeviceFraction(named(one)?)),
            _ => format!("{} does not have the form {}", shown(text), self.form()),
        };
        Err(Violation::new(rule, Remedy::text(&self.example())))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speedup { of, over } => write!(f, "{}({of}, {over})", MetricKind::Speedup),
            Self::MgasPerS(design) => write!(f, "{}({design})", MetricKind::MgasPerS),
            Self::MsPerBlock(design) => write!(f, "{}({design})", MetricKind::MsPerBlock),
            Self::TxLatencyP99(design) => write!(f, "{}({design})", MetricKind::TxLatencyP99),
            Self::BalBytes(list) => write!(f, "{}({list})", MetricKind::BalBytes),
            Self::DeviceFraction(design) => write!(f, "{}({design})", MetricKind::DeviceFraction),
        }
    }
}

/// Parses a metric, alone or in its scope, such as `execution(mgas_per_s(full))`.
fn scoped_metric(text: &str) -> Result<(Scope, Metric), Violation> {
    let call = text.trim().strip_suffix(')').and_then(|call| call.split_once('('));
    let scoped = call.and_then(|(name, inner)| Some((Scope::from_name(name.trim())?, inner)));
    let Some((scope, inner)) = scoped else { return Ok((Scope::default(), metric(text)?)) };
    match metric(inner)? {
        Metric::BalBytes(_) => {
            let rule = format!("{} has no scope: a list is of the work", shown(inner));
            Err(Violation::new(rule, Remedy::text(inner)))
        }
        metric => Ok((scope, metric)),
    }
}

/// Parses a metric without a scope: `name(argument, …)`.
pub(crate) fn metric(text: &str) -> Result<Metric, Violation> {
    let call = text.trim().strip_suffix(')').and_then(|call| call.split_once('('));
    let (name, arguments) = call.unwrap_or((text, ""));
    let Some(kind) = MetricKind::from_name(name.trim()) else {
        return Err(unknown_metric(name.trim()));
    };
    let arguments: Vec<&str> = match call {
        Some(_) => arguments.split(',').map(str::trim).collect(),
        None => Vec::new(),
    };
    kind.of(&arguments, text)
}

fn unknown_metric(name: &str) -> Violation {
    let forms: Vec<String> = MetricKind::ALL.iter().map(|kind| kind.form()).collect();
    let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
    let all = listed(&forms, "and") + "; execution(metric) leaves out the whole block";
    let advice = match nearest(name, MetricKind::names()) {
        Some(meant) => format!("did you mean {meant}? (metrics are {all})"),
        None => format!("metrics are {all}"),
    };
    Violation::new(format!("{} is no metric", shown(name)), Remedy::advice(&advice))
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
        return Err(Violation::new(rule, remedy).at(&path, &node.origin));
    };
    let fields = top.within(&path, table, &node.origin, keys::EXPECT)?;
    let Some(text) = fields.text("metric")? else {
        return Err(fields.missing("metric", Remedy::text(&MetricKind::Speedup.example())));
    };
    let (scope, metric) =
        scoped_metric(text).map_err(|violation| fields.fault("metric", violation))?;
    let bound = match (fields.number("min")?, fields.number("max")?) {
        (Some(min), None) => Bound::Min(min),
        (None, Some(max)) => Bound::Max(max),
        (None, None) => {
            let rule = "neither min nor max is given; exactly one is wanted";
            let remedy = Remedy::advice("add min = … or max = …");
            return Err(Violation::new(rule, remedy).at(&path, &node.origin));
        }
        (Some(_), Some(_)) => {
            let rule = "min is given too; exactly one is wanted";
            let remedy = Remedy::advice("keep one, and write a second [[expect]] for the other");
            return Err(fields.refusal("max", rule, remedy));
        }
    };
    Ok(Expect { metric, scope, bound, when: when(&fields)? })
}

fn when(fields: &Fields<'_>) -> Result<When, Fault> {
    let Some(node) = fields.get("when") else { return Ok(When::default()) };
    let Value::Table(table) = &node.value else {
        let rule = format!("{} is {}; when is a table", node.given, node.value.kind());
        let remedy = Remedy::advice("write when = { store = \"rocksdb\", cache = \"cold\" }");
        return Err(fields.refusal("when", rule, remedy));
    };
    let inner = fields.within(&fields.key("when"), table, &node.origin, keys::WHEN)?;
    Ok(When { store: inner.named("store")?, cache: inner.named("cache")? })
}
