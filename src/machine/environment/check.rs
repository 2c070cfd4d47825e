//! Checks whether this machine is fit for benchmarking, subject by subject. A subject is fine, has
//! a warning with its remedy, or is unknown with the reason. `stress doctor` shows the checks.

use report::units;
use result::environment::{Check, Environment, Limit, Status};

use super::warning::{self, Warning};

/// Memory that is enough for a cold or warm run of the shipped state. It holds a warm cache of 4
/// GiB, index and filters, a workload and its lists.
const WORKING_SET_BYTES: u64 = 6 << 30;
/// Free space for building the shipped state of 128M slots with its tries.
const STATE_BYTES: u64 = 14_800_000_000;

fn ok(name: &str, found: impl Into<String>) -> Check {
    Check { name: name.to_owned(), status: Status::Ok, found: found.into(), remedy: None }
}

fn warn(name: &str, found: impl Into<String>, remedy: &str) -> Check {
    Check { status: Status::Warning, remedy: Some(remedy.to_owned()), ..ok(name, found) }
}

fn unknown(name: &str, remedy: &str) -> Check {
    Check { status: Status::Unknown, ..warn(name, "not known", remedy) }
}

/// Returns the checks of all subjects, in the order of a report.
pub fn all(env: &Environment) -> Vec<Check> {
    let cpu =
        [cpus(env), governor(env), turbo(env), smt(env), clock_source(env), steal(env), load(env)];
    let memory = [swap(env), memory_limit(env), memory(env)];
    let disk = [file_system(env), space(env), direct_reads(env), page_cache(env), io_uring(env)];
    let rest = [virtualisation(env), build(env)];
    cpu.into_iter().chain(memory).chain(disk).chain(rest).collect()
}

/// Returns the first warning of a kind, so that a check agrees with the warnings of a result.
fn find_warning(env: &Environment, kind: fn(&Warning) -> bool) -> Option<Warning> {
    warning::all(env).into_iter().find(kind)
}

fn cpus(env: &Environment) -> Check {
    const REMEDY: &str = "allow more CPUs, whole ones: taskset, cpuset, cpu.max";
    let Some(count) = env.usable_cpu_count() else {
        return unknown("CPUs", "run where /sys shows them");
    };
    let found = units::things(count, "usable CPU");
    match find_warning(env, |w| matches!(w, Warning::OneCpu | Warning::CpuQuota { .. })) {
        Some(Warning::OneCpu) => {
            warn("CPUs", format!("{found}: parallel variants only take turns"), REMEDY)
        }
        Some(_) => warn("CPUs", format!("{found}, by a quota below the CPUs allowed"), REMEDY),
        None => ok("CPUs", found),
    }
}

fn governor(env: &Environment) -> Check {
    const REMEDY: &str = "cpupower frequency-set --governor performance";
    match env.cpu.governor.as_deref() {
        Some("performance") => ok("governor", "performance"),
        Some(other) => warn("governor", format!("{other}: the clock follows the load"), REMEDY),
        None => unknown("governor", "a virtual machine hides it: ask whoever runs the host"),
    }
}

fn turbo(env: &Environment) -> Check {
    const REMEDY: &str = "turn it off in the firmware or by /sys/devices/system/cpu (no_turbo, \
                          cpufreq/boost)";
    match env.cpu.is_turbo_on {
        Some(false) => ok("turbo", "off"),
        Some(true) => warn("turbo", "on: the clock depends on heat and neighbours", REMEDY),
        None => unknown("turbo", "a virtual machine hides it: ask whoever runs the host"),
    }
}

fn smt(env: &Environment) -> Check {
    const REMEDY: &str = "echo off > /sys/devices/system/cpu/smt/control, or give stress one \
                          thread of each core (taskset)";
    match env.cpu.is_smt_on {
        Some(false) => ok("SMT", "off"),
        Some(true) => warn("SMT", "on: two threads share a core", REMEDY),
        None => unknown("SMT", "see lscpu"),
    }
}

fn clock_source(env: &Environment) -> Check {
    const REMEDY: &str = "boot with clocksource=tsc where the CPU's TSC is stable";
    match env.cpu.clock_source.as_deref() {
        Some(
            source @ ("tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page"),
        ) => ok("clock source", source),
        Some(other) => {
            warn("clock source", format!("{other}: reading it is a system call"), REMEDY)
        }
        None => unknown("clock source", "see /sys/devices/system/clocksource"),
    }
}

