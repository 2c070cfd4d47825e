//! Measures raw random reads (`stress doctor io`). A point is a number of threads with a number of
//! keys in a call. `plan` has the points, `measuring` reads at them, `device` measures the device,
//! `point` turns a measurement into figures. The verb in `cli/` calls them.

pub mod device;
pub mod measuring;
pub mod plan;
pub mod point;
