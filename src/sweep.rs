//! A sweep: a matrix of settings, each cell a run (`docs/sweep.md`). `matrix` makes the cells of
//! the axes, `running` runs them, with an `estimate` of their time and figures of the `device`.
//! `dir` owns the directory of results, with a `lock` for each `cell`, and `merged` joins the
//! results. `stress sweep` calls it, and `limit` runs sweeps of one cell.

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
