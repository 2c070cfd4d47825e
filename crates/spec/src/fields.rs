//! Typed reading of a table's keys. Every reader returns `None` for a missing key, and a fault for
//! a value that does not fit it. Nothing here knows the meaning of a key: `keys.rs` and the files
//! of the tables do, and call these readers.

use std::time::Duration;

use variant::Named;

use crate::fault::{
    Fault, Origin, Remedy, Violation, key_path, last_segment, listed, nearest, shown,
};
pub(crate) use crate::quantity::Range;
use crate::quantity::{self, grouped, underscored};
use crate::tree::{Node, Shape, Table, Value};

/// The rule that an unknown key breaks.
pub(crate) const NO_SUCH_KEY: &str = "no such key";

/// Words for "no" that a user may give in the place of a name.
const NO: [&str; 5] = ["no", "off", "false", "none", "never"];
/// Words for "yes" that a user may give in the place of a name.
const YES: [&str; 4] = ["yes", "on", "true", "always"];
/// Names of values that mean "no".
const REFUSALS: [&str; 3] = ["off", "none", "skip"];

/// A table's keys, with the table's path for errors.
pub(crate) struct Fields<'tree> {
    path: String,
    table: &'tree Table,
    origin: &'tree Origin,
    all_paths: fn() -> Vec<String>,
}

impl<'tree> Fields<'tree> {
    /// Makes the fields of the whole file. A key that is not `known` is a fault. The fault suggests
    /// the path among `all_paths` that ends with the key, or a key with a similar name.
    pub(crate) fn top(
        table: &'tree Table,
        known: &[&str],
        all_paths: fn() -> Vec<String>,
    ) -> Result<Self, Fault> {
        Self { path: String::new(), table, origin: &Origin::WholeFile, all_paths }.checked(known)
    }

