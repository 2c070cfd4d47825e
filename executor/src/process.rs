//! Activity of this process between two snapshots: system calls, device bytes, CPU time, memory,
//! faults, context switches, time stolen by the hypervisor. Allocations and instructions are
//! included if this build counts them. This file also reads counters of other processes (real
//! clients) and of block devices, and lowers the priority of threads.
//!
//! Figures of a snapshot come from `/proc` and `getrusage(2)`. A figure that the kernel does not
//! give is `None`, not zero. Stolen time is zero also if the hypervisor does not report it. A
//! snapshot itself makes about ten small reads of `/proc`. The next snapshot counts these reads in
//! `read_call_count` and `read_call_bytes`, never in `device_read_bytes`.

use std::{
    fs,
    mem::MaybeUninit,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant},
};

pub mod allocations;
pub mod instructions;

/// Counts of a process's or thread's reads and writes, from `/proc/<pid>/io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoCounters {
    /// Number of bytes that read calls returned, from a cache or not (`rchar`).
    pub read_call_bytes: u64,
    /// Number of bytes given to write calls (`wchar`).
    pub write_call_bytes: u64,
    /// Number of read calls (`syscr`), without reads that are submitted by `io_uring`.
    pub read_call_count: u64,
    /// Number of write calls (`syscw`).
    pub write_call_count: u64,
    /// Number of bytes fetched from the block layer (`read_bytes`).
    pub device_read_bytes: u64,
    /// Number of bytes sent, or to be sent, to the block layer (`write_bytes`).
    pub device_write_bytes: u64,
}

impl IoCounters {
    /// Reads the counters of this process; `None` if the kernel does not keep them.
    pub fn of_this_process() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/io").ok()?)
    }

    /// Reads the counters of the calling thread alone; `None` if the kernel does not keep them.
    pub fn of_this_thread() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/thread-self/io").ok()?)
    }

    /// Reads the counters of process `pid`; `None` if the process is gone, belongs to another user,
    /// or the kernel does not keep its counters.
    pub fn of_process(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/io")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().parse().ok()
        };
        Some(Self {
            read_call_bytes: field("rchar")?,
            write_call_bytes: field("wchar")?,
            read_call_count: field("syscr")?,
            write_call_count: field("syscw")?,
            device_read_bytes: field("read_bytes")?,
            device_write_bytes: field("write_bytes")?,
        })
    }

    /// Returns the difference to `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            read_call_bytes: self.read_call_bytes.saturating_sub(earlier.read_call_bytes),
            write_call_bytes: self.write_call_bytes.saturating_sub(earlier.write_call_bytes),
            read_call_count: self.read_call_count.saturating_sub(earlier.read_call_count),
            write_call_count: self.write_call_count.saturating_sub(earlier.write_call_count),
            device_read_bytes: self.device_read_bytes.saturating_sub(earlier.device_read_bytes),
            device_write_bytes: self.device_write_bytes.saturating_sub(earlier.device_write_bytes),
        }
    }
}

/// The device below a file or directory, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    number: u64,
}

impl BlockDevice {
    /// Returns the device below the file or directory `path`; `None` if its metadata is unreadable.
    pub fn of(path: &Path) -> Option<Self> {
        Some(Self { number: path.metadata().ok()?.dev() })
    }

    /// Returns the counts of the device's reads since the machine started, for all processes.
    /// `None` if the kernel does not count, as for file systems over several devices.
    pub fn reads(self) -> Option<DiskReads> {
        let (major, minor) = (libc::major(self.number), libc::minor(self.number));
        let text = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
        DiskReads::parse(&text)
    }
}

/// Reads of a device by all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskReads {
    /// Number of read requests.
    pub request_count: u64,
    /// Number of bytes read.
    pub byte_count: u64,
}

impl DiskReads {
    /// Parses the first and third numbers of `/sys/block/*/stat`: read requests, and read sectors
    /// of 512 bytes.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        let (requests, _merged, sectors) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(Self { request_count: requests.ok()?, byte_count: sectors.ok()?.checked_mul(512)? })
    }

    /// Returns the increase since `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            request_count: self.request_count.saturating_sub(earlier.request_count),
            byte_count: self.byte_count.saturating_sub(earlier.byte_count),
        }
    }
}

