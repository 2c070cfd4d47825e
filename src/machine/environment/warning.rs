//! Reasons to doubt figures of a machine. A warning has the finding and the remedy, and never
//! changes a figure.

use std::{fmt, time::Duration};

use result::environment::{Environment, Limit};

/// Minimal share of all CPUs' time that is reported as stolen, in percent.
pub(super) const STEAL_PERCENT: u64 = 1;

/// A reason to doubt the figures of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// Parallel variants share one CPU.
    OneCpu,
    /// A quota stops the process when it has used up its CPU time.
    CpuQuota {
        /// The quota in thousandths of a CPU.
        limit_millicpus: u64,
        /// Number of CPUs that the process may run on.
        cpu_count: u64,
    },
    /// Memory may be swapped out.
    SwapActive {
        area_count: usize,
        /// Number of their bytes that are in use.
        used_bytes: u64,
    },
    /// The load average was above the number of CPUs when the run began.
    LoadHigh {
        /// Load average over a minute.
        load: f64,
        cpu_count: u64,
    },
    /// The binary is not fully optimised, or has debug assertions.
    UnoptimisedBuild,
    /// The hypervisor gave CPU time to other machines.
    StealSeen {
        /// Time stolen from all CPUs together.
        stolen_ns: u64,
        /// Share of the CPUs' time since the probe, in percent.
        percent: u64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneCpu => f.write_str(
                "one CPU: threads of parallel variants only take turns; allow more (taskset, \
                 cpuset, container), or compare sequential designs alone",
            ),
            Self::CpuQuota { limit_millicpus, cpu_count } => write!(
                f,
                "a cgroup quota of {}.{:03} CPUs on {cpu_count}: the process is stopped when it \
                 is used up; lift cpu.max, or give whole CPUs by cpuset",
                limit_millicpus / 1000,
                limit_millicpus % 1000
            ),
            Self::SwapActive { area_count, used_bytes } => write!(
                f,
                "swap is on ({area_count} areas, {used_bytes} bytes used): pages that come back \
                 count as reads of the state; run `swapoff -a` first"
            ),
            Self::LoadHigh { load, cpu_count } => {
                write!(f, "{}; stop it, or wait a minute and run again", loaded(*load, *cpu_count))
            }
            Self::UnoptimisedBuild => f.write_str(
                "this build is not fully optimised: its times mean nothing; use \
                 `cargo run --release`",
            ),
            Self::StealSeen { stolen_ns, percent } => write!(
                f,
                "the hypervisor took {} ms of CPU time ({percent} % of all): use a machine that \
                 is not shared, and trust only ratios of this run",
                stolen_ns / 1_000_000
            ),
        }
    }
}

impl Warning {
    /// Returns the text of the warning for a gate with a sure verdict whose two sides took turns.
    pub fn beside_turns(&self) -> String {
        match self {
            Self::LoadHigh { load, cpu_count } => format!(
                "{}; A and B alternate, so that both had the load, and the verdict stands",
                loaded(*load, *cpu_count)
            ),
            other => other.to_string(),
        }
    }
}

fn loaded(load: f64, cpu_count: u64) -> String {
    format!(
        "the load average was {load:.2} on {cpu_count} CPUs at the start: another program, or the run before \
         this one, was busy in the last minute"
    )
}

/// Returns all warnings about `environment`.
pub fn all(environment: &Environment) -> Vec<Warning> {
    let found = [
        cpu(environment),
        swap(environment),
        load(environment),
        (environment.build.has_debug_assertions || environment.build.opt_level != "3")
            .then_some(Warning::UnoptimisedBuild),
        steal(environment),
    ];
    found.into_iter().flatten().collect()
}

fn cpu(environment: &Environment) -> Option<Warning> {
    let cpu_count = environment.cpu.allowed_count.or(environment.cpu.logical_count)?;
    if environment.usable_cpu_count() == Some(1) {
        return Some(Warning::OneCpu);
    }
    match environment.cgroup.cpu_limit_millicpus {
        Some(Limit::At(limit_millicpus)) if limit_millicpus < cpu_count.saturating_mul(1000) => {
            Some(Warning::CpuQuota { limit_millicpus, cpu_count })
        }
        _ => None,
    }
}

fn swap(environment: &Environment) -> Option<Warning> {
    let areas = environment.memory.swaps.as_deref().filter(|areas| !areas.is_empty())?;
    let used_bytes = areas.iter().map(|area| area.used_bytes).fold(0, u64::saturating_add);
    Some(Warning::SwapActive { area_count: areas.len(), used_bytes })
}

