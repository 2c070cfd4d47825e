//! What takes time away while something is measured: a hypervisor's steal, a quota that stops
//! the process, a processor that is too hot. Looked at before and after; what is not told is no
//! reason for doubt.

use std::time::Duration;

use super::{StealClock, cgroup, tree::Tree, warning::STEAL_PERCENT};

/// Counts from its start on.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    steal: StealClock,
    cpu_count: u64,
    before: Counts,
}

/// How often the system has slowed us down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Periods in which a quota stopped a group of ours.
    quota: Option<u64>,
    /// Times that a processor was slowed because it was hot.
    heat: Option<u64>,
}

impl Watch {
    /// Begins now.
    pub fn start() -> Self {
        let cpu_count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            steal: StealClock::start(),
            cpu_count: cpu_count as u64,
            before: Counts::now(&Tree::of_this_machine()),
        }
    }

    /// What was seen since the start, one sentence each; empty where all was quiet.
    pub fn disturbances(&self) -> Vec<String> {
        let stolen = self.steal.stolen_ns().map(Duration::from_nanos);
        let now = Counts::now(&Tree::of_this_machine());
        let steal = stolen.and_then(|stolen| steal(stolen, self.steal.elapsed(), self.cpu_count));
        steal.into_iter().chain(self.before.slowed(&now)).collect()
    }
}

/// Stolen time, from the same share on that a result warns of.
fn steal(stolen: Duration, wall: Duration, cpu_count: u64) -> Option<String> {
    let all = wall.as_secs_f64() * cpu_count as f64;
    let percent = 100.0 * stolen.as_secs_f64() / all;
    (all > 0.0 && percent >= STEAL_PERCENT as f64).then(|| {
        format!(
            "the hypervisor took {percent:.1} % of the CPU time: use a machine that is not shared"
        )
    })
}

impl Counts {
    fn now(tree: &Tree) -> Self {
        let cpus = "/sys/devices/system/cpu";
        let heat = |name: &String| {
            tree.number::<u64>(&format!("{cpus}/{name}/thermal_throttle/core_throttle_count"))
        };
        let heats: Vec<_> = tree.names(cpus).iter().filter_map(heat).collect();
        Self {
            quota: cgroup::throttled_count(tree),
            heat: (!heats.is_empty()).then(|| heats.iter().sum()),
        }
    }

    fn slowed(&self, now: &Self) -> Vec<String> {
        let more = |before: Option<u64>, now: Option<u64>| Some(now?.saturating_sub(before?));
        let quota = more(self.quota, now.quota)
            .filter(|count| *count > 0)
            .map(|count| format!("a cgroup quota stopped the process {count} times: lift cpu.max"));
        let heat = more(self.heat, now.heat).filter(|count| *count > 0).map(|count| {
            format!(
                "a processor was slowed {count} times because it was hot: cool it, or pin its clock"
            )
        });
        quota.into_iter().chain(heat).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tree::fake::FakeTree, *};

    #[test]
    fn a_hot_processor_and_a_quota_are_counted_where_the_system_tells() {
        let quiet = Counts::now(&FakeTree::new(&[]).tree);
        assert_eq!(quiet, Counts::default());
        let cpu = "/sys/devices/system/cpu";
        let hot = FakeTree::new(&[
            (&format!("{cpu}/cpu0/thermal_throttle/core_throttle_count"), "3\n"),
            (&format!("{cpu}/cpu1/thermal_throttle/core_throttle_count"), "4\n"),
        ]);
        assert_eq!(Counts::now(&hot.tree).heat, Some(7));
    }

    #[test]
    fn only_what_was_added_counts_and_the_unknown_is_no_reason() {
        let before = Counts { quota: Some(5), heat: None };
        assert_eq!(before.slowed(&before), Vec::<String>::new());
        let slowed = before.slowed(&Counts { quota: Some(7), heat: Some(9) });
        assert_eq!(slowed.len(), 1);
        assert!(slowed[0].contains("2 times"), "{slowed:?}");
    }

    #[test]
    fn steal_counts_from_one_percent_of_all_cpus() {
        let second = Duration::from_secs(1);
        assert_eq!(steal(Duration::from_millis(19), second, 2), None);
        let told = steal(Duration::from_millis(20), second, 2);
        assert!(told.is_some_and(|text| text.contains("1.0 %")));
        assert_eq!(steal(second, Duration::ZERO, 2), None);
    }
}
