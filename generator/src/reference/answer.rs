//! The answer of a callback after a transaction.

use std::ops::ControlFlow;

/// An answer that says whether to go on. A callback that only listens answers `()`; one that can
/// stop the run answers a [`ControlFlow`].
pub trait Answer {
    /// Whether to go on.
    fn flow(self) -> ControlFlow<()>;
}

impl Answer for () {
    fn flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Answer for ControlFlow<()> {
    fn flow(self) -> ControlFlow<()> {
        self
    }
}