/// Figures of `getrusage(2)` for all threads of the process, ended threads included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Number of page faults that were served from memory.
    pub minor_fault_count: u64,
    /// Number of page faults that had to read from a device.
    pub major_fault_count: u64,
    /// Number of times that a thread gave up its CPU to wait.
    pub voluntary_switch_count: u64,
    /// Number of times that the kernel took the CPU from a thread.
    pub involuntary_switch_count: u64,
}

impl Usage {
    /// Takes the figures of this process now.
    pub fn now() -> Option<Self> {
        let raw = usage_of(libc::RUSAGE_SELF)?;
        Some(Self {
            user: duration(raw.ru_utime)?,
            system: duration(raw.ru_stime)?,
            minor_fault_count: u64::try_from(raw.ru_minflt).ok()?,
            major_fault_count: u64::try_from(raw.ru_majflt).ok()?,
            voluntary_switch_count: u64::try_from(raw.ru_nvcsw).ok()?,
            involuntary_switch_count: u64::try_from(raw.ru_nivcsw).ok()?,
        })
    }

    /// Returns the difference to `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            minor_fault_count: self.minor_fault_count.saturating_sub(earlier.minor_fault_count),
            major_fault_count: self.major_fault_count.saturating_sub(earlier.major_fault_count),
            voluntary_switch_count: self
                .voluntary_switch_count
                .saturating_sub(earlier.voluntary_switch_count),
            involuntary_switch_count: self
                .involuntary_switch_count
                .saturating_sub(earlier.involuntary_switch_count),
        }
    }

    /// User and system time together.
    pub const fn cpu(&self) -> Duration {
        self.user.saturating_add(self.system)
    }
}

/// The figures of the process at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    at: Instant,
    io: Option<IoCounters>,
    usage: Option<Usage>,
    steal: Option<Duration>,
    peak_resident_bytes: Option<u64>,
    allocation_count: Option<u64>,
    instruction_count: Option<u64>,
}

impl Snapshot {
    /// Takes the figures of the process now.
    pub fn now() -> Self {
        Self {
            at: Instant::now(),
            io: IoCounters::of_this_process(),
            usage: Usage::now(),
            steal: steal(),
            peak_resident_bytes: peak_resident_bytes(),
            allocation_count: allocations::count(),
            instruction_count: instructions::count(),
        }
    }

    /// Returns the difference to `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Activity {
        let steal = self.steal.zip(earlier.steal);
        let more = |later: Option<u64>, earlier| Some(later?.saturating_sub(earlier?));
        Activity {
            wall: self.at.saturating_duration_since(earlier.at),
            io: self.io.zip(earlier.io).map(|(later, earlier)| later.since(&earlier)),
            usage: self.usage.zip(earlier.usage).map(|(later, earlier)| later.since(&earlier)),
            steal: steal.map(|(later, earlier)| later.saturating_sub(earlier)),
            peak_resident_bytes: self.peak_resident_bytes,
            allocation_count: more(self.allocation_count, earlier.allocation_count),
            instruction_count: more(self.instruction_count, earlier.instruction_count),
        }
    }
}

/// Activity of the process between two snapshots.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activity {
    /// Time by the wall clock.
    pub wall: Duration,
    /// Counters of reads and writes.
    pub io: Option<IoCounters>,
    /// CPU time, page faults and context switches.
    pub usage: Option<Usage>,
    /// Time that the hypervisor withheld from the CPUs of the whole machine, summed over the CPUs.
    /// Zero also if the hypervisor does not report it.
    pub steal: Option<Duration>,
    /// Largest resident size in bytes since the process began, not since the earlier snapshot.
    pub peak_resident_bytes: Option<u64>,
    /// Number of allocations by Rust code; `None` if they are not counted.
    pub allocation_count: Option<u64>,
    /// Number of instructions in user mode; `None` if they are not counted.
    pub instruction_count: Option<u64>,
}

/// CPU time of the calling thread since it began.
pub fn thread_cpu_time() -> Option<Duration> {
    time_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of the calling thread since `before`, an earlier result of [`thread_cpu_time`]; zero if
/// the system does not report CPU times.
pub fn thread_cpu_since(before: Option<Duration>) -> Duration {
    let times = thread_cpu_time().zip(before);
    times.map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before))
}

