//! The transport of shards of execution over gRPC: the server of a shard ([`serve`]), and the
//! coordinator's connections to shards ([`Cluster`]). A shard is a process that executes its part
//! of a batch; the coordinator is the process with state, list and clock. The executor's code runs
//! the steps and checks the results. The messages are defined in `proto/shard.proto`.

mod batch_connection;
mod cluster;
mod delay;
mod error;
mod fields;
mod incoming;
mod list_link;
mod list_messages;
mod optimistic_link;
mod optimistic_messages;
mod records;
mod server;
mod wire;

pub use cluster::{Cluster, ClusterInput};
pub use server::{ServerInput, serve};
pub use wire::PROTOCOL;
