//! The prefetch policies that a run compares, by the scenario's keys.

use std::num::NonZeroU32;

use spec::PrefetchSpec;
use variant::{AccountReads, CodeReads, Prefetch, ReadTime, StopRule};

/// Returns all combinations of the values in `spec`, each once. A key without effect under a policy
/// has its default.
pub(super) fn policies(spec: &PrefetchSpec) -> Vec<Prefetch> {
    let mut policies = vec![Prefetch::default()];
    cross(&mut policies, &spec.times, |to, time| to.time = time);
    cross(&mut policies, &spec.orders, |to, order| to.order = order);
    cross(&mut policies, &spec.accounts, |to, accounts| to.accounts = accounts);
    cross(&mut policies, &spec.codes, |to, codes| to.codes = codes);
    cross(&mut policies, &spec.stops, |to, stop| to.stop = stop);
    cross(&mut policies, &spec.shares, |to, share| to.share = share);
    cross(&mut policies, &spec.chunk_key_counts, |to, keys| to.chunk = NonZeroU32::new(keys));
    let mut distinct = Vec::new();
    for mut policy in policies {
        if policy.time == ReadTime::Before {
            policy.stop = StopRule::default();
        }
        if policy.accounts == AccountReads::OnDemand {
            policy.codes = CodeReads::default();
        }
        if !distinct.contains(&policy) {
            distinct.push(policy);
        }
    }
    distinct
}

/// Combines each policy with each of `values`. Without a value the policies are unchanged.
fn cross<T: Copy>(policies: &mut Vec<Prefetch>, values: &[T], set: impl Fn(&mut Prefetch, T)) {
    if values.is_empty() {
        return;
    }
    let with = |mut policy: Prefetch, value: T| {
        set(&mut policy, value);
        policy
    };
    let all = policies.iter().flat_map(|policy| values.iter().map(|value| with(*policy, *value)));
    *policies = all.collect();
}

#[cfg(test)]
mod tests {
    use variant::ReadOrder;

    use super::*;

    #[test]
    fn what_is_listed_is_crossed_and_what_makes_no_difference_is_not() {
        assert_eq!(policies(&PrefetchSpec::default()), [Prefetch::default()]);
        let spec = PrefetchSpec {
            times: vec![ReadTime::Before, ReadTime::While],
            orders: vec![ReadOrder::Listed, ReadOrder::OnDisk],
            stops: vec![StopRule::Executed, StopRule::AllRead],
            ..PrefetchSpec::default()
        };
        let names: Vec<_> = policies(&spec).iter().map(ToString::to_string).collect();
        let expected =
            [".listed", "", "-while.listed", "-while.listed.all-read", "-while", "-while.all-read"];
        assert_eq!(names, expected);
        let spec = PrefetchSpec {
            accounts: vec![AccountReads::First, AccountReads::OnDemand],
            codes: vec![CodeReads::WithState, CodeReads::AfterState],
            ..PrefetchSpec::default()
        };
        let names: Vec<_> = policies(&spec).iter().map(ToString::to_string).collect();
        assert_eq!(names, [".codes-with-state", ".codes-after-state", ".accounts-on-demand"]);
    }
}