/// CPU time of all threads of the process `pid`, also of ended threads, without its child
/// processes. `None` if the process is gone.
#[expect(unsafe_code, reason = "clock_getcpuclockid has no safe wrapper in std")]
pub fn cpu_time_of(pid: u32) -> Option<Duration> {
    let (pid, mut clock) = (libc::pid_t::try_from(pid).ok()?, 0);
    // SAFETY: `clock` is a writable `clockid_t`; an unknown process is an error.
    if unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } != 0 {
        return None;
    }
    time_of(clock)
}

#[expect(unsafe_code, reason = "clock_gettime has no safe wrapper in std")]
fn time_of(clock: libc::clockid_t) -> Option<Duration> {
    let mut raw = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `raw` is a writable `timespec`; an unknown clock is an error.
    if unsafe { libc::clock_gettime(clock, &raw mut raw) } != 0 {
        return None;
    }
    Some(Duration::new(u64::try_from(raw.tv_sec).ok()?, u32::try_from(raw.tv_nsec).ok()?))
}

/// Number of page faults of the calling thread that had to read from a device.
pub fn thread_major_fault_count() -> Option<u64> {
    u64::try_from(usage_of(libc::RUSAGE_THREAD)?.ru_majflt).ok()
}

/// Returns the figures of `getrusage(2)` for the process or the calling thread.
#[expect(unsafe_code, reason = "getrusage has no safe wrapper in std")]
fn usage_of(who: libc::c_int) -> Option<libc::rusage> {
    let mut raw = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `raw` is a writable `rusage`; all its bit patterns, zero too, are valid.
    unsafe { (libc::getrusage(who, raw.as_mut_ptr()) == 0).then(|| raw.assume_init()) }
}

/// Priority of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Priority {
    /// The thread runs only when no other thread wants the CPU, with rare exceptions
    /// (`SCHED_IDLE`).
    Idle,
    /// The thread has the smallest share of the CPU (nice 19).
    Nice19,
    /// The thread has the default priority, because the system refused both lower ones.
    Normal,
}

impl Priority {
    /// Name in a result.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Nice19 => "nice 19",
            Self::Normal => "normal",
        }
    }
}

/// Gives the calling thread the lowest available priority for its whole life, and returns it.
#[expect(unsafe_code, reason = "the scheduler's calls have no safe wrapper in std")]
pub fn lower_priority() -> Priority {
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread, and `parameter` a readable `sched_param`.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameter) } == 0 {
        return Priority::Idle;
    }
    // SAFETY: takes plain integers; on Linux 0 is the calling thread.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) } == 0 {
        return Priority::Nice19;
    }
    Priority::Normal
}

/// Time that the hypervisor withheld from the CPUs since the machine started, summed over the CPUs,
/// in steps of a clock tick (usually 10 ms).
pub fn steal() -> Option<Duration> {
    let ticks = parse_steal_ticks(&fs::read_to_string("/proc/stat").ok()?)?;
    Some(Duration::from_nanos(ticks.checked_mul(1_000_000_000 / ticks_per_second()?)?))
}

#[expect(unsafe_code, reason = "sysconf has no safe wrapper in std")]
fn ticks_per_second() -> Option<u64> {
    // SAFETY: takes and returns plain integers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0)
}

