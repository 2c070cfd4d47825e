//! Values given from outside the file, such as `--gas 640M`. `mistakes.rs` puts them into the tree
//! in place of the file's values, before anything is checked. An error about such a value names the
//! option instead of a line.

use crate::fault::{Fault, Origin, Remedy, Violation, last_segment, listed, nearest, shown};
use crate::fields::NO_SUCH_KEY;
use crate::keys::alternatives;
use crate::paths::override_paths;
use crate::tree::{Node, Table, Value};

/// A key set from outside the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Key path: `state.slots`, `block.gas`, `run.threads`; `load[1].keys`, or `load.keys` if there
    /// is one load.
    pub key: String,
    /// The value without quotes; a list's values are separated by commas.
    pub value: String,
    /// The user's words, shown in errors: `--gas 640M`.
    pub origin: String,
}

impl Override {
    /// An override of `key`; errors name `origin`.
    pub fn new(
        key: impl Into<String>,
        value: impl Into<String>,
        origin: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), value: value.into(), origin: origin.into() }
    }
}

/// The table and the key of an override.
enum Target {
    Top(String),
    Table { table: String, key: String },
    Load { index: Option<usize>, key: String },
}

/// Puts the overrides into the tree. Returns the key paths of overrides that change the work. An
/// override that fits no key is left out and added to `faults`.
pub(crate) fn apply(
    tree: &mut Table,
    overrides: &[Override],
    faults: &mut Vec<Fault>,
) -> Vec<String> {
    let mut overridden = Vec::new();
    for given in overrides {
        let path = match put(tree, given) {
            Ok(path) => path,
            Err(fault) => {
                faults.push(fault);
                continue;
            }
        };
        let is_work = !matches!(path.as_str(), "name" | "description") && !path.starts_with("run.");
        if is_work && !overridden.contains(&path) {
            overridden.push(path);
        }
    }
    overridden
}

/// Puts one override into the tree. Returns its key path, with the index of the load.
fn put(tree: &mut Table, given: &Override) -> Result<String, Fault> {
    match target(given)? {
        Target::Top(key) => {
            set(tree, &key, given)?;
            Ok(key)
        }
        Target::Table { table, key } => {
            let entries = subtable(tree, &table, given);
            if let Some(entries) = entries {
                remove_alternatives(entries, &table, &key, given)?;
                set(entries, &key, given)?;
            }
            Ok(format!("{table}.{key}"))
        }
        Target::Load { index, key } => set_load(tree, index, &key, given),
    }
}

fn origin(given: &Override) -> Origin {
    Origin::Outside { origin: given.origin.clone(), value: given.value.clone() }
}

fn node(given: &Override) -> Node {
    Node {
        value: Value::Outside(given.value.clone()),
        origin: origin(given),
        given: shown(&given.value),
    }
}

/// Makes a fault at an override.
fn fault(given: &Override, rule: String, advice: &str) -> Fault {
    Violation::new(rule, Remedy::advice(advice)).at(&shown(&given.key), &origin(given))
}

fn target(given: &Override) -> Result<Target, Fault> {
    let paths = override_paths();
    let (plain, index) = split_index(&given.key);
    if !paths.contains(&plain) {
        return Err(unknown(given, &plain, &paths));
    }
    match plain.rsplit_once('.') {
        None => Ok(Target::Top(plain)),
        Some(("load", key)) => Ok(Target::Load { index, key: key.to_owned() }),
        Some((table, key)) => Ok(Target::Table { table: table.to_owned(), key: key.to_owned() }),
    }
}

/// Splits `load[2].keys` into `load.keys` and 2. Returns any other path as it is.
fn split_index(path: &str) -> (String, Option<usize>) {
    path.strip_prefix("load[")
        .and_then(|rest| rest.split_once("]."))
        .and_then(|(index, key)| Some((format!("load.{key}"), Some(index.parse().ok()?))))
        .unwrap_or_else(|| (path.to_owned(), None))
}

fn with_last_segment<'p>(paths: &'p [String], wanted: &str) -> Option<&'p str> {
    paths.iter().find(|path| last_segment(path) == wanted).map(String::as_str)
}

/// The table of a path; `None` for a path without a table.
fn table_of(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(table, _)| table)
}

