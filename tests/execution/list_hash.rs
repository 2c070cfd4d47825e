//! Order of a list's checks: length, hash, decoding. A list that is too long costs no hash. A list
//! with another hash than the header's costs no read.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool};

use alloy_primitives::{B256, Bytes, keccak256};
use executor::{
    engine::{EngineError, ListFault, Task},
    sample,
    span::Span,
};
use generator::reference;
use variant::{CacheMode, Design, ListDuty, ListForm, Phase, Variant};
use workload::list::{ListBounds, ListError};

use crate::wrong_lists::{memory, storm, variants};

#[test]
fn a_list_that_is_not_the_one_that_the_header_names_is_rejected_before_it_is_read() {
    let workload = storm();
    let store = memory(&workload);
    let cancel = AtomicBool::new(false);
    // Engines without a list may build it: it is correct if its hash is the header's.
    let building = [(Design::Sequential, 1), (Design::Prewarm, 1), (Design::Prewarm, 3)];
    let building = building.map(|(design, threads)| {
        let variant = Variant::of(design, NonZeroUsize::new(threads).unwrap(), NonZeroUsize::MIN);
        Variant { list_duty: ListDuty::Build, ..variant }
    });
    for variant in variants().into_iter().chain(building) {
        let full = || reference::full_lists(&workload, || ()).unwrap();
        let lists = sample::lists_for(&workload, variant.list, full).unwrap();
        let take = |hash: B256| {
            let task = Task::new(&workload, &lists, variant, &cancel);
            sample::take(&store, &Task { list_hashes: &[hash], ..task }, CacheMode::Cold)
        };
        let (right, phase) = match variant.list {
            Some(_) => (keccak256(&lists[0]), Phase::Hash),
            None => (keccak256(&workload.batches[0].list), Phase::Build),
        };
        let taken = take(right).unwrap();
        assert_eq!(taken.disagreement, None, "{variant}");
        let hashed = taken.executed.spans.iter().filter(|span| span.phase == phase);
        assert_eq!(hashed.clone().count(), workload.batches.len(), "{variant}");
        // The length is checked before the hash, and the list is decoded after it, each in its own
        // phase.
        let has_decode = |at: &dyn Fn(&Span) -> bool| {
            taken.executed.spans.iter().any(|span| span.phase == Phase::Decode && at(span))
        };
        for hash in hashed.filter(|_| variant.list.is_some()) {
            assert!(has_decode(&|span| span.end == hash.start), "{variant}");
            assert!(has_decode(&|span| span.start == hash.end), "{variant}");
        }
        match take(B256::ZERO) {
            Err(EngineError::List {
                fault: ListFault::WrongHash { got, header }, spent, ..
            }) => {
                assert_eq!((got, header), (right, B256::ZERO));
                // A given list is rejected before anything is read.
                assert_eq!(spent.counters.key_count == 0, variant.list.is_some(), "{variant}");
            }
            other => panic!("{variant}: {:?}", other.map(|taken| taken.disagreement)),
        }
    }
}

#[test]
fn a_list_that_is_too_long_is_rejected_before_it_is_hashed() {
    let workload = storm();
    let store = memory(&workload);
    let cancel = AtomicBool::new(false);
    let bounds = ListBounds::new(&workload.batches[0], &workload.rules);
    for variant in variants() {
        let most = match variant.list {
            Some(ListForm::Full) => bounds.max_full_bytes(),
            Some(_) => bounds.max_bytes(),
            None => continue,
        };
        for (surplus, is_hashed) in [(0, true), (1, false)] {
            let length = usize::try_from(most + surplus).unwrap();
            let lists = vec![Bytes::from(vec![0; length]); workload.batches.len()];
            // No list has this hash, so a list that is hashed is rejected for it.
            let task = Task::new(&workload, &lists, variant, &cancel);
            let task = Task { list_hashes: &[B256::ZERO], ..task };
            let rejected =
                sample::take(&store, &task, CacheMode::Cold).map(|taken| taken.disagreement);
            match rejected {
                Err(EngineError::List { fault: ListFault::WrongHash { .. }, .. }) => {
                    assert!(is_hashed)
                }
                Err(EngineError::List {
                    fault: ListFault::Malformed(ListError::TooLong { got_bytes, max_bytes }),
                    ..
                }) => {
                    assert_eq!(
                        (got_bytes, max_bytes, is_hashed),
                        (most + 1, most, false),
                        "{variant}"
                    );
                }
                other => panic!("{variant}: {other:?}"),
            }
        }
    }
}
