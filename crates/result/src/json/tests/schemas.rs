//! Laws of the JSON Schemas: they take every file that is written, and no file with a key more, a key
//! less or a value of another type. The validator is another project's.

use std::collections::BTreeMap;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json, to_value};
use variant::{Design, RootCache, RootReads};

use super::*;
use crate::{
    gate::{Binary, Compared, CountShift, EffectiveSetting, Metric, Shift, Verdict},
    json_schema::{FileKind, json_schema},
    root_and_shards::{RootFacts, RootWayFacts, ShardWorkFacts},
    run::{FrameFacts, ProfileFacts, SampleFacts, SpeculationFacts, WarmUpFacts},
    sweep::{CELL_SCHEMA, CellFile, MANIFEST_SCHEMA, Manifest},
};

/// Keys whose value is a map with keys of its own, or any JSON.
const OPEN: [&str; 3] = ["facts", "keys", "values"];

struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

impl Validator {
    fn of(kind: FileKind) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let name = "file:///schema.json";
        compiler.add_resource(name, json_schema(kind)).expect("a name");
        let root = compiler.compile(name, &mut schemas);
        let root = root.unwrap_or_else(|error| panic!("{kind}: {error:#}"));
        Self { schemas, root }
    }

    fn fault(&self, file: &Value) -> Option<String> {
        self.schemas.validate(file, self.root).err().map(|error| error.to_string())
    }
}

/// A run with all that a run may have.
fn whole_run(of: &mut Figures<'_>) -> RunResult {
    let mut run = run(of);
    run.cells.truncate(1);
    let sample = run.cells[0].samples[0].clone();
    run.cells[0].samples = vec![SampleFacts {
        warm_up: Some(WarmUpFacts::default()),
        speculation: Some(SpeculationFacts::default()),
        root_work: Some(RootFacts::default()),
        shard_work: Some(ShardWorkFacts::default()),
        ..sample
    }];
    run.cells[0].root_way = Some(RootWayFacts {
        root_shards: 16,
        root_reads: RootReads::AtOnce,
        root_cache: RootCache::Warm,
    });
    run.cells[0].sharding = Some(ShardWayFacts {
        partitioner: Partitioner::Fanout,
        partition_time: PartitionTime::Before,
        micro_batch_key_count: 256,
        delay_ns: 500_000,
    });
    let frames = vec![FrameFacts::default()];
    run.profile = Some(ProfileFacts { frames, ..ProfileFacts::default() });
    let pooled = example::pooled(&[vec![1, 2, 3], vec![4, 5, 6], vec![7, 8, 9]]);
    run.databases = pooled.databases;
    run.cells.extend(pooled.cells.into_iter().take(1));
    run
}

/// A gate with all that a gate may have.
fn whole_gate(of: &mut Figures<'_>) -> GateResult {
    let mut gate = gate(of);
    gate.binaries = vec![Binary {
        arm: 'A',
        path: "stress".to_owned(),
        program: gate.tool.program.clone(),
        client: None,
        settings: vec!["run.read=get".to_owned()],
        effective_settings: vec![EffectiveSetting {
            key: "run.read".to_owned(),
            value: "get".to_owned(),
            is_default: false,
        }],
        slow_read_ns: 0,
        reads_one_twice: false,
    }];
    let shift = Shift {
        variant: "memory/x".to_owned(),
        verdict: Verdict::Pass,
        change: of.maybe(),
        lower: of.maybe(),
        upper: of.maybe(),
        values_to_decide: Some(7),
        delta_to_decide: of.maybe(),
    };
    gate.gate.baseline = Some(Compared {
        ratios: vec![shift.clone()],
        counts: vec![CountShift { metric: Metric::Blocks, shift }],
        ..Compared::default()
    });
    gate
}

/// One file of each kind.
fn files(figures: &[f64]) -> Vec<(FileKind, Value)> {
    let of = || Figures { all: figures, given: 0 };
    let merged = merged(&mut of());
    let manifest = Manifest { schema: MANIFEST_SCHEMA.to_owned(), matrix: merged.sweep.clone() };
    let cell = CellFile {
        schema: CELL_SCHEMA.to_owned(),
        index: 7,
        keys: merged.cells[0].keys.clone(),
        settings_digest: "0x1".to_owned(),
        program: merged.program.clone(),
        work_digest: "0x2".to_owned(),
    };
    let file = |kind| match kind {
        FileKind::Result => to_value(whole_run(&mut of())),
        FileKind::Gate => to_value(whole_gate(&mut of())),
        FileKind::Calibration => to_value(calibration(&mut of())),
        FileKind::Sweep => to_value(&manifest),
        FileKind::SweepCell => to_value(&cell),
        FileKind::SweepDevice => to_value(&merged.devices[0]),
        FileKind::SweepMerged => to_value(&merged),
        FileKind::Limit => to_value(limits(&mut of())),
        FileKind::Comparison => to_value(compared(&mut of())),
        FileKind::Io => to_value(io_result(&mut of())),
        FileKind::Send => to_value(example::send::troubled()),
        FileKind::SendComparison => to_value(example::send::compared()),
        FileKind::Description => to_value(described(&mut of())),
        FileKind::Simulation => to_value(simulation(&mut of())),
        FileKind::Doctor => to_value(doctor_result(&mut of())),
    };
    FileKind::ALL.iter().map(|kind| (*kind, file(*kind).expect("JSON"))).collect()
}

