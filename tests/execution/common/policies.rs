//! Policies of reading ahead that together have every value of every axis.

use std::num::NonZeroU32;

use variant::{AccountReads, CodeReads, Prefetch, ReadOrder, ReadTime, ReaderShare, StopRule};

/// Each value of each axis with all others at their defaults, beside execution and before it; and
/// two policies in which nothing is the default.
pub(crate) fn policies() -> Vec<Prefetch> {
    let mut policies = vec![Prefetch::default()];
    policies.extend(ReadOrder::ALL.iter().map(|order| with(|to| to.order = *order)));
    policies.extend(AccountReads::ALL.iter().map(|reads| with(|to| to.accounts = *reads)));
    policies.extend(CodeReads::ALL.iter().map(|reads| with(|to| to.codes = *reads)));
    policies.extend(StopRule::ALL.iter().map(|stop| with(|to| to.stop = *stop)));
    policies.extend(ReaderShare::ALL.iter().map(|share| with(|to| to.share = *share)));
    policies.push(with(|to| to.chunk = NonZeroU32::new(1)));
    for policy in policies.clone() {
        policies.push(Prefetch { time: ReadTime::While, ..policy });
    }
    for order in [ReadOrder::Listed, ReadOrder::FirstWrite] {
        policies.push(Prefetch {
            time: ReadTime::While,
            order,
            accounts: AccountReads::Mixed,
            codes: CodeReads::AfterState,
            stop: StopRule::AllRead,
            share: ReaderShare::Ranges,
            chunk: NonZeroU32::new(7),
        });
    }
    let mut distinct = Vec::new();
    for policy in policies {
        if !distinct.contains(&policy) {
            distinct.push(policy);
        }
    }
    distinct
}

fn with(change: impl FnOnce(&mut Prefetch)) -> Prefetch {
    let mut policy = Prefetch::default();
    change(&mut policy);
    policy
}
