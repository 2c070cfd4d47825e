//! Blocks that outlive a closed store.

use std::fmt;

use ::rocksdb::Cache;

/// The block cache of warm samples. Blocks are keyed by the files that they lie in, whichever
/// directory links to these: so a store that is closed and opened again finds them.
#[derive(Clone)]
pub struct WarmBlocks(pub(crate) Cache);

impl fmt::Debug for WarmBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WarmBlocks").field(&self.0.get_usage()).finish()
    }
}
