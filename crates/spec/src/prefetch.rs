//! The keys of `[run]` that begin with `prefetch`: how the readers of batched I/O read. Each axis
//! has one value or a list. A value without an effect is refused, since its measurement would be
//! wasted.

use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Checked, Keyed, Keys};
use crate::scenario::PrefetchSpec;
use variant::{AccountReads, CodeReads, ReadOrder, ReadTime};

const CHUNK: Range = Range::supported(1, 1 << 20, "the fewest keys that a reader can take");

/// Meaning of an absent value.
pub(crate) const IF_ABSENT: &str = "chosen by the tool";

impl Keyed for PrefetchSpec {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.one_or_more("prefetch", &mut self.times, IF_ABSENT)?;
        keys.one_or_more("prefetch_order", &mut self.orders, IF_ABSENT)?;
        keys.one_or_more("prefetch_accounts", &mut self.accounts, IF_ABSENT)?;
        keys.one_or_more("prefetch_codes", &mut self.codes, IF_ABSENT)?;
        keys.one_or_more("prefetch_stop", &mut self.stops, IF_ABSENT)?;
        keys.one_or_more("prefetch_share", &mut self.shares, IF_ABSENT)?;
        keys.counts("prefetch_chunk", &mut self.chunk_key_counts, &CHUNK, &[])
    }
}

/// Refuses values without an effect in this run.
pub(crate) fn check(spec: &PrefetchSpec, fields: &Fields<'_>) -> Result<(), Fault> {
    let reads_while = spec.times.contains(&ReadTime::While);
    let needs_while = Remedy::advice("add prefetch = \"while\", or leave it out");
    if spec.orders.contains(&ReadOrder::FirstWrite) && !reads_while {
        let rule = "first-write orders the keys for transactions that run meanwhile; with \
                    prefetch = \"before\" there are none";
        return Err(fields.refusal("prefetch_order", rule, needs_while));
    }
    if !spec.stops.is_empty() && !reads_while {
        let rule = "it says when to stop beside execution; with prefetch = \"before\" all is \
                    read before it begins";
        return Err(fields.refusal("prefetch_stop", rule, needs_while));
    }
    let accounts_on_demand = spec.accounts == [AccountReads::OnDemand];
    if accounts_on_demand && spec.codes.iter().any(|codes| *codes != CodeReads::OnDemand) {
        let rule = "a code is known by its account's row, and with prefetch_accounts = \
                    \"on-demand\" readers see none";
        let remedy = Remedy::text("on-demand").and("or let readers read accounts");
        return Err(fields.refusal("prefetch_codes", rule, remedy));
    }
    Ok(())
}
