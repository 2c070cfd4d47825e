//! Counts losses of time while samples are taken: CPU time that the hypervisor steals, a quota that
//! stops the process, a processor that is too hot. An unknown count is no reason for doubt.

use std::time::Duration;

use executor::process;
use result::environment::StealClock;

use super::{cgroup, tree::Tree, warning::STEAL_PERCENT};

/// Counts losses while it watches. Losses in pauses do not disturb the measurement.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Clock, number of CPUs and counts at the start of watching; `None` during a pause.
    started: Option<(StealClock, u64, Counts)>,
    /// Stolen CPU time while watching.
    stolen: Duration,
    /// CPU time of all watched CPUs while watching.
    capacity: Duration,
    /// Sum of [`Counts::quota`] while watching.
    quota_count: u64,
    /// Sum of [`Counts::heat`] while watching.
    heat_count: u64,
}

/// Counts of the events by which the system has slowed this process down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Number of periods in which a quota stopped a group of this process.
    quota: Option<u64>,
    /// Number of times that a processor was slowed because it was hot.
    heat: Option<u64>,
}

impl Watch {
    /// Begins to watch `cpu_count` CPUs, unless it watches already.
    pub fn resume(&mut self, cpu_count: usize) {
        if self.started.is_some() {
            return;
        }
        let counts = Counts::now(&Tree::of_this_machine());
        self.started = Some((StealClock::start(process::steal), cpu_count as u64, counts));
    }

    /// Pauses, and adds up the losses.
    pub fn pause(&mut self) {
        let Some((steal, cpu_count, before)) = self.started.take() else { return };
        if let Some(stolen_ns) = steal.stolen_ns() {
            self.stolen += Duration::from_nanos(stolen_ns);
            self.capacity +=
                steal.elapsed().saturating_mul(u32::try_from(cpu_count).unwrap_or(u32::MAX));
        }
        let now = Counts::now(&Tree::of_this_machine());
        for (sum, before, now) in [
            (&mut self.quota_count, before.quota, now.quota),
            (&mut self.heat_count, before.heat, now.heat),
        ] {
            *sum += now.zip(before).map_or(0, |(now, before)| now.saturating_sub(before));
        }
    }

    /// Returns the losses, one sentence each; empty without losses.
    pub fn disturbances(&self) -> Vec<String> {
        let quota = (self.quota_count > 0).then(|| {
            format!("a cgroup quota stopped the process {} times: lift cpu.max", self.quota_count)
        });
        let heat = (self.heat_count > 0).then(|| {
            format!(
                "a processor was slowed {} times because it was hot: cool it, or pin its clock",
                self.heat_count
            )
        });
        steal(self.stolen, self.capacity).into_iter().chain(quota).chain(heat).collect()
    }
}

/// Reports stolen time if its share is at least [`STEAL_PERCENT`], from which a result warns of it.
fn steal(stolen: Duration, capacity: Duration) -> Option<String> {
    let percent = 100.0 * stolen.as_secs_f64() / capacity.as_secs_f64();
    (!capacity.is_zero() && percent >= STEAL_PERCENT as f64).then(|| {
        format!(
            "the hypervisor took {percent:.1} % of the CPU time: use a machine that is not shared"
        )
    })
}

impl Counts {
    fn now(tree: &Tree) -> Self {
        let cpus = "/sys/devices/system/cpu";
        let heats = tree.names(cpus).into_iter().filter_map(|name| {
            tree.number(&format!("{cpus}/{name}/thermal_throttle/core_throttle_count"))
        });
        let heats: Vec<u64> = heats.collect();
        Self {
            quota: cgroup::throttled_count(tree),
            heat: (!heats.is_empty()).then(|| heats.iter().sum()),
        }
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
    fn only_what_is_seen_while_it_looks_counts_and_the_unknown_is_no_reason() {
        let mut watch = Watch::default();
        assert_eq!(watch.disturbances(), Vec::<String>::new());
        watch.pause();
        watch.resume(2);
        watch.pause();
        let before = watch.capacity;
        assert_eq!(watch.capacity.is_zero(), process::steal().is_none());
        // Paused: no time passes.
        watch.pause();
        assert_eq!(watch.capacity, before);
        watch.quota_count = 2;
        let told = watch.disturbances();
        assert!(told.iter().any(|text| text.contains("2 times")), "{told:?}");
    }

    #[test]
    fn steal_counts_from_one_percent_of_the_cpus_that_were_used() {
        let second = Duration::from_secs(1);
        assert_eq!(steal(Duration::from_millis(19), second * 2), None);
        let told = steal(Duration::from_millis(20), second * 2);
        assert!(told.is_some_and(|text| text.contains("1.0 %")));
        assert_eq!(steal(second, Duration::ZERO), None);
    }
}
