//! The keys of a scenario. Keys of a run and of a kind of load are declared once, in a function
//! that lists, reads or writes them ([`Keyed`]). Lists of the other keys are here, and in the files
//! of `[run.rocksdb]` and `[run.mdbx]`. `paths.rs` has the paths of all keys.

use std::fmt::Write;

use variant::{Named, steers_terminal};
use workload::Fork;

use crate::fault::Fault;
use crate::fields::{Fields, Range};
use crate::quantity::underscored;
use crate::state::StateSpec;

/// The version of the format that this reader reads.
pub(crate) const SCHEMA: i128 = 1;

pub(crate) const TOP: &[&str] =
    &["schema", "name", "description", "fork", "seed", "state", "block", "load", "run", "expect"];
pub(crate) const STATE: &[&str] = &["accounts", "slots", "size", "layout", "present", "seed"];
pub(crate) const BLOCK: &[&str] =
    &["gas", "limit", "transactions", "blocks", "batch", "tx_gas", "order", "seed"];
/// Keys of every load; each kind adds its own.
pub(crate) const LOAD: &[&str] =
    &["kind", "share", "name", "tx_gas", "tx_gas_least", "sizes", "zipf", "seed"];
/// The keys of `[run]` that are tables.
pub(crate) const RUN_TABLES: &[&str] = &["rocksdb", "mdbx"];
pub(crate) const EXPECT: &[&str] = &["metric", "min", "max", "when"];
pub(crate) const WHEN: &[&str] = &["store", "cache"];

/// Groups of alternative keys, each with its table: at most one key of a group may be given. An
/// override of one key removes the others.
pub(crate) const ALTERNATIVES: &[(&str, &[&str])] = &[
    ("state", &["slots", "size"]),
    ("block", &["gas", "limit", "transactions"]),
    ("load", &["lengths", "hotspots"]),
];

/// Returns the keys that are alternatives to `key` in the table at `path`.
pub(crate) fn alternatives<'k>(
    path: &str,
    key: &'k str,
) -> impl Iterator<Item = &'static str> + 'k {
    let group = ALTERNATIVES.iter().find(|(table, keys)| *table == path && keys.contains(&key));
    let keys = group.map_or(&[][..], |(_, keys)| *keys);
    keys.iter().copied().filter(move |other| *other != key)
}

/// The name of a key.
pub(crate) type Key = &'static str;
/// The meaning of a key that is left out.
pub(crate) type Meaning = &'static str;
/// A value as TOML, or the meaning of an absent value.
pub(crate) type ValueOrMeaning = Result<String, Meaning>;
/// A key and its value.
pub(crate) type Entry = (Key, ValueOrMeaning);
/// Result of reading a value.
pub(crate) type Checked = Result<(), Fault>;

/// Meaning of a key of a load that is left out.
pub(crate) const LEFT_OUT: &str = "left out";

/// The facts outside of a load that its rules depend on.
#[derive(Clone, Copy)]
pub(crate) struct LoadEnv<'a> {
    pub(crate) fork: Fork,
    pub(crate) state: &'a StateSpec,
    /// The fields of `[state]`, for faults about its keys.
    pub(crate) state_fields: &'a Fields<'a>,
    /// Maximum gas of a transaction, by `block.tx_gas`.
    pub(crate) tx_gas: u64,
}

/// The values of a table, as a struct that declares their keys in one function. [`Keys`] runs it to
/// read, list or write them.
pub(crate) trait Keyed: Clone + Default {
    /// Visits the keys in the order in which they are written. Rules are checked only while
    /// reading.
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked;
}

/// A value that is true or false.
pub(crate) struct Flag<'a> {
    pub(crate) value: &'a mut bool,
    /// Value of a missing key.
    pub(crate) default: bool,
}

/// Runs [`Keyed::keys`]. With fields, keys are read into the struct; without, they are listed and
/// written from it.
#[derive(Default)]
pub(crate) struct Keys<'a> {
    fields: Option<&'a Fields<'a>>,
    env: Option<&'a LoadEnv<'a>>,
    names: Vec<Key>,
    entries: Vec<Entry>,
}

