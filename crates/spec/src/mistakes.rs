//! Finds all mistakes of a scenario. After each mistake, the tree is repaired by its remedy and
//! read again. A repaired tree is never a scenario; it only lets the reader reach the next mistake.

use std::collections::BTreeSet;

use crate::fault::{Fault, Origin, key_path};
use crate::fields::NO_SUCH_KEY;
use crate::overrides::{self, Override};
use crate::scenario::Scenario;
use crate::tree::{self, Node, Parsed, Table, Value};
use crate::{keys, keys::ALTERNATIVES, read};

/// Maximum number of mistakes in an error.
pub(crate) const MISTAKES_MAX: usize = 10;

/// Valid values that replace wrong or missing values, by the last segment of their key. A key with
/// a default or a remedy needs no such value.
const STAND_INS: [(&str, &str); 10] = [
    ("name", "stand-in"),
    ("slots", "2M"),
    ("size", "1GiB"),
    ("gas", "64M"),
    ("limit", "64M"),
    ("transactions", "10k"),
    ("min", "0"),
    ("max", "0"),
    ("metric", "mgas_per_s(sequential)"),
    ("kind", "transfers"),
];

/// Reads a scenario's text with its overrides. The error is the list of its mistakes, in the order
/// of the file. It has at least one mistake, and at most one more than [`MISTAKES_MAX`], to show
/// that there are more.
pub(crate) fn read(text: &str, overrides: &[Override]) -> Result<Scenario, Vec<Fault>> {
    let Parsed { table: mut tree, mut faults, is_whole } = tree::parse(text);
    if is_whole {
        let overridden = overrides::apply(&mut tree, overrides, &mut faults);
        match read::scenario(&tree, overridden) {
            Ok(scenario) if faults.is_empty() => return Ok(scenario),
            Ok(_) => {}
            Err(first) => find_all(tree, first, &mut faults),
        }
    }
    faults.sort_by_key(|fault| match &fault.origin {
        Origin::Outside { .. } | Origin::WholeFile => 0,
        Origin::File(span) => span.start + 1,
    });
    faults.truncate(MISTAKES_MAX + 1);
    Err(faults)
}

/// Adds the mistake that the reader met first in the tree, and those that it meets after repairs.
fn find_all(mut tree: Table, first: Fault, faults: &mut Vec<Fault>) {
    let mut met = BTreeSet::new();
    let mut next = first;
    loop {
        let is_told = faults.iter().any(|known| known.key == next.key);
        // A second wrong value of a list has its own place. Any other fault of a repaired key
        // follows from the repair.
        if !is_told || is_item(&tree, &next.origin) {
            faults.push(next.clone());
        }
        let is_met = !met.insert((next.key.clone(), next.violation.rule.clone()));
        if is_met || faults.len() > MISTAKES_MAX {
            return;
        }
        let is_share = next.key.starts_with("load[") && next.key.ends_with(".share");
        if is_share {
            share_evenly(&mut tree, &next.key);
        } else if !repair(&mut tree, "", &next) {
            return;
        }
        match read::scenario(&tree, Vec::new()) {
            Ok(_) => return,
            Err(fault) => next = fault,
        }
    }
}

/// Returns whether a list of plain values has a value with this origin.
fn is_item(table: &Table, origin: &Origin) -> bool {
    table.entries.iter().any(|entry| match &entry.node.value {
        Value::Table(inner) => is_item(inner, origin),
        Value::List(items) => items.iter().any(|item| match &item.value {
            Value::Table(inner) => is_item(inner, origin),
            _ => item.origin == *origin,
        }),
        _ => false,
    })
}

/// Repairs the fault in the table at `path` or in a table below it. Returns `false` if no repair is
/// known.
fn repair(table: &mut Table, path: &str, fault: &Fault) -> bool {
    for index in 0..table.entries.len() {
        let below = key_path(path, &table.entries[index].key);
        if repair_below(&mut table.entries[index].node, &below, fault) {
            drop_emptied(table, index);
            return true;
        }
        let entry = &table.entries[index];
        let is_value = entry.node.origin == fault.origin && fault.key == below;
        // A value from outside has the same origin as its key.
        if is_value && fault.violation.rule != NO_SUCH_KEY {
            repair_value(table, index, fault);
            return true;
        }
        if entry.key_origin == fault.origin {
            repair_key(table, index, fault);
            return true;
        }
    }
    path.is_empty() && fault.origin == Origin::WholeFile && add(table, path, fault)
}

/// Repairs the fault in or below the value at `path`. Returns `false` if no repair is known.
fn repair_below(node: &mut Node, path: &str, fault: &Fault) -> bool {
    let is_here = node.origin == fault.origin;
    match &mut node.value {
        Value::Table(inner) => {
            repair(inner, path, fault)
                || is_here && is_below(fault, path) && add(inner, path, fault)
        }
        Value::List(items) => {
            let tables = items.iter_mut().enumerate();
            let tables = tables.filter(|(_, item)| matches!(item.value, Value::Table(_)));
            for (index, item) in tables {
                if repair_below(item, &format!("{path}[{index}]"), fault) {
                    return true;
                }
            }
            let is_wrong =
                |item: &Node| item.origin == fault.origin && !matches!(item.value, Value::Table(_));
            let count = items.len();
            items.retain(|item| !is_wrong(item));
            items.len() < count
        }
        _ => false,
    }
}

