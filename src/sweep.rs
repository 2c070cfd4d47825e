//! A sweep: a matrix of settings, each cell a run of its own. Owns which cells there are, the
//! directory that their results go to, and their joined results. `running` runs them.

pub mod cell;
pub mod device;
pub mod dir;
pub mod estimate;
pub mod lock;
pub mod matrix;
pub mod merged;
pub mod running;

#[cfg(test)]
mod tests;
