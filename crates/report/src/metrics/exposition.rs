//! The text format of Prometheus, version 0.0.4. A sample of this format is one value with its
//! labels. Samples of one name are a family, which has a help text and a type.

use std::fmt::Write;

/// A family: its name, and the meaning of its values in one line. The name ends with the unit. That
/// of a counter (a sum over the timed samples of a run) has `_total` after the unit. All other
/// families are gauges, values at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric(pub(super) &'static str, pub(super) &'static str);

/// Names of a sample's labels with their values, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Labels(Vec<(&'static str, String)>);

impl Labels {
    /// These labels and one more.
    #[must_use]
    pub(super) fn with(&self, name: &'static str, value: impl Into<String>) -> Self {
        let mut all = self.0.clone();
        all.push((name, value.into()));
        Self(all)
    }

    /// The labels as text: `{scenario="erc20",threads="2"}`; empty without a label.
    fn text(&self) -> String {
        let pairs = self.0.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        let pairs: Vec<_> = pairs.collect();
        if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
    }
}

/// Families with their samples, in the order in which the families were first added to.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    families: Vec<(Metric, Vec<(Labels, f64)>)>,
}

impl Exposition {
    /// Adds a sample, unless its value is unknown or not finite. The samples of a family must have
    /// different labels, so a second one with the same labels is left out.
    pub(super) fn add(&mut self, metric: Metric, labels: &Labels, value: impl Into<Option<f64>>) {
        let Some(value) = value.into().filter(|value| value.is_finite()) else { return };
        let known = self.families.iter().position(|(family, _)| family.0 == metric.0);
        let at = known.unwrap_or_else(|| {
            self.families.push((metric, Vec::new()));
            self.families.len() - 1
        });
        let samples = &mut self.families[at].1;
        if samples.iter().all(|(other, _)| other != labels) {
            samples.push((labels.clone(), value));
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (Metric(name, help), samples) in &self.families {
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            let help = help.replace('\\', r"\\").replace('\n', r"\n");
            // Writing to a `String` does not fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(text, "{name}{} {value}", labels.text());
            }
        }
        text
    }
}

/// The value of a label between its quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}