/// A key or an index in a file, by which a test removes, adds or changes a value.
#[derive(Clone, Debug)]
struct Place {
    /// JSON pointer of the object or array that holds it.
    holder: String,
    /// Its key or index there.
    key: String,
    /// Whether the value here, and whether its holder, is one of [`OPEN`] or an item of one, so
    /// that the schema does not fix its keys.
    is_open: [bool; 2],
}

/// Finds one place for each key of the file at and below `value`; `name` is the keys on the way to
/// it, with `[]` for any index.
fn places(value: &Value, at: &Place, name: &str, found: &mut BTreeMap<String, Place>) {
    let pointer = format!("{}/{}", at.holder, at.key);
    let holder = if name.is_empty() { String::new() } else { pointer };
    let inside = |key: String, is_open: bool| Place {
        holder: holder.clone(),
        key,
        is_open: [is_open, at.is_open[0]],
    };
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                let place = inside(key.clone(), OPEN.contains(&key.as_str()));
                let name = format!("{name}.{key}");
                found.entry(name.clone()).or_insert_with(|| place.clone());
                places(value, &place, &name, found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                let place = inside(index.to_string(), at.is_open[0]);
                let name = format!("{name}[]");
                found.entry(name.clone()).or_insert_with(|| place.clone());
                places(value, &place, &name, found);
            }
        }
        _ => {}
    }
}

fn places_of(file: &Value) -> BTreeMap<String, Place> {
    let root = Place { holder: String::new(), key: String::new(), is_open: [false; 2] };
    let mut found = BTreeMap::new();
    places(file, &root, "", &mut found);
    found
}

/// The value at a key or an index.
fn at<'v>(holder: &'v Value, key: &str) -> &'v Value {
    match key.parse::<usize>() {
        Ok(index) if holder.is_array() => &holder[index],
        _ => &holder[key],
    }
}

fn at_mut<'v>(holder: &'v mut Value, key: &str) -> &'v mut Value {
    match key.parse::<usize>() {
        Ok(index) if holder.is_array() => &mut holder[index],
        _ => &mut holder[key],
    }
}

#[test]
fn every_file_keeps_to_its_schema() {
    for figures in [[0.1, 3.0], [-1e9, 0.0]] {
        for (kind, file) in files(&figures) {
            assert_eq!(Validator::of(kind).fault(&file), None, "{kind}");
            assert!(file["schema"].as_str().is_some_and(|name| name.starts_with("stress.")));
        }
    }
}

#[test]
fn a_key_more_a_key_less_and_a_value_of_another_type_are_refused_wherever_they_are() {
    let mut counts = [0; 3];
    for (kind, file) in files(&[0.1, 3.0]) {
        let validator = Validator::of(kind);
        let mut refused = |file: &Value, fault: usize, name: &str| {
            counts[fault] += 1;
            assert!(validator.fault(file).is_some(), "{kind}: {name}, fault {fault}");
        };
        for (name, place) in places_of(&file) {
            let Place { holder, key, is_open } = &place;
            let value = at(file.pointer(holder).expect("it is there"), key);
            let changed = |change: &dyn Fn(&mut Value)| {
                let mut file = file.clone();
                change(file.pointer_mut(holder).expect("it is there"));
                file
            };
            // A map of texts, or of settings, has no object in it; any JSON may have one.
            if !name.contains("values[]") {
                let other = |holder: &mut Value| *at_mut(holder, key) = json!({"x": []});
                refused(&changed(&other), 0, &name);
            }
            if file.pointer(holder).is_some_and(Value::is_object) && !is_open[1] {
                let less = |holder: &mut Value| {
                    holder.as_object_mut().expect("an object").remove(key);
                };
                refused(&changed(&less), 1, &name);
            }
            if value.is_object() && !is_open[0] {
                let more = |holder: &mut Value| at_mut(holder, key)["no_such_key"] = json!(1);
                refused(&changed(&more), 2, &name);
            }
        }
    }
    assert!(counts[0] > 400 && counts[1] > 400 && counts[2] > 30, "{counts:?}");
}