fn load(environment: &Environment) -> Option<Warning> {
    let cpu_count = environment.cpu.logical_count?;
    let [load, ..] = environment.host.load_average?;
    (load > cpu_count as f64).then_some(Warning::LoadHigh { load, cpu_count })
}

fn steal(environment: &Environment) -> Option<Warning> {
    let clock = &environment.steal;
    steal_share(clock.stolen_ns()?, clock.elapsed(), environment.cpu.logical_count?)
}

fn steal_share(stolen_ns: u64, wall: Duration, cpu_count: u64) -> Option<Warning> {
    let all_ns = wall.as_nanos() * u128::from(cpu_count);
    let percent = (u128::from(stolen_ns) * 100).checked_div(all_ns)?;
    let percent = u64::try_from(percent).ok()?.min(100);
    (percent >= STEAL_PERCENT).then_some(Warning::StealSeen { stolen_ns, percent })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use result::environment::{StealClock, Swap};

    use super::{super::probe, *};

    /// Two idle CPUs of its own, an optimised build.
    fn quiet() -> Environment {
        let mut environment = probe(Path::new("/"));
        environment.cpu.logical_count = Some(2);
        environment.cpu.allowed_count = Some(2);
        environment.cgroup.cpu_limit_millicpus = Some(Limit::Unlimited);
        environment.memory.swaps = Some(Vec::new());
        environment.host.load_average = Some([0.1, 0.2, 0.3]);
        environment.build.has_debug_assertions = false;
        environment.build.opt_level = "3".to_owned();
        environment.steal = StealClock::stopped(Some(0));
        environment
    }

    #[test]
    fn a_quiet_machine_gives_no_reason_for_doubt() {
        assert_eq!(all(&quiet()), []);
    }

    #[test]
    fn what_is_not_known_gives_no_warning() {
        let mut unknown = quiet();
        unknown.cpu.logical_count = None;
        unknown.cpu.allowed_count = None;
        unknown.cgroup.cpu_limit_millicpus = None;
        unknown.memory.swaps = None;
        unknown.host.load_average = None;
        unknown.steal = StealClock::stopped(None);
        assert_eq!(all(&unknown), []);
    }

    #[test]
    fn one_cpu_is_told_from_a_quota_on_several() {
        let mut small = quiet();
        small.cpu.allowed_count = Some(1);
        assert_eq!(all(&small), [Warning::OneCpu]);
        let mut quota = quiet();
        quota.cgroup.cpu_limit_millicpus = Some(Limit::At(900));
        assert_eq!(all(&quota), [Warning::OneCpu]);
        quota.cgroup.cpu_limit_millicpus = Some(Limit::At(1500));
        let expected = Warning::CpuQuota { limit_millicpus: 1500, cpu_count: 2 };
        assert_eq!(all(&quota), [expected]);
        quota.cgroup.cpu_limit_millicpus = Some(Limit::At(2000));
        assert_eq!(all(&quota), []);
    }

    #[test]
    fn stolen_time_counts_from_one_percent_of_all_cpus() {
        let wall = Duration::from_secs(10);
        assert_eq!(steal_share(199_000_000, wall, 2), None);
        let seen = Warning::StealSeen { stolen_ns: 200_000_000, percent: 1 };
        assert_eq!(steal_share(200_000_000, wall, 2), Some(seen));
        assert_eq!(steal_share(1, Duration::ZERO, 2), None);
        let text = seen.to_string();
        assert!(text.contains("200 ms") && text.contains("not shared"), "{text}");
    }

    #[test]
    fn each_reason_is_seen_and_names_its_remedy() {
        let mut noisy = quiet();
        let swap = Swap {
            path: "/dev/zram0".into(),
            is_zram: true,
            size_bytes: 1 << 30,
            used_bytes: 4096,
        };
        noisy.memory.swaps = Some(vec![swap]);
        noisy.host.load_average = Some([2.01, 0.0, 0.0]);
        noisy.build.opt_level = "1".to_owned();
        let found = all(&noisy);
        let texts: Vec<_> = found.iter().map(Warning::to_string).collect();
        assert_eq!(texts.len(), 3, "{texts:?}");
        for (text, remedy) in texts.iter().zip(["swapoff", "stop it", "--release"]) {
            assert!(text.contains(remedy), "{text}");
        }
        // Only the load is the same for both sides.
        let in_turns: Vec<_> = found.iter().map(Warning::beside_turns).collect();
        assert!(in_turns[1].ends_with("both had the load, and the verdict stands"), "{in_turns:?}");
        assert_eq!((&in_turns[0], &in_turns[2]), (&texts[0], &texts[2]));
    }
}
