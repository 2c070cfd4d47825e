//! `stress doctor io`: raw random reads. `plan` has the points, `measuring` reads them, `device`
//! measures the device, `point` turns a measurement into figures.

pub mod device;
pub mod measuring;
pub mod plan;
pub mod point;
