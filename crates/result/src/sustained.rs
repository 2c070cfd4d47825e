//! Figures of runs over many batches.

use crate::{
    run::SampleFacts,
    stats,
    writes::{BatchFigures, WriteFacts},
};

/// Figures over all batches of `samples`.
pub fn batch_figures(samples: &[&SampleFacts]) -> BatchFigures {
    let times = samples.iter().flat_map(|sample| sample.batch_ns.iter().copied());
    let median = |figure: fn(&WriteFacts) -> Option<f64>| {
        let of = |sample: &&SampleFacts| figure(sample.writes.as_ref()?);
        stats::median(&samples.iter().filter_map(of).collect::<Vec<_>>())
    };
    BatchFigures {
        time_ns: stats::percentiles_of(times),
        device_amplification: median(|writes| writes.device_amplification),
        store_amplification: median(|writes| writes.store_amplification),
    }
}