    /// Makes the fields of another table of the same file, at `path`; a key that is not `known` is
    /// a fault.
    pub(crate) fn within<'other>(
        &self,
        path: &str,
        table: &'other Table,
        origin: &'other Origin,
        known: &[&str],
    ) -> Result<Fields<'other>, Fault> {
        let all_paths = self.all_paths;
        Fields { path: path.to_owned(), table, origin, all_paths }.checked(known)
    }

    fn checked(self, known: &[&str]) -> Result<Self, Fault> {
        match self.table.entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            None => Ok(self),
            Some(entry) => Err(unknown_key(&entry.key, known, (self.all_paths)())
                .at(&self.key(&shown(&entry.key)), &entry.key_origin)),
        }
    }

    /// The path of one of this table's keys.
    pub(crate) fn key(&self, key: &str) -> String {
        key_path(&self.path, key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'tree Node> {
        self.table.get(key)
    }

    /// Makes a fault about one of this table's keys: at its value, or at the table if the key is
    /// missing.
    pub(crate) fn fault(&self, key: &str, violation: Violation) -> Fault {
        violation.at(&self.key(key), self.get(key).map_or(self.origin, |node| &node.origin))
    }

    /// Makes the fault of a key that breaks `rule`.
    pub(crate) fn refusal(&self, key: &str, rule: impl Into<String>, remedy: Remedy) -> Fault {
        self.fault(key, Violation::new(rule, remedy))
    }

    /// Makes the fault of a missing key.
    pub(crate) fn missing(&self, key: &str, remedy: Remedy) -> Fault {
        self.refusal(key, "missing", remedy)
    }

    /// Makes the fault of alternative `keys`, of which none or several are given.
    pub(crate) fn exactly_one(&self, keys: &[&str], example: Remedy) -> Fault {
        let given: Vec<&str> = keys.iter().copied().filter(|key| self.get(key).is_some()).collect();
        let Some((last, others)) = given.split_last() else {
            let rule = format!("missing; exactly one of {} is wanted", listed(keys, "and"));
            return self.refusal(keys[0], rule, example);
        };
        let is_or_are = if others.len() > 1 { "are" } else { "is" };
        let count = if keys.len() == 2 { "the two" } else { "these keys" };
        let rule = format!(
            "{} {is_or_are} given too; exactly one of {count} is wanted",
            listed(others, "and")
        );
        let remedy = Remedy::advice(&format!("remove {}", listed(&given, "or")));
        self.refusal(last, rule, remedy)
    }

    fn read<T>(
        &self,
        key: &str,
        reader: impl FnOnce(&Node) -> Result<T, Violation>,
    ) -> Result<Option<T>, Fault> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let value = self.check_one(key, node).and_then(|()| reader(node));
        value.map(Some).map_err(|violation| self.fault(key, violation))
    }

    /// Refuses several values for a key that takes one value.
    fn check_one(&self, key: &str, node: &Node) -> Result<(), Violation> {
        let (values, rule): (Vec<&str>, String) = match &node.value {
            Value::List(items) => (
                items.iter().map(|item| item.given.as_str()).collect(),
                format!("{} is a list; {key} has one value", node.given),
            ),
            Value::Outside(text) if text.contains(',') => (
                text.split(',').map(str::trim).collect(),
                format!("{} are several values; {key} has one", node.given),
            ),
            _ => return Ok(()),
        };
        let path = self.key(key);
        let advice = match values.as_slice() {
            // A sweep gives each cell one of the values. A sweep cannot vary expectations.
            [_, _, ..] if !path.starts_with("expect") => {
                let axis = format!("{path}={}", shown(&values.join(",")));
                format!("write one; each in turn: `stress sweep SCENARIO {axis} --out DIR`")
            }
            _ => "write one value, without brackets".to_owned(),
        };
        Err(Violation::new(rule, Remedy::advice(&advice)))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'tree str>, Fault> {
        self.table.ask(key, || Shape::Text);
        let Some(node) = self.get(key) else { return Ok(None) };
        text(node).map(Some).map_err(|violation| self.fault(key, violation))
    }

    /// Reads addresses with ports, separated by commas; empty for a missing key. `example` is a
    /// valid address.
    pub(crate) fn addresses(&self, key: &str, example: &str) -> Result<Vec<String>, Fault> {
        let Some(given) = self.text(key)? else { return Ok(Vec::new()) };
        let addresses: Vec<String> = given.split(',').map(|one| one.trim().to_owned()).collect();
        match addresses.iter().find(|address| !is_host_and_port(address)) {
            None => Ok(addresses),
            Some(address) => {
                let rule = format!("{} is no HOST:PORT", shown(address));
                Err(self.refusal(key, rule, Remedy::text(example)))
            }
        }
    }

    pub(crate) fn count(&self, key: &str, range: &Range) -> Result<Option<u64>, Fault> {
        self.table.ask(key, || Shape::Count(range.least, range.most));
        self.read(key, |node| count(node, key, range))
    }

    /// Reads the key `seed`.
    pub(crate) fn seed(&self) -> Result<Option<u64>, Fault> {
        self.seed_at("seed")
    }

    pub(crate) fn seed_at(&self, key: &str) -> Result<Option<u64>, Fault> {
        self.table.ask(key, || Shape::Seed);
        self.read(key, seed)
    }

    pub(crate) fn share(&self, key: &str) -> Result<Option<f64>, Fault> {
        self.table.ask(key, || Shape::Share);
        self.read(key, share)
    }

    /// Reads a finite number of any sign.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, Fault> {
        self.table.ask(key, || Shape::Number);
        self.read(key, number)
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, Fault> {
        self.table.ask(key, || Shape::Flag);
        self.read(key, flag)
    }

    pub(crate) fn bytes(&self, key: &str) -> Result<Option<u64>, Fault> {
        self.table.ask(key, || Shape::Size);
        self.read(key, |node| quantity::bytes(unit_text(node, key, "10GiB")?))
    }

    pub(crate) fn duration(&self, key: &str) -> Result<Option<Duration>, Fault> {
        self.table.ask(key, || Shape::Duration);
        self.read(key, |node| quantity::duration(unit_text(node, key, "60s")?))
    }

    pub(crate) fn named<T: Named>(&self, key: &str) -> Result<Option<T>, Fault> {
        self.table.ask(key, || Shape::Name(T::names()));
        self.read(key, |node| named(text(node)?))
    }

    /// Reads one of a few names whose values have a type outside the crate `variant`.
    pub(crate) fn one_of<T: Copy>(
        &self,
        key: &str,
        noun: &str,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>, Fault> {
        self.table.ask(key, || Shape::Name(choices.iter().map(|(name, _)| *name).collect()));
        self.read(key, |node| choose(text(node)?, noun, choices))
    }

    pub(crate) fn named_list<T: Named>(&self, key: &str) -> Result<Option<Vec<T>>, Fault> {
        self.table.ask(key, || Shape::Names(T::names()));
        let example = T::ALL.first().map_or("", |value| value.name());
        self.list(key, &format!("[\"{example}\"]"), |node| named(text(node)?))
    }

    /// Reads one name or a list of names; empty for a missing key.
    pub(crate) fn one_or_more<T: Named>(&self, key: &str) -> Result<Vec<T>, Fault> {
        self.table.ask(key, || Shape::NameOrNames(T::names()));
        match self.get(key).map(|node| &node.value) {
            Some(Value::Text(_)) => Ok(self.named(key)?.into_iter().collect()),
            _ => Ok(self.named_list(key)?.unwrap_or_default()),
        }
    }

    pub(crate) fn count_list(&self, key: &str, range: &Range) -> Result<Option<Vec<u64>>, Fault> {
        self.table.ask(key, || Shape::Counts(range.least, range.most));
        self.list(key, "[8, 16]", |node| {
            count(node, key, range).map_err(|violation| in_list(node, range, violation))
        })
    }

    /// Reads a list without repetition. Outside a file, commas separate its values.
    fn list<T: PartialEq>(
        &self,
        key: &str,
        example: &str,
        reader: impl Fn(&Node) -> Result<T, Violation>,
    ) -> Result<Option<Vec<T>>, Fault> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let split: Vec<Node>;
        let items = match &node.value {
            Value::List(items) => items,
            Value::Outside(text) => {
                split = split_commas(text, &node.origin);
                &split
            }
            other => {
                let rule = format!("{} is {}; {key} is a list", node.given, other.kind());
                let advice = format!("write it in brackets: {key} = {example}");
                return Err(self.refusal(key, rule, Remedy::advice(&advice)));
            }
        };
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            let value = reader(item).and_then(|value| match out.contains(&value) {
                false => Ok(value),
                true => {
                    let rule = format!("{} is listed twice", item.given);
                    Err(Violation::new(rule, Remedy::advice("keep it once")))
                }
            });
            out.push(value.map_err(|violation| violation.at(&self.key(key), &item.origin))?);
        }
        Ok(Some(out))
    }
}

