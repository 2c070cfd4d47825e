//! Results of runs, gates, sweeps and loads: their files, the schemas of the files, and statistics
//! over samples. No other crate knows the schemas. This crate knows neither how workloads are
//! executed nor how results are shown.

mod clients;
pub mod comparison;
pub mod databases;
pub mod description;
pub mod environment;
mod error;
#[cfg(any(test, feature = "example"))]
#[path = "tests/example.rs"]
pub mod example;
mod facts;
mod figures;
mod finite;
pub mod gate;
pub mod io;
mod json;
mod json_schema;
pub mod limit;
pub mod load_comparison;
mod named;
mod names;
mod phases;
mod pooled;
mod program;
pub mod ratios;
mod root_and_shards;
mod run;
mod schema;
pub mod send;
pub mod simulation;
pub mod stats;
pub mod stored;
pub mod sweep;
mod writes;

pub use clients::{CLIENT_DISAGREES, ClientBlock, ClientCell, ClientSample};
pub use environment::Environment;
pub use error::Error;
pub use figures::{Bucket, Counters, HistogramLog, LogKind};
pub use json::json;
pub use json_schema::{FileKind, json_schema};
pub use names::{Bottleneck, Bound, ClaimVerdict, IoKind, Priority};
pub use phases::{PathNs, PhasesNs};
pub use program::Program;
pub use root_and_shards::{RootFacts, RootWayFacts, ShardWayFacts, ShardWorkFacts};
pub use run::{
    BalBytes, CacheFacts, Cell, Claim, DRIFT_MAX, Device, Estimate, Expects, Fill, FrameFacts,
    HOST_CACHE_RATIO, LoadFill, Percentiles, PrefetchFacts, ProfileFacts, RunResult, RunSchema,
    SCHEMA, SampleFacts, SharedDevice, SpeculationFacts, SpeedUps, StoreFacts, Tool, WarmUpFacts,
    WorkloadFacts,
};
pub use stored::{Content, Shown, Stored};
pub use writes::{BatchFigures, SpaceFacts, StoreWriteFacts, WriteFacts};