impl<'a> Keys<'a> {
    /// Reads a `T` from `fields`; `env` has the environment of a load.
    pub(crate) fn read<T: Keyed>(
        fields: &'a Fields<'a>,
        env: Option<&'a LoadEnv<'a>>,
    ) -> Result<T, Fault> {
        let mut value = T::default();
        value.keys(&mut Self { fields: Some(fields), env, ..Self::default() })?;
        Ok(value)
    }

    /// The names of the keys of a `T`.
    pub(crate) fn names<T: Keyed>() -> Vec<Key> {
        Self::written(&T::default()).names
    }

    /// The keys of `value` with their values.
    pub(crate) fn entries(value: &impl Keyed) -> Vec<Entry> {
        Self::written(value).entries
    }

    fn written<T: Keyed>(value: &T) -> Self {
        let mut keys = Self::default();
        // Only a value that is read can break a rule.
        let _ = value.clone().keys(&mut keys);
        keys
    }

    /// The fields that are read, for a rule between them.
    pub(crate) const fn fields(&self) -> Option<&'a Fields<'a>> {
        self.fields
    }

    /// The environment of the load that is read.
    pub(crate) const fn load_env(&self) -> Option<&'a LoadEnv<'a>> {
        self.env
    }

    /// Gives a key its place in the order. Its value is written later.
    pub(crate) fn reserve(&mut self, key: Key) {
        if !self.names.contains(&key) {
            self.names.push(key);
        }
    }

    /// Writes a key with its value.
    pub(crate) fn write(&mut self, key: Key, value: ValueOrMeaning) {
        self.reserve(key);
        self.entries.push((key, value));
    }

    /// Reads or writes a count within `range`; a missing key has the value `default`.
    pub(crate) fn count(
        &mut self,
        key: Key,
        value: &mut u64,
        range: &Range,
        default: u64,
    ) -> Checked {
        match self.fields {
            Some(fields) => *value = fields.count(key, range)?.unwrap_or(default),
            None => self.write(key, Ok(underscored(*value))),
        }
        Ok(())
    }

    /// Reads or writes an optional count within `range`.
    pub(crate) fn any_count(
        &mut self,
        key: Key,
        value: &mut Option<u64>,
        range: &Range,
    ) -> Checked {
        match self.fields {
            Some(fields) => *value = fields.count(key, range)?,
            None => self.write(key, value.map(underscored).ok_or(LEFT_OUT)),
        }
        Ok(())
    }

    /// Reads or writes a share; a missing key has the value `default`.
    pub(crate) fn share(&mut self, key: Key, value: &mut f64, default: f64) -> Checked {
        match self.fields {
            Some(fields) => *value = fields.share(key)?.unwrap_or(default),
            None => self.write(key, Ok(float(*value))),
        }
        Ok(())
    }

    /// Reads or writes `true` or `false`.
    pub(crate) fn flag(&mut self, key: Key, flag: Flag<'_>) -> Checked {
        match self.fields {
            Some(fields) => *flag.value = fields.flag(key)?.unwrap_or(flag.default),
            None => self.write(key, Ok(flag.value.to_string())),
        }
        Ok(())
    }

    /// Reads or writes a name; a missing key is the default.
    pub(crate) fn named<T: Named + Default>(&mut self, key: Key, value: &mut T) -> Checked {
        match self.fields {
            Some(fields) => *value = fields.named(key)?.unwrap_or_default(),
            None => self.write(key, Ok(quoted(value.name()))),
        }
        Ok(())
    }

    /// Reads or writes a name of a key that is newer than other keys of the table. The default is
    /// not written, so that the work has the same identity as before the key existed.
    pub(crate) fn named_unless_default<T: Named + Default>(
        &mut self,
        key: Key,
        value: &mut T,
    ) -> Checked {
        match self.fields {
            None if *value == T::default() => self.write(key, Err(LEFT_OUT)),
            _ => self.named(key, value)?,
        }
        Ok(())
    }

    /// Reads or writes an optional name; an absent name has the meaning `if_absent`.
    pub(crate) fn any_named<T: Named>(
        &mut self,
        key: Key,
        value: &mut Option<T>,
        if_absent: Meaning,
    ) -> Checked {
        match self.fields {
            Some(fields) => *value = fields.named(key)?,
            None => self.write(key, any_name(*value, if_absent)),
        }
        Ok(())
    }