fn is_host_and_port(address: &str) -> bool {
    let parts = address.rsplit_once(':');
    parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

fn split_commas(text: &str, origin: &Origin) -> Vec<Node> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| Node {
            value: Value::Outside(item.to_owned()),
            origin: origin.clone(),
            given: shown(item),
        })
        .collect()
}

fn unknown_key(given: &str, known: &[&str], all_paths: Vec<String>) -> Violation {
    let elsewhere = all_paths.into_iter().find(|path| last_segment(path) == given);
    let here = nearest(given, known.iter().copied());
    let is_begun = here.is_some_and(|key| key.starts_with(given));
    let advice = match (elsewhere.filter(|_| !is_begun), here) {
        (Some(path), _) => format!("did you mean {path}?"),
        (None, Some(meant)) => format!("did you mean {meant}?"),
        (None, None) => format!("keys here are {}", listed(known, "and")),
    };
    Violation::new(NO_SUCH_KEY, Remedy::advice(&advice))
}

/// Makes the violation of a value that has another form than `what`.
fn wants(node: &Node, what: &str, example: Remedy) -> Violation {
    Violation::new(format!("{} is {}; {what} is wanted", node.given, node.value.kind()), example)
}

fn text(node: &Node) -> Result<&str, Violation> {
    match &node.value {
        Value::Text(text) | Value::Outside(text) => Ok(text),
        _ => Err(wants(node, "text in quotes", Remedy::text(&node.given))),
    }
}

