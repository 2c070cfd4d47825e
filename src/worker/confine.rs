//! On which CPUs a worker runs. Two processes of one program that the kernel left on different
//! CPUs differ for seconds by what else runs beside each; on the same one they do not.

use std::{fs, io};

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// The CPUs that this process may use, in order.
///
/// # Errors
/// The kernel does not tell.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// As many of `cpus` as `busy_count` threads keep busy, with each `number` the next ones. `None`
/// where they keep all busy.
pub fn turn(cpus: &[usize], busy_count: usize, number: usize) -> Option<Vec<usize>> {
    let is_fewer = (1..cpus.len()).contains(&busy_count);
    let first = number * busy_count;
    is_fewer.then(|| (first..first + busy_count).map(|place| cpus[place % cpus.len()]).collect())
}

/// Confines all threads of the process `pid` to `cpus`; those that they start inherit it.
///
/// # Errors
/// The process is gone, or the kernel refuses.
pub fn confine(pid: u32, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let name = thread?.file_name();
        let thread = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        match sched_setaffinity(Some(thread.ok_or(io::ErrorKind::InvalidData)?), &set) {
            // It ended meanwhile.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn turns_go_round_all_cpus_and_who_needs_all_has_all() {
        let cpus = [0, 2, 4, 6];
        let turns =
            |busy_count| (0..4).map(|number| turn(&cpus, busy_count, number)).collect::<Vec<_>>();
        assert_eq!(turns(1), [[0], [2], [4], [6]].map(|cpu| Some(cpu.to_vec())));
        assert_eq!(turns(3)[1], Some(vec![6, 0, 2]));
        assert_eq!((turns(4)[0].clone(), turns(70)[1].clone()), (None, None));
        assert_eq!((turn(&cpus, 0, 1), turn(&[], 1, 0), turn(&[3], 1, 5)), (None, None, None));
    }

    #[test]
    fn a_confined_process_runs_where_it_was_told() {
        let cpus = allowed().unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        for cpu in &cpus {
            confine(child.id(), &[*cpu]).unwrap();
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap();
            assert_eq!(line.split_whitespace().last(), Some(cpu.to_string().as_str()));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(confine(child.id(), &cpus).is_err(), "it is gone");
    }
}