    /// Reads or writes a list of names; a missing key has the value `default`.
    pub(crate) fn named_list<T: Named>(
        &mut self,
        key: Key,
        value: &mut Vec<T>,
        default: &[T],
    ) -> Checked {
        match self.fields {
            Some(fields) => *value = fields.named_list(key)?.unwrap_or_else(|| default.to_vec()),
            None => self.write(key, Ok(name_list(value))),
        }
        Ok(())
    }

    /// Reads or writes a name or a list of names; an empty list has the meaning `if_absent`.
    pub(crate) fn one_or_more<T: Named>(
        &mut self,
        key: Key,
        value: &mut Vec<T>,
        if_absent: Meaning,
    ) -> Checked {
        match self.fields {
            Some(fields) => *value = fields.one_or_more(key)?,
            None => self.write(key, one_or_more(value, if_absent)),
        }
        Ok(())
    }

    /// Reads or writes a list of counts within `range`; a missing key has the value `default`.
    pub(crate) fn counts(
        &mut self,
        key: Key,
        value: &mut Vec<u32>,
        range: &Range,
        default: &[u32],
    ) -> Checked {
        match self.fields {
            Some(fields) => {
                *value = counts(fields, key, range)?.unwrap_or_else(|| default.to_vec())
            }
            None => self.write(key, Ok(list(value))),
        }
        Ok(())
    }

    /// Reads or writes a list of counts within `range`; an empty list has the meaning `if_absent`.
    pub(crate) fn any_counts(
        &mut self,
        key: Key,
        value: &mut Vec<u32>,
        range: &Range,
        if_absent: Meaning,
    ) -> Checked {
        match self.fields {
            Some(fields) => *value = counts(fields, key, range)?.unwrap_or_default(),
            None => self.write(key, any_of(value, if_absent)),
        }
        Ok(())
    }

    /// Reads or writes addresses; `example` is a valid address.
    pub(crate) fn addresses(
        &mut self,
        key: Key,
        value: &mut Vec<String>,
        example: &str,
    ) -> Checked {
        match self.fields {
            Some(fields) => *value = fields.addresses(key, example)?,
            None => self.write(
                key,
                match value.is_empty() {
                    true => Err("started on this host"),
                    false => Ok(quoted(&value.join(","))),
                },
            ),
        }
        Ok(())
    }
}

fn counts(fields: &Fields<'_>, key: &str, range: &Range) -> Result<Option<Vec<u32>>, Fault> {
    let counts = fields.count_list(key, range)?;
    Ok(counts.map(|counts| counts.into_iter().map(narrowed).collect()))
}

/// Narrows a count whose range is known to be far below 2^32.
pub(crate) fn narrowed(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Writes a list of numbers.
pub(crate) fn list(items: &[impl ToString]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    format!("[{}]", items.join(", "))
}

/// Writes a list of numbers; an empty list has the meaning `if_absent`.
pub(crate) fn any_of(items: &[impl ToString], if_absent: Meaning) -> ValueOrMeaning {
    if items.is_empty() { Err(if_absent) } else { Ok(list(items)) }
}

fn name_list<T: Named>(names: &[T]) -> String {
    list(&names.iter().map(|name| quoted(name.name())).collect::<Vec<_>>())
}

/// Writes a name; an absent name has the meaning `if_absent`.
pub(crate) fn any_name<T: Named>(name: Option<T>, if_absent: Meaning) -> ValueOrMeaning {
    name.map(|name| quoted(name.name())).ok_or(if_absent)
}

/// Writes a list of names; an empty list has the meaning `if_absent`.
pub(crate) fn one_or_more<T: Named>(names: &[T], if_absent: Meaning) -> ValueOrMeaning {
    if names.is_empty() { Err(if_absent) } else { Ok(name_list(names)) }
}

/// Writes the shortest text that reads back as the same number, always with a point or an exponent.
pub(crate) fn float(value: f64) -> String {
    format!("{value:?}")
}

/// Writes a TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if steers_terminal(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