/// Returns text with a unit. A bare number is a violation.
fn unit_text<'tree>(node: &'tree Node, key: &str, example: &str) -> Result<&'tree str, Violation> {
    match &node.value {
        Value::Text(text) | Value::Outside(text) => Ok(text),
        Value::Integer(_) | Value::Float(_) => {
            let rule = format!("{} has no unit; {key} wants one", node.given);
            let advice = format!("write {key} = \"{example}\", in quotes and with its unit");
            Err(Violation::new(rule, Remedy::advice(&advice)))
        }
        _ => Err(wants(node, "a quantity with its unit", Remedy::text(example))),
    }
}

/// Replaces the remedy of a wrong count in a list: the remedy of a single value would replace the
/// whole list.
fn in_list(node: &Node, range: &Range, violation: Violation) -> Violation {
    let text = match &node.value {
        Value::Text(text) | Value::Outside(text) => text.as_str(),
        _ => "",
    };
    let meant = quantity::range_ends(text).map(|(first, last)| range.between(first, last));
    if let Some(counts) = meant.filter(|counts| !counts.is_empty()) {
        let rule =
            format!("{} is a range; a list has each number, with commas between", node.given);
        let is_whole_list =
            matches!(&node.origin, Origin::Outside { value, .. } if value.trim() == text);
        let remedy = match is_whole_list {
            true => Remedy::list(&counts),
            false => Remedy::advice(&format!("write {} in its place", counts.join(", "))),
        };
        return Violation::new(rule, remedy);
    }
    let (least, most) = (grouped(range.least), grouped(range.most));
    let allowed = format!("counts from {least} to {most} are allowed");
    Violation { remedy: Remedy::list(&["8", "16"]).and(&allowed), ..violation }
}

/// Reads a count within its range, from an integer or from text with an SI suffix.
fn count(node: &Node, key: &str, range: &Range) -> Result<u64, Violation> {
    let value = match &node.value {
        Value::Text(text) | Value::Outside(text) => quantity::count(text, key, &range.example())?,
        Value::Integer(integer) => match integer.map(u64::try_from) {
            Some(Ok(value)) => value,
            Some(Err(_)) if integer.is_some_and(|value| value < 0) => {
                let rule = format!("{} is negative; {key} is a count", node.given);
                return Err(Violation::new(rule, Remedy::bare(underscored(range.least))));
            }
            Some(Err(_)) | None => return Err(above(&node.given, range)),
        },
        Value::Float(float) => {
            // 2^53: from there on a float cannot represent every whole number.
            let whole = float.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(float);
            let remedy = if whole {
                Remedy::bare(format!("{float:.0}"))
            } else {
                Remedy::advice(&format!("write an integer, or text such as {key} = \"2.2G\""))
            };
            return Err(wants(node, "a whole count", remedy));
        }
        _ => {
            let example = range.example();
            let is_bare = example.bytes().all(|digit| digit.is_ascii_digit());
            let remedy = if is_bare { Remedy::bare(example) } else { Remedy::text(&example) };
            return Err(wants(node, "a count", remedy));
        }
    };
    if value < range.least {
        let least = range.least;
        let rule = format!("{} is below {}, {}", node.given, grouped(least), range.below);
        return Err(Violation::new(rule, Remedy::bare(underscored(least)).and("or more")));
    }
    if value > range.most {
        return Err(above(&node.given, range));
    }
    Ok(value)
}

