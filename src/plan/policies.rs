//! From what a scenario says of reading ahead to the policies that are compared.

use std::num::NonZeroU32;

use executor::variant::{
    AccountReads, CodeReads, Prefetch, ReadOrder, ReadTime, Sharing, StopRule,
};
use generator::scenario::{
    AccountsName, CodesName, OrderName, PrefetchName, PrefetchSpec, ShareName, StopName,
};

/// All combinations of what `spec` lists, without doubles: what makes no difference under a
/// policy is there at its default.
pub(super) fn policies(spec: &PrefetchSpec) -> Vec<Prefetch> {
    let mut policies = vec![Prefetch::default()];
    cross(&mut policies, &spec.times, |to, time| to.time = time_of(time));
    cross(&mut policies, &spec.orders, |to, order| to.order = order_of(order));
    cross(&mut policies, &spec.accounts, |to, accounts| to.accounts = accounts_of(accounts));
    cross(&mut policies, &spec.codes, |to, codes| to.codes = codes_of(codes));
    cross(&mut policies, &spec.stops, |to, stop| to.stop = stop_of(stop));
    cross(&mut policies, &spec.shares, |to, share| to.share = share_of(share));
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

/// Each policy with each of `values`; as they are where there is no value.
fn cross<T: Copy>(policies: &mut Vec<Prefetch>, values: &[T], set: impl Fn(&mut Prefetch, T)) {
    if values.is_empty() {
        return;
    }
    let with = |policy: Prefetch, value: T| {
        let mut policy = policy;
        set(&mut policy, value);
        policy
    };
    let all = policies.iter().flat_map(|policy| values.iter().map(|value| with(*policy, *value)));
    *policies = all.collect();
}

const fn time_of(name: PrefetchName) -> ReadTime {
    match name {
        PrefetchName::Before => ReadTime::Before,
        PrefetchName::While => ReadTime::While,
    }
}

const fn order_of(name: OrderName) -> ReadOrder {
    match name {
        OrderName::OnDisk => ReadOrder::OnDisk,
        OrderName::Listed => ReadOrder::Listed,
        OrderName::FirstWrite => ReadOrder::FirstWrite,
    }
}

const fn accounts_of(name: AccountsName) -> AccountReads {
    match name {
        AccountsName::First => AccountReads::First,
        AccountsName::Mixed => AccountReads::Mixed,
        AccountsName::OnDemand => AccountReads::OnDemand,
    }
}

const fn codes_of(name: CodesName) -> CodeReads {
    match name {
        CodesName::OnDemand => CodeReads::OnDemand,
        CodesName::WithState => CodeReads::WithState,
        CodesName::AfterState => CodeReads::AfterState,
    }
}

const fn stop_of(name: StopName) -> StopRule {
    match name {
        StopName::Executed => StopRule::Executed,
        StopName::AllRead => StopRule::AllRead,
    }
}

const fn share_of(name: ShareName) -> Sharing {
    match name {
        ShareName::Next => Sharing::Next,
        ShareName::Ranges => Sharing::Ranges,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_crossed_and_what_makes_no_difference_is_not() {
        assert_eq!(policies(&PrefetchSpec::default()), [Prefetch::default()]);
        let spec = PrefetchSpec {
            times: vec![PrefetchName::Before, PrefetchName::While],
            orders: vec![OrderName::Listed, OrderName::OnDisk],
            stops: vec![StopName::Executed, StopName::AllRead],
            ..PrefetchSpec::default()
        };
        let names: Vec<_> = policies(&spec).iter().map(ToString::to_string).collect();
        let expected =
            [".listed", "", "-while.listed", "-while.listed.all-read", "-while", "-while.all-read"];
        assert_eq!(names, expected);
        let spec = PrefetchSpec {
            accounts: vec![AccountsName::First, AccountsName::OnDemand],
            codes: vec![CodesName::WithState, CodesName::AfterState],
            ..PrefetchSpec::default()
        };
        let names: Vec<_> = policies(&spec).iter().map(ToString::to_string).collect();
        assert_eq!(names, [".codes-with-state", ".codes-after-state", ".accounts-on-demand"]);
    }

    #[test]
    fn an_axis_has_the_same_names_in_a_scenario_and_in_a_result() {
        let orders = [OrderName::OnDisk, OrderName::Listed, OrderName::FirstWrite];
        assert_eq!(orders.map(OrderName::name), orders.map(|name| order_of(name).name()));
        let accounts = [AccountsName::First, AccountsName::Mixed, AccountsName::OnDemand];
        assert_eq!(accounts.map(AccountsName::name), accounts.map(|n| accounts_of(n).name()));
        let codes = [CodesName::OnDemand, CodesName::WithState, CodesName::AfterState];
        assert_eq!(codes.map(CodesName::name), codes.map(|name| codes_of(name).name()));
        let stops = [StopName::Executed, StopName::AllRead];
        assert_eq!(stops.map(StopName::name), stops.map(|name| stop_of(name).name()));
        let shares = [ShareName::Next, ShareName::Ranges];
        assert_eq!(shares.map(ShareName::name), shares.map(|name| share_of(name).name()));
        let times = [PrefetchName::Before, PrefetchName::While];
        assert_eq!(times.map(PrefetchName::name), times.map(|name| time_of(name).name()));
    }
}
