//! Reads and writes the keys of `[run]` that begin with `root`: how a run computes state roots.
//! Checks the rules between them, `trie` and the rest of the run.

use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Checked, Keyed, Keys, any_of};
use crate::scenario::{RootSpec, RunSpec};
use crate::sharding::vary;
use crate::state::StateSpec;
use variant::{RootTime, RootWay, TrieForm};
use workload::Layout;

const SHARDS: Range = Range {
    least: 1,
    most: 16,
    below: "the fewest that a trie has",
    above: "the first nibbles that a key can have",
};

/// Keys that begin with `root`, without `root` itself.
impl Keyed for RootSpec {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        match keys.fields() {
            Some(fields) => {
                let counts = fields.count_list("root_shards", &SHARDS)?.unwrap_or_default();
                let counts = counts.into_iter().map(|n| u8::try_from(n).unwrap_or(u8::MAX));
                self.shard_counts = counts.collect();
            }
            None => keys.write("root_shards", any_of(&self.shard_counts, "1")),
        }
        keys.one_or_more("root_reads", &mut self.reads, "by-level")?;
        keys.one_or_more("root_cache", &mut self.caches, "cold")
    }
}

/// Checks that a run with roots has tries, and that tries have rows in the order of their hashes.
/// Refuses settings of roots in a run without roots.
pub(crate) fn check(spec: &RunSpec, fields: &Fields<'_>, state: &StateSpec) -> Result<(), Fault> {
    let RootSpec { time, shard_counts, reads, caches } = &spec.root;
    let has_no_root = *time == RootTime::Nothing && spec.whole.root == RootTime::Nothing;
    for (key, is_given) in [
        ("root_shards", !shard_counts.is_empty()),
        ("root_reads", !reads.is_empty()),
        ("root_cache", !caches.is_empty()),
    ] {
        if is_given && has_no_root {
            let rule = "it says how state roots are computed, and the run computes none";
            let advice = format!("write run.root = \"after\" beside it, or leave {key} out");
            return Err(fields.refusal(key, rule, Remedy::advice(&advice)));
        }
    }
    if spec.trie == TrieForm::Nothing {
        if has_no_root {
            return Ok(());
        }
        let rule = "the state stores no nodes of tries, so it has no root";
        let remedy =
            Remedy::advice("write run.trie = \"cut\", or another form of tries, beside it");
        return Err(fields.refusal(or_whole(fields, "root"), rule, remedy));
    }
    if *time == RootTime::FromList
        && let Some(design) = spec.designs.iter().find(|design| design.preset().list.is_none())
    {
        let rule = format!("the design {design} takes no list that a root could come from");
        let remedy = Remedy::advice(
            "write run.root = \"after\" or \"pipelined\", or name designs that take a list",
        );
        return Err(fields.refusal("root", rule, remedy));
    }
    if state.layout == Layout::Plain {
        let rule =
            "rows of the plain layout are not in the order of their hashes, so they have no trie";
        let remedy = Remedy::advice("write state.layout = \"hashed\", or leave it out");
        return Err(fields.refusal(or_whole(fields, "trie"), rule, remedy));
    }
    Ok(())
}

/// The key that asks for the root: `key` if the scenario has it, else `whole`.
fn or_whole(fields: &Fields<'_>, key: &'static str) -> &'static str {
    if fields.get(key).is_some() { key } else { "whole" }
}

impl RootSpec {
    /// Returns all ways of computing roots to compare, at least one.
    pub fn ways(&self) -> Vec<RootWay> {
        let one = RootWay::at(self.time);
        let mut ways = vec![one];
        vary(&mut ways, &self.shard_counts, one.shard_count, |way, shard_count| RootWay {
            shard_count,
            ..way
        });
        vary(&mut ways, &self.reads, one.reads, |way, reads| RootWay { reads, ..way });
        vary(&mut ways, &self.caches, one.cache, |way, cache| RootWay { cache, ..way });
        ways
    }
}