fn above(given: &str, range: &Range) -> Violation {
    let rule = format!("{given} is above {}, {}", grouped(range.most), range.above);
    Violation::new(rule, Remedy::bare(underscored(range.most)).and("or less"))
}

fn seed(node: &Node) -> Result<u64, Violation> {
    let value = match &node.value {
        Value::Integer(Some(integer)) => u64::try_from(*integer).ok(),
        Value::Outside(text) => text.parse().ok(),
        _ => None,
    };
    value.ok_or_else(|| {
        let rule = format!("{} is no seed; a seed is an integer from 0 to 2^64 - 1", node.given);
        Violation::new(rule, Remedy::bare(7).and("any other integer is as good"))
    })
}

fn flag(node: &Node) -> Result<bool, Violation> {
    match &node.value {
        Value::Flag(flag) => Ok(*flag),
        Value::Outside(text) if text == "true" => Ok(true),
        Value::Outside(text) if text == "false" => Ok(false),
        _ => {
            let rule = format!("{} is neither true nor false", node.given);
            Err(Violation::new(rule, Remedy::bare(true).and("without quotes, or false")))
        }
    }
}

fn number(node: &Node) -> Result<f64, Violation> {
    let value = match &node.value {
        // Exact up to 2^53, and no bound is larger or finer.
        Value::Integer(Some(integer)) => Some(*integer as f64),
        Value::Float(float) => Some(*float),
        Value::Outside(text) => text.parse().ok(),
        _ => None,
    };
    // Adding zero turns -0 into 0, so that equal numbers are written alike.
    value.filter(|value| value.is_finite()).map(|value| value + 0.0).ok_or_else(|| {
        let rule = format!("{} is no finite number", node.given);
        Violation::new(rule, Remedy::advice("write a number without quotes, such as 1.5"))
    })
}

fn share(node: &Node) -> Result<f64, Violation> {
    let value = number(node).ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| {
        let rule = format!("{} is no share; a share is a number from 0 to 1", node.given);
        let advice = match (&node.value, number(node)) {
            (Value::Text(_), _) => "write it without quotes, 0.25 for a quarter".to_owned(),
            (_, Ok(percent)) if percent > 1.0 && percent <= 100.0 => {
                format!("write {:?} for {percent} %", percent / 100.0)
            }
            _ => "write 0.25 for a quarter".to_owned(),
        };
        Violation::new(rule, Remedy::advice(&advice))
    })
}

/// Reads one of a closed set of names.
pub(crate) fn named<T: Named>(given: &str) -> Result<T, Violation> {
    let choices: Vec<(&str, T)> = T::ALL.iter().map(|value| (value.name(), *value)).collect();
    choose(given, T::NOUN, &choices)
}

fn choose<T: Copy>(given: &str, noun: &str, choices: &[(&str, T)]) -> Result<T, Violation> {
    if let Some((_, value)) = choices.iter().find(|(name, _)| *name == given) {
        return Ok(*value);
    }
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let all = listed(&names, "or");
    let meant = name_of_answer(given, &names).or_else(|| nearest(given, names.iter().copied()));
    let advice = match meant {
        Some(meant) => format!("did you mean {meant}? (one of {all})"),
        None => format!("use {all}"),
    };
    // Without quotes the sentence would read as `no is no …`.
    let value = if is_answer(given) { format!("\"{given}\"") } else { shown(given) };
    Err(Violation::new(format!("{value} is no {noun}"), Remedy::advice(&advice)))
}

fn is_answer(given: &str) -> bool {
    NO.contains(&given) || YES.contains(&given)
}

/// Finds the name that the user's "no" means. If there are two names, "yes" means the other one.
fn name_of_answer<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let refusal = *names.iter().find(|name| REFUSALS.contains(*name))?;
    match (NO.contains(&given), YES.contains(&given), names.len()) {
        (true, _, _) => Some(refusal),
        (false, true, 2) => names.iter().find(|name| !REFUSALS.contains(*name)).copied(),
        _ => None,
    }
}
