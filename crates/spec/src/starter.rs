//! A commented scenario to start from (`stress new`): the least scenario of a kind of load, with
//! every key of its work at its default and with its text in `docs/scenario.md`.

use crate::error::ScenarioError;
use crate::guide;
use crate::load::KINDS;
use crate::overrides::Override;
use crate::scenario::Scenario;
use crate::write::{Entry, load_entries, run_entries};

/// Small enough to run within seconds, without a database.
const BASE: &str = "\
schema = 1
name = \"starter\"
seed = 1
[state]
accounts = 10_000
[block]
gas = 30_000_000
[[load]]
kind = \"sload-storm\"
[run]
stores = [\"memory\"]
cache = \"warm\"
samples = 3
";
/// Slots of the state of a load that asks for some.
const SLOTS: &str = "200k";
/// The keys of `[run]` to start with.
const RUN_KEYS: [&str; 4] = ["designs", "stores", "cache", "samples"];
/// Columns of a comment.
const WIDTH: usize = 96;

/// The text of a scenario called `name` whose load is of `kind`.
///
/// # Errors
/// [`ScenarioError::Invalid`] where the name is none, or the kind is unknown.
pub fn starter(name: &str, kind: &str) -> Result<String, ScenarioError> {
    let scenario = least(name, kind)?;
    let mut out = format!(
        "# Describe the effect of {name} on a client here.\n#\n\
         #   stress describe {name}.toml      its keys, conflicts and list sizes\n\
         #   stress --scenario {name}.toml    run it\n#\n\
         # All keys of the work are below; those behind a # have the default named there.\n\
         # docs/scenario.md explains them.\n\n\
         schema = 1\nname = \"{name}\"\ndescription = \"A scenario to start from: {kind}.\"\n"
    );
    comment(&mut out, "fork", None);
    out.push_str(&format!("fork = \"{}\"\n", scenario.fork.name()));
    comment(&mut out, "seed", None);
    out.push_str(&format!("seed = {}\n", scenario.seed));
    let slotless = scenario.state.slot_count == 0;
    let state =
        scenario.state_entries().into_iter().filter(|(key, _)| *key != "slots" || !slotless);
    table(&mut out, "[state]", "state", &state.collect::<Vec<_>>(), None);
    table(&mut out, "[block]", "block", &scenario.block_entries(), None);
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    out.push_str(
        "\n# A second [[load]] shares the block: then each has a share, and they sum to 1.\n",
    );
    wrapped(&mut out, &format!("Kinds: {}.", kinds.join(", ")));
    for load in &scenario.loads {
        table(&mut out, "[[load]]", "load", &load_entries(load), Some(kind));
    }
    let run = run_entries(&scenario.run).into_iter().filter(|(key, _)| RUN_KEYS.contains(key));
    table(&mut out, "[run]", "run", &run.collect::<Vec<_>>(), None);
    Ok(out)
}

/// The least scenario of this name and kind; with slots where the kind asks for them.
fn least(name: &str, kind: &str) -> Result<Scenario, ScenarioError> {
    let given = |key: &str, value: &str, origin: String| Override {
        key: key.to_owned(),
        value: value.to_owned(),
        origin,
    };
    let mut overrides = vec![
        given("name", name, format!("NAME {name}")),
        given("load.kind", kind, format!("--kind {kind}")),
    ];
    let read = Scenario::parse("a scenario to start from", BASE, &overrides);
    match read {
        Err(error) if error.diagnostics().iter().any(|fault| fault.key() == "state.slots") => {
            overrides.push(given("state.slots", SLOTS, format!("state.slots = {SLOTS}")));
            Scenario::parse("a scenario to start from", BASE, &overrides)
        }
        read => read,
    }
}

fn table(out: &mut String, header: &str, path: &str, entries: &[Entry], kind: Option<&str>) {
    if !out.ends_with(".\n") {
        out.push('\n');
    }
    out.push_str(header);
    out.push('\n');
    for (key, value) in entries {
        comment(out, &format!("{path}.{key}"), kind);
        match value {
            Ok(value) => out.push_str(&format!("{key} = {value}\n")),
            Err(meaning) => out.push_str(&format!("# {key} = {meaning}\n")),
        }
    }
}

/// The page's text on a key, as a comment above it.
fn comment(out: &mut String, path: &str, kind: Option<&str>) {
    if let Some(row) = guide::row(path, kind) {
        wrapped(out, &guide::plain(&format!("{} ({})", row.what, row.takes)));
    }
}

fn wrapped(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}