fn steal(env: &Environment) -> Check {
    const REMEDY: &str = "use a machine that is not shared, and trust only ratios of one run";
    let name = "stolen time";
    if let Some(Warning::StealSeen { percent, .. }) =
        find_warning(env, |w| matches!(w, Warning::StealSeen { .. }))
    {
        return warn(name, format!("{percent} % of all CPU time while looking"), REMEDY);
    }
    match env.steal.stolen_ns() {
        Some(_) => ok(name, "below 1 % while looking"),
        None => unknown(name, "see the column st of vmstat"),
    }
}

fn load(env: &Environment) -> Check {
    const REMEDY: &str = "stop other programs, or wait a minute";
    let Some([load, ..]) = env.host.load_average else {
        return unknown("load", "see uptime");
    };
    let found =
        format!("{load:.2} on {}", units::things(env.cpu.logical_count.unwrap_or(0), "CPU"));
    match find_warning(env, |w| matches!(w, Warning::LoadHigh { .. })) {
        Some(_) => warn("load", found, REMEDY),
        None => ok("load", found),
    }
}

fn swap(env: &Environment) -> Check {
    const REMEDY: &str = "swapoff -a: pages that come back count as reads of the state";
    match &env.memory.swaps {
        Some(areas) if areas.is_empty() => ok("swap", "off"),
        Some(areas) => warn("swap", units::things(areas.len() as u64, "area"), REMEDY),
        None => unknown("swap", "see swapon --show"),
    }
}

fn memory_limit(env: &Environment) -> Check {
    const REMEDY: &str = "raise memory.max of the cgroup: page cache counts against it";
    match env.cgroup.memory_limit_bytes {
        Some(Limit::Unlimited) => ok("memory limit", "none"),
        Some(Limit::At(bytes)) if bytes >= WORKING_SET_BYTES => {
            ok("memory limit", units::bytes(bytes))
        }
        Some(Limit::At(bytes)) => warn("memory limit", units::bytes(bytes), REMEDY),
        None => unknown("memory limit", "see /sys/fs/cgroup"),
    }
}

fn memory(env: &Environment) -> Check {
    const REMEDY: &str = "free some, or run cold and small: a warm run takes up to 6.4 GB";
    match env.memory.available_bytes {
        Some(bytes) if bytes >= WORKING_SET_BYTES => ok("free memory", units::bytes(bytes)),
        Some(bytes) => warn("free memory", units::bytes(bytes), REMEDY),
        None => unknown("free memory", "see /proc/meminfo"),
    }
}

fn file_system(env: &Environment) -> Check {
    const REMEDY: &str = "put the state on a local file system: --data-dir, STRESS_DATA_DIR";
    let Some(kind) = env.data_dir.file_system.as_deref() else {
        return unknown("file system", "see findmnt");
    };
    let found = format!("{kind} at {}", env.data_dir.path);
    match kind {
        "tmpfs" | "ramfs" => warn("file system", format!("{found}: in memory"), REMEDY),
        "overlay" | "9p" | "virtiofs" | "nfs" | "nfs4" | "cifs" | "fuse" | "fuseblk" => {
            warn("file system", format!("{found}: another one lies below"), REMEDY)
        }
        _ => ok("file system", found),
    }
}

fn space(env: &Environment) -> Check {
    const REMEDY: &str = "the shipped state of 128M slots asks for 14.8 GB: --data-dir, or --slots";
    match env.ground.free_bytes {
        Some(bytes) if bytes >= STATE_BYTES => ok("free space", units::bytes(bytes)),
        Some(bytes) => warn("free space", units::bytes(bytes), REMEDY),
        None => unknown("free space", "see df"),
    }
}

fn direct_reads(env: &Environment) -> Check {
    const REMEDY: &str = "use ext4 or XFS: without O_DIRECT cold rests on dropping pages";
    match env.ground.has_direct_reads {
        Some(true) => ok("O_DIRECT", "accepted"),
        Some(false) => warn("O_DIRECT", "refused, or the files lie in memory", REMEDY),
        None => unknown("O_DIRECT", "the data directory cannot be written: --data-dir"),
    }
}

