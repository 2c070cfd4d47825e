//! JSON Schemas of all files that the program writes. They are made from the Rust types, so keys
//! and names are the same. The descriptions are the doc comments of the fields.
//! `src/cli/cmd/schema.rs` prints them; `docs/schemas` has them as files.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use crate::{
    comparison::{CompareSchema, Comparison},
    description::{DescribeSchema, WorkloadDescription},
    environment::{DoctorResult, DoctorSchema},
    gate::{CALIBRATION_SCHEMA, Calibration, GateResult, GateSchema},
    io::{IoResult, IoSchema},
    limit::{LimitResult, LimitSchema},
    load_comparison::{LoadCompareSchema, LoadComparison},
    run::{RunResult, RunSchema},
    send::{SendResult, SendSchema},
    simulation::{SimulateSchema, Simulation},
    sweep::{
        CELL_SCHEMA, CellFile, MANIFEST_SCHEMA, Manifest, Merged, MergedSchema, SweepDevice,
        SweepDeviceSchema,
    },
};

variant::named! {
    /// A file that has a schema. Its name is that of the schema without `stress.` and the version.
    pub enum FileKind: "file" {
        /// The result of a run.
        Result = "result",
        /// The verdict of a gate.
        Gate = "gate",
        /// The smallest change that a gate can detect on a machine.
        Calibration = "calibration",
        /// The matrix of a sweep: its axes and cells.
        Sweep = "sweep",
        /// Facts of one cell of a sweep, beside its result.
        SweepCell = "sweep-cell",
        /// The device under the cells of a sweep.
        SweepDevice = "sweep-device",
        /// All results of a sweep, joined.
        SweepMerged = "sweep-merged",
        /// Block gas limits that keep a deadline.
        Limit = "limit",
        /// Results of runs side by side.
        Comparison = "compare",
        /// Rates and latencies of raw random reads.
        Io = "io",
        /// A load on a live node.
        Send = "send",
        /// Loads on live nodes side by side.
        SendComparison = "send-compare",
        /// The contents of a workload.
        Description = "describe",
        /// Predicted times on shards of execution.
        Simulation = "simulate",
        /// The checks of a machine.
        Doctor = "doctor",
    }
}

/// Returns the JSON Schema (draft 2020-12) of a file, as this version of the program writes it. All
/// keys are required, and no other key is allowed.
pub fn json_schema(kind: FileKind) -> Value {
    match kind {
        FileKind::Result => schema_of::<RunResult>(RunSchema::NAME, "docs/result.md"),
        FileKind::Gate => schema_of::<GateResult>(GateSchema::NAME, "docs/gate.md"),
        FileKind::Calibration => schema_of::<Calibration>(CALIBRATION_SCHEMA, "docs/gate.md"),
        FileKind::Sweep => schema_of::<Manifest>(MANIFEST_SCHEMA, "docs/sweep.md"),
        FileKind::SweepCell => schema_of::<CellFile>(CELL_SCHEMA, "docs/sweep.md"),
        FileKind::SweepDevice => schema_of::<SweepDevice>(SweepDeviceSchema::NAME, "docs/sweep.md"),
        FileKind::SweepMerged => schema_of::<Merged>(MergedSchema::NAME, "docs/sweep.md"),
        FileKind::Limit => schema_of::<LimitResult>(LimitSchema::NAME, "docs/sweep.md"),
        FileKind::Comparison => schema_of::<Comparison>(CompareSchema::NAME, "docs/result.md"),
        FileKind::Io => schema_of::<IoResult>(IoSchema::NAME, "docs/designs.md"),
        FileKind::Send => schema_of::<SendResult>(SendSchema::NAME, "docs/send.md"),
        FileKind::SendComparison => {
            schema_of::<LoadComparison>(LoadCompareSchema::NAME, "docs/send.md")
        }
        FileKind::Description => {
            schema_of::<WorkloadDescription>(DescribeSchema::NAME, "docs/workloads.md")
        }
        FileKind::Simulation => schema_of::<Simulation>(SimulateSchema::NAME, "docs/shards.md"),
        FileKind::Doctor => {
            schema_of::<DoctorResult>(DoctorSchema::NAME, "docs/getting-started.md")
        }
    }
}

/// Returns the schema of a type whose files name `schema`. The page `page` explains them.
fn schema_of<T: JsonSchema>(schema: &str, page: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(complete));
    let mut root = settings.into_generator().into_root_schema_for::<T>();
    let description = format!(
        "A file of the schema {schema} as this version of stress writes it, explained in {page}. An \
         unknown value is null. Integers go up to 2^64 - 1: read them with more than a double. Shares \
         are of one: 0.03 is 3 %."
    );
    root.insert("title".to_owned(), schema.into());
    root.insert("description".to_owned(), description.into());
    root.to_value()
}

/// Completes a schema: forbids other keys in an object, and adds units to the descriptions of its
/// keys. Removes Rust's formats and defaults, which say nothing about a file.
fn complete(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("format");
    object.remove("default");
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    for (key, property) in properties {
        if let (Some(unit), Some(property)) = (unit(key), property.as_object_mut()) {
            let text = property.get("description").and_then(Value::as_str).unwrap_or_default();
            let text = format!("{text} Unit: {unit}.");
            property.insert("description".to_owned(), text.trim_start().into());
        }
    }
    object.entry("additionalProperties").or_insert(Value::Bool(false));
}

/// Returns the unit of a key by the key's name; `None` for a key without a unit. The first end that
/// fits counts: `mgas_per_s` stands before `gas_per_s`, which ends it.
fn unit(key: &str) -> Option<&'static str> {
    let ends: [(&str, &str); 20] = [
        ("started_unix_s", "seconds since 1970"),
        ("timestamp_unix_s", "seconds since 1970"),
        ("seconds", "seconds"),
        ("bytes_per_mgas", "bytes per million gas"),
        ("mgas_per_s", "millions of gas per second"),
        ("mgas_per_s_ci95", "millions of gas per second"),
        ("mgas_per_s_range", "millions of gas per second"),
        ("ms_per_batch", "milliseconds per batch"),
        ("ms_per_batch_ci95", "milliseconds per batch"),
        ("ms_per_batch_range", "milliseconds per batch"),
        ("gas_per_s", "gas per second"),
        ("per_s", "per second"),
        ("_iops", "reads per second"),
        ("_millicpus", "thousandths of a CPU"),
        ("_ns", "nanoseconds"),
        ("_s", "seconds"),
        ("_bytes", "bytes"),
        ("gas", "gas"),
        ("_share", "share of one"),
        ("_fraction", "share of one"),
    ];
    let inside: [(&str, &str); 3] =
        [("_ns_per_", "nanoseconds"), ("bytes_per_", "bytes"), ("gas_per_", "gas")];
    let end = ends.iter().find(|(end, _)| key.ends_with(end));
    let found = end.or_else(|| inside.iter().find(|(part, _)| key.contains(part)));
    found.map(|(_, unit)| *unit)
}
