//! Adds whole rows by default: one for each design, beside its rows of execution alone. A run gets
//! them if it names no whole rows and its work can run whole. If the work cannot, a note has the
//! reason and the remedy.

use generator::export;
use spec::RunSpec;
use variant::{Durability, RootTime, WholeRows};
use workload::{Layout, Workload, rules::MAX_RLP_BLOCK_BYTES, signing::Signer};

/// Returns `run` of `workload` with the whole rows `open`, if the run names none. If the work
/// cannot run whole, returns the run as it is, with the reason and the remedy.
pub fn with_whole(run: RunSpec, open: WholeRows, workload: &Workload) -> (RunSpec, Option<String>) {
    if open == WholeRows::Nothing || !run.lets_verb_choose_whole() {
        return (run, None);
    }
    match obstacle(&run, workload) {
        None => (run.with_whole_rows(), None),
        reason => (run, reason),
    }
}

/// Returns the reason for which `workload` cannot run whole under `run`, and the remedy.
fn obstacle(run: &RunSpec, workload: &Workload) -> Option<String> {
    if workload.layout == Layout::Plain {
        let reason = "the plain layout has no tries; --set state.layout=hashed";
        return Some(reason.to_owned());
    }
    if let Some(store) = run.stores.iter().find(|store| !store.has_tries()) {
        return Some(format!("the {store} store keeps no tries; leave it out"));
    }
    if run.commit == Durability::Unlogged {
        let reason = "a commit without a log is not durable; --set run.commit=logged";
        return Some(reason.to_owned());
    }
    // Imported blocks have their signatures.
    if !workload.signed_transactions.is_empty() {
        return None;
    }
    if let Some(reason) = too_long(workload) {
        return Some(format!("{reason}; less --gas"));
    }
    let remedy = match run.root.time {
        RootTime::Nothing => {
            "; for the state root alone --set run.trie=reth-like --set run.root=after"
        }
        _ => "",
    };
    let signer = match Signer::new(workload) {
        Ok(signer) => signer,
        Err(error) => return Some(format!("blocks cannot be signed: {error}{remedy}")),
    };
    let blocks = workload.batches.iter().flat_map(|batch| &batch.blocks);
    let unsigned =
        blocks.flat_map(|block| &block.transactions).any(|tx| signer.unknown_signer(tx).is_some());
    let reason = "blocks cannot be signed: they were imported without signatures, and secrets of their \
                  senders are not known";
    unsigned.then(|| format!("{reason}{remedy}"))
}

/// Reports a generated block that is longer than clients accept.
pub fn too_long(workload: &Workload) -> Option<String> {
    let lengths =
        workload.blocks().map(|block| (block, export::block_bytes(block, workload.chain_id)));
    let (block, bytes) = lengths.max_by_key(|(_, bytes)| *bytes)?;
    (bytes > MAX_RLP_BLOCK_BYTES).then(|| {
        format!(
            "no client accepts block {}: it has about {bytes} bytes as RLP, and {MAX_RLP_BLOCK_BYTES} are allowed \
             (EIP-7934)",
            block.env.number
        )
    })
}

#[cfg(test)]
mod tests {
    use spec::{Override, Scenario};

    use super::*;

    /// A workload and its run with these keys.
    fn small(keys: &[(&str, &str)]) -> (Workload, RunSpec) {
        let sized = [("state.slots", "1000"), ("state.accounts", "100"), ("block.gas", "1M")];
        let given = |(key, value): &(&str, &str)| {
            Override::new(*key, *value, format!("--set {key}={value}"))
        };
        let overrides: Vec<_> = sized.iter().chain(keys).map(given).collect();
        let scenario: Scenario = spec::load("transfers", &overrides).unwrap();
        (generator::generate(&scenario, |_| ()).unwrap(), scenario.run)
    }

    fn resolved(
        open: WholeRows,
        (workload, run): (Workload, RunSpec),
    ) -> (RunSpec, Option<String>) {
        with_whole(run, open, &workload)
    }

    #[test]
    fn a_generated_workload_runs_whole_where_its_verb_wants_that() {
        let (workload, run) = small(&[]);
        let resolved_run = resolved(WholeRows::One, (workload, run.clone()));
        assert_eq!(resolved_run, (run.clone().with_whole_rows(), None));
        assert_eq!(resolved(WholeRows::Nothing, small(&[])), (run, None));
    }

    #[test]
    fn work_that_cannot_run_whole_runs_alone_and_says_why_with_a_remedy() {
        let (mut unsigned, run) = small(&[]);
        unsigned.batches[0].blocks[0].transactions[0].sender = alloy_primitives::Address::ZERO;
        let (mut long, _) = small(&[]);
        long.batches[0].blocks[0].transactions[0].input = vec![1; MAX_RLP_BLOCK_BYTES].into();
        for (work, words) in [
            ((unsigned, run.clone()), ["secrets of their senders are not known", "run.root=after"]),
            ((long, run.clone()), ["8388608 are allowed (EIP-7934)", "less --gas"]),
            (small(&[("state.layout", "plain")]), ["plain layout", "--set state.layout=hashed"]),
            (small(&[("run.commit", "unlogged")]), ["not durable", "run.commit=logged"]),
            (small(&[("run.stores", "redis")]), ["the redis store keeps no tries", "leave it out"]),
        ] {
            let before = work.1.clone();
            let (run, reason) = resolved(WholeRows::One, work);
            assert_eq!(run, before);
            let reason = reason.unwrap_or_default();
            assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
        }
    }

    #[test]
    fn who_declines_is_told_no_reason() {
        for keys in [("run.whole", "none"), ("run.trie", "none"), ("run.duties", "recover")] {
            let work = small(&[keys, ("state.layout", "plain")]);
            assert_eq!(resolved(WholeRows::One, work).1, None);
        }
    }
}