/// Removes a list that has lost its only value. An empty list may be another mistake.
fn drop_emptied(table: &mut Table, index: usize) {
    if matches!(&table.entries[index].node.value, Value::List(items) if items.is_empty()) {
        table.entries.remove(index);
    }
}

/// Gives a value the stand-in of its key, or removes it, so that its default holds.
fn repair_value(table: &mut Table, index: usize, fault: &Fault) {
    let key = table.entries[index].key.clone();
    if key == "kind" {
        return repair_kind(table, fault);
    }
    match stand_in(&key).filter(|_| !is_one_too_many(table, &key)) {
        Some(value) => table.entries[index].node = node(value),
        None => drop(table.entries.remove(index)),
    }
}

/// Returns whether the table also has another key of the same group of alternatives, which the
/// group lists earlier.
fn is_one_too_many(table: &Table, key: &str) -> bool {
    let mut groups = ALTERNATIVES.iter().map(|(_, keys)| *keys).chain([&["min", "max"][..]]);
    groups.any(|keys| {
        let index = keys.iter().position(|other| *other == key).unwrap_or(0);
        keys[..index].iter().any(|earlier| table.get(earlier).is_some())
    })
}

/// Sets the kind that the remedy suggests. Without a suggestion, sets a valid kind and removes the
/// load's own keys.
fn repair_kind(table: &mut Table, fault: &Fault) {
    match suggested(fault) {
        Some(kind) => table.set("kind", node(Value::Text(kind.to_owned()))),
        None => {
            table.entries.retain(|entry| keys::LOAD.contains(&entry.key.as_str()));
            table.set("kind", node(Value::Text("transfers".to_owned())));
        }
    }
}

/// Gives equal shares to the load with the wrong share and to all loads with a valid share. So the
/// sum of shares is no further mistake. Other wrong shares stay.
fn share_evenly(tree: &mut Table, wrong: &str) {
    let Some(Value::List(loads)) = tree.get_mut("load").map(|node| &mut node.value) else { return };
    let equal = 1.0 / loads.len() as f64;
    for (index, load) in loads.iter_mut().enumerate() {
        let Value::Table(load) = &mut load.value else { continue };
        let is_share = match load.get("share").map(|node| &node.value) {
            Some(Value::Float(share)) => *share > 0.0 && *share <= 1.0,
            Some(Value::Integer(share)) => *share == Some(1),
            _ => false,
        };
        if is_share || wrong == format!("load[{index}].share") {
            load.set("share", node(Value::Float(equal)));
        }
    }
}

/// Gives an unknown key the name that the remedy suggests, or removes the key.
fn repair_key(table: &mut Table, index: usize, fault: &Fault) {
    match suggested(fault).filter(|key| !key.contains('.') && table.get(key).is_none()) {
        Some(key) => table.entries[index].key = key.to_owned(),
        None => drop(table.entries.remove(index)),
    }
}

/// Adds the key that the fault calls missing to the table at `path`. Returns `false` if no value
/// for it is known.
fn add(table: &mut Table, path: &str, fault: &Fault) -> bool {
    // The fault is about `expect[0]` itself: it has no bound.
    let key = match fault.key == path {
        true => "min",
        false => fault.key.strip_prefix(path).unwrap_or(&fault.key).trim_start_matches('.'),
    };
    let remedy = fault.violation.remedy.write.as_ref();
    let written = remedy.map(|literal| Value::Outside(literal.on_command_line()));
    let Some(value) = stand_in(key).or(written) else { return false };
    table.set(key, node(value));
    true
}

/// The stand-in for a key's value, if there is one. A table or list has its required parts.
fn stand_in(key: &str) -> Option<Value> {
    match key {
        "schema" => Some(Value::Integer(Some(keys::SCHEMA))),
        "state" => stand_in_table("slots"),
        "block" => stand_in_table("gas"),
        "load" => Some(Value::List(vec![node(stand_in_table("kind")?)])),
        key => stand_in_text(key).map(|value| Value::Outside(value.to_owned())),
    }
}

fn stand_in_text(key: &str) -> Option<&'static str> {
    STAND_INS.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
}

/// A table with `key` alone.
fn stand_in_table(key: &str) -> Option<Value> {
    let mut table = Table::default();
    table.set(key, node(Value::Text(stand_in_text(key)?.to_owned())));
    Some(Value::Table(table))
}

/// The name that the remedy suggests.
fn suggested(fault: &Fault) -> Option<&str> {
    fault.violation.remedy.advice.strip_prefix("did you mean ")?.strip_suffix('?')
}

/// Returns whether the fault is about the table at `path`, or about a key that the table lacks.
fn is_below(fault: &Fault, path: &str) -> bool {
    fault.key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A value that was not in the text.
fn node(value: Value) -> Node {
    Node { value, origin: Origin::WholeFile, given: String::new() }
}
