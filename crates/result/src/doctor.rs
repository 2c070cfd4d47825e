//! `stress doctor`: the checks of a machine, as they are written (`stress.doctor/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    environment::{Check, Environment},
    schema::schema,
};

schema! {
    /// The schema of a [`DoctorResult`].
    SCHEMA: DoctorSchema = "stress.doctor/1"
}

/// All checks, and the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorResult {
    /// Name and version of this format.
    pub schema: DoctorSchema,
    /// Subject by subject.
    pub checks: Vec<Check>,
    /// The machine.
    pub environment: Environment,
}