fn unknown(given: &Override, plain: &str, paths: &[String]) -> Fault {
    let meant = with_last_segment(paths, plain)
        .or_else(|| nearest(plain, paths.iter().map(String::as_str)))
        .or_else(|| {
            with_last_segment(paths, nearest(plain, paths.iter().map(|path| last_segment(path)))?)
        });
    let advice = match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => allowed(plain, paths),
    };
    fault(given, NO_SUCH_KEY.to_owned(), &advice)
}

/// Lists the keys of the table of `wanted`. For an unknown table, lists the keys without a table,
/// and all tables.
fn allowed(wanted: &str, paths: &[String]) -> String {
    let mut tables: Vec<&str> = paths.iter().filter_map(|path| table_of(path)).collect();
    tables.dedup();
    let wanted = table_of(wanted).filter(|table| tables.contains(table));
    let keys = paths.iter().filter(|path| table_of(path) == wanted);
    let keys: Vec<&str> = keys.map(|path| last_segment(path)).collect();
    match wanted {
        Some(table) => format!("keys of {table} are {}", listed(&keys, "and")),
        None => {
            format!("keys are {}, and those of {}", listed(&keys, "and"), listed(&tables, "and"))
        }
    }
}

/// The table at a path such as `state` or `run.rocksdb`, in which a key is set. A missing table is
/// made. `None` if the file has another value there, which the reader rejects.
fn subtable<'tree>(
    tree: &'tree mut Table,
    path: &str,
    given: &Override,
) -> Option<&'tree mut Table> {
    path.split('.').try_fold(tree, |table, name| child(table, name, given))
}

fn child<'tree>(tree: &'tree mut Table, name: &str, given: &Override) -> Option<&'tree mut Table> {
    if tree.get(name).is_none() {
        let value = Value::Table(Table::default());
        tree.set(name, Node { value, ..node(given) });
    }
    match &mut tree.get_mut(name)?.value {
        Value::Table(entries) => Some(entries),
        _ => None,
    }
}

fn set(table: &mut Table, key: &str, given: &Override) -> Result<(), Fault> {
    if let Some(Node { origin: Origin::Outside { origin: earlier, .. }, .. }) = table.get(key) {
        let rule = format!("given twice, by {} too", shown(earlier));
        return Err(fault(given, rule, "keep one of them"));
    }
    table.set(key, node(given));
    Ok(())
}

/// Removes the keys that are alternatives to `key`. An alternative that another override set is a
/// fault.
fn remove_alternatives(
    entries: &mut Table,
    table: &str,
    key: &str,
    given: &Override,
) -> Result<(), Fault> {
    for other in alternatives(table, key) {
        let there = entries.get(other).map(|node| &node.origin);
        if let Some(Origin::Outside { origin: earlier, .. }) = there {
            let rule = format!("contradicts {}: exactly one of {key} and {other}", shown(earlier));
            let violation = Violation::new(rule, Remedy::advice("keep one of them"));
            return Err(violation.at(&given.key, &origin(given)));
        }
        entries.remove(other);
    }
    Ok(())
}

fn set_load(
    tree: &mut Table,
    index: Option<usize>,
    key: &str,
    given: &Override,
) -> Result<String, Fault> {
    let loads = match tree.get_mut("load").map(|node| &mut node.value) {
        Some(Value::List(loads)) => loads,
        // No list of loads: the reader rejects this value.
        Some(_) => return Ok(format!("load.{key}")),
        None => {
            let rule = "the scenario has no [[load]]".to_owned();
            return Err(fault(given, rule, "add one to the file"));
        }
    };
    let load_count = loads.len();
    let index = match index {
        Some(index) => index,
        None if load_count == 1 => 0,
        None => {
            let rule = format!("names none of the {load_count} loads");
            return Err(fault(given, rule, &format!("write load[0].{key} for the first")));
        }
    };
    let Some(load) = loads.get_mut(index) else {
        let rule = format!("load[{index}] does not exist; there are {load_count}, from load[0]");
        return Err(fault(given, rule, &format!("write load[0].{key} for the first")));
    };
    if let Value::Table(entries) = &mut load.value {
        remove_alternatives(entries, "load", key, given)?;
        set(entries, key, given)?;
    }
    Ok(format!("load[{index}].{key}"))
}
