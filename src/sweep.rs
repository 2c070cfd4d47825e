//! A sweep: a matrix of settings, each cell a run. This module owns the set of cells, the directory
//! of their results, and their joined results. `running` runs the cells.

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
