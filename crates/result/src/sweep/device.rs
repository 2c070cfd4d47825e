//! The device below the states of a sweep (`stress.sweep-device/1`, `docs/sweep.md`). Each process
//! measures it once for all its cells, and again later, for its drift. `src/sweep/device.rs` writes
//! the file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    run::{DRIFT_MAX, Device, SharedDevice},
    schema::schema,
};

/// Beginning of the names of these files: `device-1767225600-4711.json`, with the start of the
/// measurement and the process id.
pub const FILE_PREFIX: &str = "device-";

schema! {
    /// The schema of a [`SweepDevice`].
    SCHEMA: SweepDeviceSchema = "stress.sweep-device/1"
}

/// Measurements of the device by one process that ran cells of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepDevice {
    /// Name and version of this format.
    pub schema: SweepDeviceSchema,
    /// Time of the first measurement, seconds since 1970.
    pub measured_unix_s: u64,
    /// Name of the state whose files are read.
    pub state: String,
    /// Seed of the order in which the blocks of the files are read.
    pub draw_seed: u64,
    /// Number of blocks that were read so far. The next measurement goes on after them.
    pub read_count: u64,
    /// Figures of the device, as a run at the time of the first measurement would have them.
    pub device: Device,
    /// All measurements of the ceiling. The first one was before the first cell. Empty where the
    /// ceiling cannot be measured.
    pub ceilings: Vec<Ceiling>,
}

/// One measurement of the device's ceiling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Time of the measurement, seconds since 1970.
    pub measured_unix_s: u64,
    /// Random reads of 4 KiB a second, by the fastest method.
    pub ceiling_iops: f64,
}

impl SweepDevice {
    /// Returns whether a cell's `shared` figures come from these measurements.
    pub fn is_of(&self, shared: &SharedDevice) -> bool {
        self.state == shared.state && self.draw_seed == shared.draw_seed
    }
}

/// Returns a warning if a later ceiling differs from the first by more than `DRIFT_MAX`, else
/// `None`.
pub fn drift<'d>(devices: impl IntoIterator<Item = &'d SweepDevice>) -> Option<String> {
    let mut all: Vec<&Ceiling> = devices.into_iter().flat_map(|device| &device.ceilings).collect();
    all.sort_by_key(|ceiling| ceiling.measured_unix_s);
    let (first, later) = all.split_first()?;
    let (change, farthest) = later
        .iter()
        .map(|ceiling| ((ceiling.ceiling_iops / first.ceiling_iops - 1.0).abs(), ceiling))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let after_s = farthest.measured_unix_s - first.measured_unix_s;
    (change > DRIFT_MAX).then(|| {
        format!(
            "the device changed during the sweep: {:.0} reads/s at first, {:.0} reads/s {after_s} \
             s later; compare variants within a cell only, or run again when nothing else uses it",
            first.ceiling_iops, farthest.ceiling_iops
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn measured(ceilings: &[(u64, f64)]) -> SweepDevice {
        let ceiling = |&(measured_unix_s, ceiling_iops): &(u64, f64)| Ceiling {
            measured_unix_s,
            ceiling_iops,
        };
        SweepDevice {
            schema: SCHEMA,
            measured_unix_s: 100,
            state: "rocksdb-0123456789abcdef".to_owned(),
            draw_seed: 9,
            read_count: 40_000,
            device: example::typical().device.unwrap(),
            ceilings: ceilings.iter().map(ceiling).collect(),
        }
    }

    #[test]
    fn a_device_that_changed_by_more_than_a_fifth_is_a_doubt_also_between_start_and_end() {
        assert_eq!(drift([&measured(&[])]), None);
        for (ceilings, is_doubt) in [
            (&[(1, 100.0)][..], false),
            (&[(1, 100.0), (9, 81.0)], false),
            (&[(1, 100.0), (9, 119.0)], false),
            (&[(1, 100.0), (9, 79.0)], true),
            (&[(1, 100.0), (9, 121.0)], true),
            // Slow for a while, and as before at the end.
            (&[(1, 100.0), (1_900, 60.0), (4_000, 100.0)], true),
        ] {
            assert_eq!(drift([&measured(ceilings)]).is_some(), is_doubt, "{ceilings:?}");
        }
        let doubt = drift([&measured(&[(1, 100.0), (601, 60.0), (700, 90.0)])]).expect("a doubt");
        assert!(doubt.contains("100 reads/s at first, 60 reads/s 600 s later"), "{doubt}");
    }

    #[test]
    fn a_sweep_that_went_on_is_held_against_its_first_measurement() {
        let (first, again) = (measured(&[(1, 100.0), (9, 99.0)]), measured(&[(50, 70.0)]));
        let doubt = drift([&again, &first]).expect("a doubt");
        assert!(doubt.contains("100 reads/s at first, 70 reads/s 49 s later"), "{doubt}");
    }

    #[test]
    fn a_cells_figures_are_of_the_measurements_with_their_state_and_seed() {
        let shared = example::shared_device();
        assert!(measured(&[]).is_of(&shared));
        assert!(!SweepDevice { draw_seed: 8, ..measured(&[]) }.is_of(&shared));
        assert!(!SweepDevice { state: "flat-0".to_owned(), ..measured(&[]) }.is_of(&shared));
    }
}
