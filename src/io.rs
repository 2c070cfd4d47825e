//! `stress io`: raw random reads. `plan` says what is to be read, `measuring` reads it, `device`
//! measures the device, `point` turns a measurement into figures.

pub mod device;
pub mod measuring;
pub mod plan;
pub mod point;
