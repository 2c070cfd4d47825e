//! The JSON Schemas: those in the repository are the program's. Every file that a test's program
//! writes or prints keeps to its own (`machine.rs` asks for it after each program that it runs).

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use crate::tool::{printed, stress, text};

/// The published schemas.
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schemas");
/// How far below a folder files are looked for.
const DEPTH_MAX: usize = 4;
/// Work that takes no time.
const WORK: [&str; 6] = [
    "--scenario=one-slot",
    "--gas=1M",
    "--set=state.accounts=100",
    "--store=memory",
    "--design=sequential,batched-io",
    "--samples=1",
];

/// A schema, ready to judge; `None` of a name without one.
type Validator = Option<(Schemas, SchemaIndex)>;

thread_local! {
    static VALIDATORS: RefCell<BTreeMap<String, Validator>> = const { RefCell::new(BTreeMap::new()) };
}

fn validator(name: &str) -> Validator {
    let path = Path::new(PUBLISHED).join(format!("{name}.schema.json"));
    let text = fs::read_to_string(path).ok()?;
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let url = format!("file:///{name}.schema.json");
    compiler.add_resource(&url, serde_json::from_str(&text).unwrap()).unwrap();
    let index = compiler.compile(&url, &mut schemas).unwrap_or_else(|e| panic!("{name}: {e:#}"));
    Some((schemas, index))
}

/// The name of a file's schema: `stress.sweep-merged/1` has `sweep-merged`.
fn name(json: &Value) -> Option<&str> {
    Some(json["schema"].as_str()?.strip_prefix("stress.")?.split_once('/')?.0)
}

/// Where a file breaks its schema. One without a published schema breaks none.
fn fault(json: &Value) -> Option<String> {
    let name = name(json)?;
    VALIDATORS.with_borrow_mut(|all| {
        let known = all.entry(name.to_owned()).or_insert_with(|| validator(name));
        let (schemas, index) = known.as_ref()?;
        schemas.validate(json, *index).err().map(|error| error.to_string())
    })
}

/// Panics where a text is a file of ours that breaks its schema, and gives the schema's name.
pub(crate) fn assert_kept(text: &[u8], origin: &str) -> Option<String> {
    let json: Value = serde_json::from_slice(text).ok()?;
    if let Some(fault) = fault(&json) {
        panic!("{origin}: {fault}");
    }
    name(&json).map(str::to_owned)
}

/// The same of all files that a command has written since: those in its folder, and in the folders
/// that its arguments and variables name.
pub(crate) fn assert_kept_by(command: &Command, since: SystemTime) -> BTreeSet<String> {
    let base = command.get_current_dir().unwrap_or(Path::new("")).to_owned();
    let texts = command.get_args().chain(command.get_envs().filter_map(|(_, value)| value));
    let named = texts.filter_map(|text| text.to_str()).map(|text| {
        let path = text.rsplit_once('=').map_or(text, |(_, path)| path);
        base.join(path)
    });
    let own = command.get_current_dir().map(Path::to_owned);
    let mut files = BTreeSet::new();
    for path in named.chain(own).filter(|path| !path.as_os_str().is_empty()) {
        json_files(&path, 0, &mut files);
    }
    let is_new = |path: &PathBuf| {
        let modified = fs::metadata(path).and_then(|file| file.modified());
        modified.is_ok_and(|modified| modified > since)
    };
    let new = files.iter().filter(|path| is_new(path));
    // A file may be gone again: another test's process works in the same folder.
    let read = new.filter_map(|path| Some((path, fs::read(path).ok()?)));
    read.filter_map(|(path, bytes)| assert_kept(&bytes, &path.display().to_string())).collect()
}

fn json_files(path: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    if path.extension().is_some_and(|ending| ending == "json") {
        found.insert(path.to_owned());
    } else if depth <= DEPTH_MAX && path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| json_files(&entry.path(), depth + 1, found));
    }
}

#[test]
fn the_schemas_of_the_repository_are_those_that_the_program_prints() {
    let dir = tempfile::tempdir().unwrap();
    let wrote = stress(&["show", "schema", "--out", "all"], dir.path());
    assert_eq!(wrote.status.code(), Some(0), "{}", text(&wrote.stderr));
    let files = |dir: &Path| -> BTreeSet<_> {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    let names = files(&dir.path().join("all"));
    assert_eq!(names, files(Path::new(PUBLISHED)), "docs/schemas/ has other files");
    let json =
        |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    for name in &names {
        let written = json(dir.path().join("all").join(name));
        let remedy = "run `stress show schema --out docs/schemas --force`";
        assert_eq!(json(Path::new(PUBLISHED).join(name)), written, "{}: {remedy}", name.display());
        let name = name.to_str().unwrap().strip_suffix(".schema.json").unwrap();
        let alone: Value =
            serde_json::from_str(&printed(&["show", "schema", name], dir.path())).unwrap();
        assert_eq!(alone, written);
    }
    let refused = stress(&["show", "schema", "results"], dir.path());
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("sweep-merged"), "{}", text(&refused.stderr));
}

#[test]
fn files_and_outputs_of_the_verbs_keep_to_their_schemas() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let before = SystemTime::now();
    let run = printed(&[&WORK[..], &["--out", "a", "--format", "json"]].concat(), at);
    printed(&[&WORK[..], &["--out", "b"]].concat(), at);
    let sweep = ["sweep", "threads=1,2", "--out", "swept"];
    printed(&[&sweep[..1], &WORK, &sweep[1..]].concat(), at);
    let described = ["describe", "--scenario", "one-slot", "--gas", "1M", "--json"];
    let gate = ["gate", "--baseline", "a", "--result", "b", "--format", "json"];
    let texts = [
        run.clone(),
        printed(&["compare", "a", "b", "--format", "json"], at),
        printed(&described, at),
        printed(&["doctor", "--data-dir", ".", "--format", "json"], at),
        text(&stress(&gate, at).stdout),
    ];
    let of_text = |text: &String| assert_kept(text.as_bytes(), "standard output").unwrap();
    let names: Vec<_> = texts.iter().map(of_text).collect();
    assert_eq!(names, ["result", "compare", "describe", "doctor", "gate"]);
    let written = assert_kept_by(Command::new("none").current_dir(at), before);
    let expected = ["result", "sweep", "sweep-cell", "sweep-merged"].map(str::to_owned);
    assert_eq!(written, BTreeSet::from(expected));

    let result: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(fault(&result), None);
    for (pointer, value) in [
        ("/cells/0/samples/0/wall_ns", Value::from("7")),
        ("/cells/0/engine", Value::from("no engine")),
        ("/cells/0/samples/0/phases_ns/no_phase", Value::from(7)),
        ("/environment/cpu/model", Value::from(7)),
        ("/stores/0/facts/rows", Value::from(0.5)),
        ("/no_key", Value::Null),
    ] {
        let mut wrong = result.clone();
        let (holder, key) = pointer.rsplit_once('/').unwrap();
        wrong.pointer_mut(holder).unwrap()[key] = value;
        assert!(fault(&wrong).is_some(), "{pointer} is taken");
    }
    for pointer in ["/cells/0/samples/0/wall_ns", "/tool/commit", "/agree"] {
        let mut less = result.clone();
        let (holder, key) = pointer.rsplit_once('/').unwrap();
        less.pointer_mut(holder).unwrap().as_object_mut().unwrap().remove(key).unwrap();
        let fault = fault(&less).unwrap();
        assert!(fault.contains(key), "{fault}");
    }
}