#[test]
fn names_are_those_of_the_closed_sets_and_numbers_are_in_their_ranges() {
    let files: BTreeMap<_, _> = files(&[0.1, 3.0]).into_iter().collect();
    let refused = |kind: FileKind, pointer: &str, value: Value| {
        let mut file = files[&kind].clone();
        *file.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        let fault = Validator::of(kind).fault(&file);
        assert!(fault.is_some_and(|fault| fault.contains(pointer)), "{kind} {pointer}");
    };
    refused(FileKind::Result, "/cells/0/design", json!("no-design"));
    refused(FileKind::Result, "/cells/0/list", json!(null));
    refused(FileKind::Result, "/cells/0/threads", json!(-1));
    refused(FileKind::Result, "/cells/0/threads", json!(1.5));
    refused(FileKind::Result, "/schema", json!("stress.result/2"));
    refused(FileKind::Result, "/cells/0/ms_per_batch/ci95", json!([1.0]));
    refused(FileKind::Gate, "/gate/verdict", json!("fine"));
    refused(FileKind::Gate, "/gate/exit_code", json!(256));
    refused(FileKind::Gate, "/binaries/0/arm", json!("C"));
    refused(FileKind::Sweep, "/schema", json!("stress.sweep/2"));
    refused(FileKind::Doctor, "/checks/0/status", json!("fine"));
    refused(FileKind::SweepMerged, "/points/0/store", json!("leveldb"));
    let validator = Validator::of(FileKind::Result);
    for design in Design::ALL {
        let mut file = files[&FileKind::Result].clone();
        file["cells"][0]["design"] = json!(design.name());
        assert_eq!(validator.fault(&file), None);
    }
    let mut file = files[&FileKind::Result].clone();
    file["cells"][0]["list"] = json!("none");
    file["environment"]["cgroup"]["memory_limit_bytes"] = json!("unlimited");
    assert_eq!(validator.fault(&file), None);
}

/// Every object with its keys, in a schema and all below it.
fn objects<'v>(schema: &'v Value, found: &mut Vec<&'v Value>) {
    if schema["properties"].is_object() {
        found.push(schema);
    }
    match schema {
        Value::Object(keys) => keys.values().for_each(|value| objects(value, found)),
        Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
        _ => {}
    }
}

#[test]
fn every_object_is_closed_and_every_key_is_described_with_its_unit() {
    for kind in FileKind::ALL {
        let schema = json_schema(*kind);
        let mut all = Vec::new();
        objects(&schema, &mut all);
        assert!(!all.is_empty());
        for object in all {
            assert_eq!(object["additionalProperties"], false, "{kind}: {object:#}");
            for (key, property) in object["properties"].as_object().expect("keys") {
                let text = property["description"].as_str().unwrap_or_default();
                assert!(text.ends_with('.') && !text.contains("[`"), "{kind} {key}: {text:?}");
                if key.ends_with("_ns") {
                    assert!(text.contains("nanoseconds"), "{kind} {key}: {text}");
                }
                if key.ends_with("_bytes") {
                    assert!(text.contains("bytes"), "{kind} {key}: {text}");
                }
            }
        }
    }
}

/// Names of whole numbers that need no ending: what they count is told by the list they stand in,
/// or they count nothing and have no unit.
const PLAIN: [&str; 4] = ["chain_id", "count", "number", "seed"];
/// Ends of the names of counts and of figures with a unit.
const ENDS: [&str; 5] = ["_count", "_ns", "_unix_s", "_bytes", "_wei"];

#[test]
fn every_whole_number_of_a_load_has_a_name_that_says_whether_it_is_a_count_or_its_unit() {
    let mut count = 0;
    for (kind, prefix) in [(FileKind::Send, "Send"), (FileKind::SendComparison, "Load")] {
        let schema = json_schema(kind);
        let parts = schema["$defs"].as_object().expect("definitions");
        let own = parts.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, part)| part);
        let objects = own.chain([&schema]);
        let properties = objects.filter_map(|object| object["properties"].as_object());
        for (key, property) in properties.flatten() {
            let is_whole = match &property["type"] {
                Value::Array(kinds) => kinds.contains(&json!("integer")),
                kind => kind == "integer",
            };
            let is_named = ENDS.iter().any(|end| key.ends_with(end))
                || PLAIN.contains(&key.as_str())
                || key.split('_').any(|word| word == "gas");
            assert!(!is_whole || is_named, "{kind}: {key} is a whole number of an unknown unit");
            count += u64::from(is_whole);
        }
    }
    assert!(count > 40, "{count} whole numbers");
}