fn peak_resident_bytes() -> Option<u64> {
    parse_peak_bytes(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Returns the eighth number of the line `cpu`: user, nice, system, idle, iowait, irq, softirq,
/// steal.
fn parse_steal_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    line.split_ascii_whitespace().nth(7)?.parse().ok()
}

fn parse_peak_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn duration(raw: libc::timeval) -> Option<Duration> {
    let micros = u32::try_from(raw.tv_usec).ok()?;
    Some(Duration::new(u64::try_from(raw.tv_sec).ok()?, micros.checked_mul(1000)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_is_read_from_its_own_line() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n\
                    cancelled_write_bytes: 7\n";
        let expected = IoCounters {
            read_call_bytes: 1,
            write_call_bytes: 2,
            read_call_count: 3,
            write_call_count: 4,
            device_read_bytes: 5,
            device_write_bytes: 6,
        };
        assert_eq!(IoCounters::parse(text), Some(expected));
    }

    #[test]
    fn what_is_missing_or_damaged_is_unknown_and_not_zero() {
        assert_eq!(IoCounters::parse("rchar: 1\nwchar: 2\n"), None);
        assert_eq!(parse_steal_ticks("cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert_eq!(parse_steal_ticks("cpu  1 2 3 4\n"), None);
        assert_eq!(parse_peak_bytes("VmRSS:\t 12 kB\n"), None);
        assert_eq!(parse_peak_bytes("VmHWM:\t many kB\n"), None);
    }

    #[test]
    fn steal_is_the_eighth_number_of_the_line_of_all_cpus() {
        let text = "cpu  198169 0 15256 200472 623 0 104 808 0 0\ncpu0 1 2 3 4 5 6 7 9 0 0\n";
        assert_eq!(parse_steal_ticks(text), Some(808));
    }

    #[test]
    fn a_device_counts_requests_and_sectors_of_512_bytes() {
        let text = "  8131   12  520384  3021   99 0 800 9 0 3 4 0 0 0 0 0 0\n";
        let expected = DiskReads { request_count: 8_131, byte_count: 520_384 * 512 };
        assert_eq!(DiskReads::parse(text), Some(expected));
        assert_eq!(
            (DiskReads::parse("1 2\n"), DiskReads::parse("1 x 3")),
            (None, Some(DiskReads { request_count: 1, byte_count: 1_536 }))
        );
        let later = DiskReads { request_count: 8_140, byte_count: expected.byte_count + 4096 };
        let delta = DiskReads { request_count: 9, byte_count: 4096 };
        assert_eq!(later.since(&expected), delta);
    }

    #[test]
    fn peak_memory_is_in_bytes() {
        assert_eq!(parse_peak_bytes("Name:\tx\nVmHWM:\t    1234 kB\n"), Some(1234 * 1024));
    }

    #[test]
    fn a_later_snapshot_never_shows_less_than_an_earlier_one() {
        let earlier = Snapshot::now();
        let written = fs::read("/proc/self/status").map_or(0, |bytes| bytes.len());
        let delta = Snapshot::now().since(&earlier);
        if let Some(io) = delta.io {
            assert!(io.read_call_bytes >= written as u64, "{io:?}");
            assert!(io.read_call_count > 0);
        }
        let backwards = earlier.since(&Snapshot::now());
        assert_eq!(backwards.wall, Duration::ZERO);
        assert_eq!(backwards.usage.map(|usage| usage.cpu()), delta.usage.map(|_| Duration::ZERO));
    }

    #[test]
    fn a_thread_is_lowered_alone() {
        let policy = |of: &str| {
            let stat = fs::read_to_string(format!("/proc/{of}/stat")).unwrap();
            let fields = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace();
            // Fields 19 (nice) and 41 (policy) of proc_pid_stat(5). `fields` begins with the third.
            let fields: Vec<_> = fields.map(str::to_owned).collect();
            (fields[16].clone(), fields[38].clone())
        };
        let before = policy("thread-self");
        let (got, lowered) =
            std::thread::spawn(move || (lower_priority(), policy("thread-self"))).join().unwrap();
        assert_eq!(got == Priority::Normal, lowered == before);
        assert_eq!(policy("thread-self"), before);
    }

    #[test]
    fn another_process_is_counted_until_it_is_gone() {
        let pid = std::process::id();
        let (own, counted) = (Usage::now().unwrap().cpu(), cpu_time_of(pid).unwrap());
        assert!(counted + Duration::from_secs(1) > own, "{counted:?} of {own:?}");
        assert_eq!(IoCounters::of_process(pid).is_some(), IoCounters::of_this_process().is_some());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = cpu_time_of(child.id()).unwrap();
        assert!(of_child < Duration::from_secs(10), "{of_child:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(cpu_time_of(child.id()), None);
        assert_eq!(IoCounters::of_process(child.id()), None);
    }

    #[test]
    fn cpu_time_of_a_thread_grows_with_its_work() {
        let before = thread_cpu_time();
        let mut product = 1_u64;
        for factor in 1..200_000_u64 {
            product = std::hint::black_box(product.wrapping_mul(factor | 1));
        }
        assert!(thread_cpu_time() > before);
    }
}
