//! The file of `stress gate calibrate`: the smallest change that a gate can detect on a machine.
//! `src/cli/cmd/gate/calibrate.rs` writes it; `src/gate/judge.rs` reads it.

use std::{fs, path::Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{environment::Environment, error::Error};

/// Name and version of the schema.
pub(crate) const SCHEMA: &str = "stress.calibration/1";

/// The calibration of a machine: estimates by comparing each variant with itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Name and version of this format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Time of the calibration, seconds since 1970.
    pub started_unix_s: u64,
    /// The calibrated machine.
    pub environment: Environment,
    /// Digest of the workload.
    pub digest: String,
    /// Causes of time that the machine lost: steal, throttling.
    pub disturbances: Vec<String>,
    /// The estimates, one for each variant.
    pub cells: Vec<CalibratedCell>,
}

/// The noise of a variant, from a comparison of it with itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibratedCell {
    /// The variant.
    pub variant: String,
    /// Median time of a sample.
    pub base_ns: u64,
    /// Standard error of the change after 12 octets, as a share.
    pub error: f64,
    /// The smallest δ that 12 octets decide in nine runs of ten in which nothing changed; as a
    /// share.
    pub smallest_delta: f64,
}

impl Calibration {
    /// Makes a calibration of new estimates.
    pub fn new(
        started_unix_s: u64,
        environment: Environment,
        digest: String,
        disturbances: Vec<String>,
        cells: Vec<CalibratedCell>,
    ) -> Self {
        let schema = SCHEMA.to_owned();
        Self { schema, started_unix_s, environment, digest, disturbances, cells }
    }

    /// Reads a calibration; `None` where the file does not exist.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a calibration of this schema.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(path).map_err(Error::unreadable(path))?;
        let calibration: Self = serde_json::from_str(&text).map_err(|cause| {
            let fault = format!("is no calibration; run `stress gate calibrate` again: {cause}");
            Error::at(path, fault)
        })?;
        match calibration.schema.as_str() {
            SCHEMA => Ok(Some(calibration)),
            found => {
                let read = format!("has the schema {found}, and this stress reads {SCHEMA}");
                Err(Error::at(path, format!("{read}; run `stress gate calibrate` again")))
            }
        }
    }
}
