//! Makes the JSON Schema of scenarios (`stress show schema`), for editors. Its sources are the
//! reader's lists of keys and rules for each key, and the key's text in `docs/scenario.md`. Rules
//! between keys are not in the schema: the reader alone checks them.

use serde_json::{Map, Value, json};

use crate::fault::key_path;
use crate::guide;
use crate::keys::{self, ALTERNATIVES, Keys};
use crate::load::{KINDS, Kind};
use crate::scenario::RunSpec;
use crate::tree::{self, Shape, Table, Value as Toml};
use crate::{mdbx, read, rocksdb};

/// A scenario with every table, and with the largest state and block, so that limits are the
/// widest.
const PROBE: &str = "\
schema = 1
name = \"probe\"
[state]
accounts = 4_294_967_296
slots = 1_099_511_627_776
[block]
gas = 1_000_000_000_000
tx_gas = 4_294_967_295
[[load]]
kind = \"KIND\"
[run]
[run.rocksdb]
[run.mdbx]
[[expect]]
metric = \"mgas_per_s(sequential)\"
min = 0
[expect.when]
";

/// Digits with an optional fraction: the beginning of every quantity in text.
const NUMBER: &str = r"^\s*[0-9]([0-9_]*[0-9])?(\.[0-9]([0-9_]*[0-9])?)?\s*";

/// The keys that the reader asked for in one table.
type Asked = Vec<(String, Shape)>;

/// Returns the schema as JSON text.
pub fn json_schema() -> String {
    let probes: Vec<(&Kind, Table)> = KINDS.iter().map(|kind| (kind, probe(kind.name))).collect();
    let loads: Vec<Value> = probes.iter().map(|(kind, tree)| load(kind, tree)).collect();
    let tree = probes.first().map(|(_, tree)| tree.clone()).unwrap_or_default();
    let mut run = object(&tree, "run", &Keys::names::<RunSpec>(), &[]);
    run["properties"]["rocksdb"] = object(&tree, rocksdb::PATH, &rocksdb::keys(), &[]);
    run["properties"]["mdbx"] = object(&tree, mdbx::PATH, mdbx::KEYS, &[]);
    let mut expect = object(&tree, "expect", keys::EXPECT, &["metric"]);
    let when = object(&tree, "expect.when", keys::WHEN, &[]);
    expect["properties"]["when"] = described(when, "expect.when", None);
    let mut top = object(&tree, "", keys::TOP, &["schema", "name", "state", "block", "load"]);
    let properties = &mut top["properties"];
    properties["schema"] = described(json!({ "const": keys::SCHEMA as u64 }), "schema", None);
    properties["name"] =
        described(json!({ "type": "string", "pattern": "^[a-z0-9-]{1,64}$" }), "name", None);
    properties["state"] = object(&tree, "state", keys::STATE, &[]);
    properties["block"] = object(&tree, "block", keys::BLOCK, &[]);
    properties["load"] = json!({ "type": "array", "minItems": 1, "items": { "oneOf": loads } });
    properties["run"] = run;
    properties["expect"] = json!({ "type": "array", "items": expect });
    top["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    top["title"] = json!("A scenario of stress");
    // A value of text keys and numbers can always be written.
    let mut text = serde_json::to_string_pretty(&top).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the tree of a scenario with a load of `kind`, after the reader has asked for its keys.
/// Whether the reader accepts the scenario does not matter.
fn probe(kind: &str) -> Table {
    let tree = tree::parse(&PROBE.replace("KIND", kind)).table;
    drop(read::scenario(&tree, Vec::new()));
    tree
}

fn load(kind: &Kind, tree: &Table) -> Value {
    let known = [keys::LOAD, &kind.keys].concat();
    let mut load = table(&asked(tree, "load"), "load", &known, &["kind"], Some(kind.name));
    load["properties"]["kind"] = described(json!({ "const": kind.name }), "load.kind", None);
    load
}

fn object(tree: &Table, path: &str, known: &[&str], required: &[&str]) -> Value {
    table(&asked(tree, path), path, known, required, None)
}

/// Makes the schema of the table at `path` with its `known` keys, of which `asked` has the values.
fn table(
    asked: &Asked,
    path: &str,
    known: &[&str],
    required: &[&str],
    kind: Option<&str>,
) -> Value {
    let mut properties = Map::new();
    for key in known {
        let shape = asked.iter().find(|(asked, _)| asked == key);
        let value = shape.map_or_else(|| json!({}), |(_, shape)| shape_schema(shape));
        properties.insert((*key).to_owned(), described(value, &key_path(path, key), kind));
    }
    let mut out =
        json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    if let Some((_, keys)) = ALTERNATIVES.iter().find(|(table, _)| *table == path) {
        let pairs = keys.iter().enumerate().flat_map(|(index, first)| {
            keys[index + 1..].iter().map(move |second| json!({ "required": [first, second] }))
        });
        let pairs: Vec<Value> = pairs.collect();
        out["not"] = match pairs.as_slice() {
            [only] => only.clone(),
            _ => json!({ "anyOf": pairs }),
        };
    }
    out
}

/// Returns the keys that the reader asked for in the table at `path`. In a list of tables, the
/// first table counts.
fn asked(tree: &Table, path: &str) -> Asked {
    let mut table = tree;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        let within = match table.get(name).map(|node| &node.value) {
            Some(Toml::List(items)) => items.first().map(|node| &node.value),
            other => other,
        };
        let Some(Toml::Table(next)) = within else { return Asked::new() };
        table = next;
    }
    table.asked.borrow().clone()
}

/// Adds the text of `docs/scenario.md` on the key at `path` to its schema.
fn described(mut value: Value, path: &str, kind: Option<&str>) -> Value {
    if let Some(row) = guide::row(path, kind) {
        let default = match guide::plain(row.default) {
            default if default.is_empty() || default == "required" => String::new(),
            default => format!(" Default: {default}."),
        };
        value["description"] = json!(format!("{}.{default}", guide::plain(row.effect)));
    }
    value
}

fn quantity(units: &str) -> Value {
    json!({ "type": "string", "pattern": format!("{NUMBER}{units}\\s*$") })
}

fn count(least: u64, most: u64) -> Value {
    let number = json!({ "type": "integer", "minimum": least, "maximum": most });
    json!({ "anyOf": [number, quantity("[kMG]?")] })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items, "uniqueItems": true })
}

/// Makes the schema of a key's values.
fn shape_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Count(least, most) => count(*least, *most),
        Shape::Counts(least, most) => list(count(*least, *most)),
        Shape::Seed => json!({ "type": "integer", "minimum": 0 }),
        Shape::Share => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Size => quantity("(B|KiB|MiB|GiB|TiB)"),
        Shape::Duration => quantity("(ms|s|m|h)"),
        Shape::Name(all) => json!({ "enum": all }),
        Shape::Names(all) => list(json!({ "enum": all })),
        Shape::NameOrNames(all) => {
            json!({ "anyOf": [{ "enum": all }, list(json!({ "enum": all }))] })
        }
    }
}