fn page_cache(env: &Environment) -> Check {
    const REMEDY: &str = "stores that read through the page cache (MDBX) cannot be cold here";
    match env.ground.can_drop_pages {
        Some(true) => ok("page cache", "drops pages when asked"),
        Some(false) => warn("page cache", "keeps pages when asked to drop", REMEDY),
        None => unknown("page cache", "the data directory cannot be written: --data-dir"),
    }
}

fn io_uring(env: &Environment) -> Check {
    const REMEDY: &str = "allow it (kernel.io_uring_disabled, seccomp), build with the feature \
                          io-uring: otherwise the device's ceiling may be found too low";
    match env.ground.has_io_uring {
        true => ok("io_uring", "accepted"),
        false => warn("io_uring", "refused, or not built in", REMEDY),
    }
}

fn virtualisation(env: &Environment) -> Check {
    const REMEDY: &str = "neighbours and a host's cache are not seen from here: trust ratios of \
                          one run, and look at device.host_cache_ratio";
    match env.host.virtualisation.has_hypervisor {
        Some(false) => ok("machine", "no hypervisor"),
        Some(true) => warn("machine", "virtual", REMEDY),
        None => unknown("machine", "see systemd-detect-virt"),
    }
}

fn build(env: &Environment) -> Check {
    let found = env.build.profile_in_words();
    match find_warning(env, |w| matches!(w, Warning::UnoptimisedBuild)) {
        Some(_) => warn("build", found, "cargo run --release"),
        None => ok("build", found),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{super::probe, *};

    fn status(checks: &[Check], name: &str) -> Status {
        checks.iter().find(|check| check.name == name).map(|check| check.status).expect(name)
    }

    #[test]
    fn every_subject_is_looked_at_once_and_what_is_not_fine_has_a_remedy() {
        let checks = all(&probe(Path::new("/")));
        let mut names: Vec<_> = checks.iter().map(|check| check.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), checks.len());
        for check in &checks {
            assert_eq!(check.remedy.is_none(), check.status == Status::Ok, "{check:?}");
            assert!(!check.found.is_empty(), "{check:?}");
        }
    }

    #[test]
    fn what_a_machine_does_not_tell_is_unknown_and_never_fine() {
        let mut dark = probe(Path::new("/"));
        dark.cpu.governor = None;
        dark.cpu.is_turbo_on = None;
        dark.cpu.is_smt_on = None;
        dark.cpu.clock_source = None;
        dark.memory.available_bytes = None;
        dark.memory.swaps = None;
        dark.ground.has_direct_reads = None;
        dark.ground.can_drop_pages = None;
        dark.ground.free_bytes = None;
        let checks = all(&dark);
        for name in [
            "governor",
            "turbo",
            "SMT",
            "clock source",
            "free memory",
            "swap",
            "O_DIRECT",
            "page cache",
            "free space",
        ] {
            assert_eq!(status(&checks, name), Status::Unknown, "{name}");
        }
    }

    #[test]
    fn space_without_room_for_the_tries_is_a_warning() {
        let mut small = probe(Path::new("/"));
        for (bytes, expected) in [(14_799_999_999, Status::Warning), (14_800_000_000, Status::Ok)] {
            small.ground.free_bytes = Some(bytes);
            assert_eq!(status(&all(&small), "free space"), expected, "{bytes}");
        }
    }

    #[test]
    fn a_noisy_or_wrong_ground_is_a_warning() {
        let mut noisy = probe(Path::new("/"));
        noisy.cpu.governor = Some("powersave".to_owned());
        noisy.cpu.clock_source = Some("hpet".to_owned());
        noisy.memory.available_bytes = Some(1 << 30);
        noisy.data_dir.file_system = Some("tmpfs".to_owned());
        noisy.ground.has_direct_reads = Some(false);
        noisy.ground.free_bytes = Some(1_000_000);
        noisy.cgroup.memory_limit_bytes = Some(Limit::At(1 << 30));
        let checks = all(&noisy);
        for name in [
            "governor",
            "clock source",
            "free memory",
            "file system",
            "O_DIRECT",
            "free space",
            "memory limit",
        ] {
            assert_eq!(status(&checks, name), Status::Warning, "{name}");
        }
    }
}
