//! How the readers of batched I/O read, as a scenario says it: one value or a list for each
//! axis. Refused is a value that could make no difference, as it would be measured for nothing.

use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::scenario::PrefetchSpec;
use variant::{AccountReads, CodeReads, ReadOrder, ReadTime};

const CHUNK: Range = Range {
    least: 1,
    most: 1 << 20,
    below: "the fewest keys that a reader can take",
    above: "the most that is supported",
};

/// Reads the keys that begin with `prefetch`.
pub(crate) fn read(fields: &Fields<'_>) -> Result<PrefetchSpec, Fault> {
    let counts = fields.count_list("prefetch_chunk", &CHUNK)?.unwrap_or_default();
    let spec = PrefetchSpec {
        times: fields.one_or_more("prefetch")?,
        orders: fields.one_or_more("prefetch_order")?,
        accounts: fields.one_or_more("prefetch_accounts")?,
        codes: fields.one_or_more("prefetch_codes")?,
        stops: fields.one_or_more("prefetch_stop")?,
        shares: fields.one_or_more("prefetch_share")?,
        chunk_key_counts: counts
            .into_iter()
            .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
            .collect(),
    };
    check(fields, &spec)?;
    Ok(spec)
}

fn check(fields: &Fields<'_>, spec: &PrefetchSpec) -> Result<(), Fault> {
    let beside = spec.times.contains(&ReadTime::While);
    let needs_while = Remedy::advice("add prefetch = \"while\", or leave it out");
    if spec.orders.contains(&ReadOrder::FirstWrite) && !beside {
        let rule = "first-write orders the keys for transactions that run meanwhile; with \
                    prefetch = \"before\" there are none";
        return Err(fields.fault("prefetch_order", Misfit::new(rule, needs_while)));
    }
    if !spec.stops.is_empty() && !beside {
        let rule = "it says when to stop beside execution; with prefetch = \"before\" all is \
                    read before it begins";
        return Err(fields.fault("prefetch_stop", Misfit::new(rule, needs_while)));
    }
    let without_rows = spec.accounts == [AccountReads::OnDemand];
    if without_rows && spec.codes.iter().any(|codes| *codes != CodeReads::OnDemand) {
        let rule = "a code is known by its account's row, and with prefetch_accounts = \
                    \"on-demand\" readers see none";
        let remedy = Remedy::text("on-demand").and("or let readers read accounts");
        return Err(fields.fault("prefetch_codes", Misfit::new(rule, remedy)));
    }
    Ok(())
}
