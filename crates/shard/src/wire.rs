//! The generated messages, and the numbers that both sides keep to.

use std::time::Duration;

/// Version of the messages. It grows with each change of `proto/shard.proto`.
pub const PROTOCOL: u32 = 4;

/// Bytes of a piece of a workload or a list.
pub(crate) const PIECE_BYTES: usize = 1 << 20;

/// Largest message. A result is in one, whatever it returns.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Messages in a direction that wait for the network: a sender beyond that waits itself.
pub(crate) const WINDOW: usize = 8;

/// Window in bytes of a batch's messages on the network, and of all calls on a connection. The size
/// suits a network of 10 Gbit/s and 3 ms. HTTP/2's default windows would wake both sides for every
/// 64 KiB.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 4 << 20;
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 4 * STREAM_WINDOW_BYTES;

/// Largest frame of HTTP/2: a usual message is one.
pub(crate) const FRAME_BYTES: u32 = 256 << 10;

/// Longest time in which a shard must be reached, and greet.
pub(crate) const REACH_MAX: Duration = Duration::from_millis(900);

/// Messages that a line of a delay holds in a direction at most, due or not: more than any real network has on its
/// way.
pub(crate) const HELD_MAX: usize = 1 << 12;

/// Most bytes of a workload's file form.
pub(crate) const WORKLOAD_BYTES_MAX: usize = 4 << 30;

/// Most threads of a shard.
pub(crate) const THREAD_COUNT_MAX: u32 = 1 << 10;

/// Key of the shared token in the metadata of a call.
pub(crate) const TOKEN_KEY: &str = "stress-shard-token";

/// Way of executing a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Executes a batch by its list.
    ByList,
    /// Without one.
    Optimistic,
}

/// Key of the coordinator's number, by which a shard tells coordinators apart.
pub(crate) const COORDINATOR_KEY: &str = "stress-shard-coordinator";

/// Key of the coordinator's program.
pub(crate) const PROGRAM_KEY: &str = "stress-shard-program";

/// The messages of `proto/shard.proto`, as `tools/shard-messages` generates them.
#[expect(
    unreachable_pub,
    clippy::doc_markdown,
    clippy::allow_attributes_without_reason,
    reason = "generated; the file has the comments"
)]
pub(crate) mod proto {
    include!("../proto/shard.rs");
}
