//! Figures of runs over many batches.

use crate::{run::SampleFacts, stats, writes::BatchFigures};

/// Figures over all batches of `samples`.
pub fn batch_figures(samples: &[&SampleFacts]) -> BatchFigures {
    let times = samples.iter().flat_map(|sample| sample.batch_ns.iter().copied());
    let writes = samples.iter().filter_map(|sample| sample.writes.as_ref());
    let of_device = writes.clone().filter_map(|writes| writes.device_amplification);
    let of_store = writes.filter_map(|writes| writes.store_amplification);
    BatchFigures {
        time_ns: stats::percentiles_of(times),
        device_amplification: stats::median(&of_device.collect::<Vec<_>>()),
        store_amplification: stats::median(&of_store.collect::<Vec<_>>()),
    }
}
