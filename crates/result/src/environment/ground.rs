//! Abilities of a directory's file system and the kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Abilities of a directory's file system and the kernel; `null` where it could not be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ground {
    /// Whether files can be read with `O_DIRECT`, past the kernel's page cache.
    pub has_direct_reads: Option<bool>,
    /// Whether the kernel drops a file's pages when it is asked to.
    pub can_drop_pages: Option<bool>,
    /// Whether `io_uring` can be used.
    pub has_io_uring: bool,
    /// Free space for this user.
    pub free_bytes: Option<u64>,
}
