//! The settings of a store in MDBX, and its name.

use signet_libmdbx::SyncMode;
use variant::Durability;

/// The store's name in variants and errors.
pub(super) const NAME: &str = "mdbx";

/// How a state is committed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MdbxSettings {
    /// The end of a commit. Synced: data and meta page are on the device. Logged: both are
    /// with the kernel, and MDBX keeps its last durable snapshot (`SAFE_NOSYNC`). Unlogged: with
    /// the kernel, and it does not (`UTTERLY_NOSYNC`): MDBX has no commit that stays in memory.
    pub durability: Durability,
}

impl MdbxSettings {
    pub(super) const fn sync_mode(self) -> (SyncMode, &'static str) {
        match self.durability {
            Durability::Synced => (SyncMode::Durable, "synced (SYNC_DURABLE)"),
            Durability::Logged => (SyncMode::SafeNoSync, "logged (SAFE_NOSYNC)"),
            Durability::Unlogged => (SyncMode::UtterlyNoSync, "unlogged (UTTERLY_NOSYNC)"),
        }
    }
}
