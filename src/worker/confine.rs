//! Confines a worker to CPUs, so that the workers of two builds run on the same CPUs in turn. The
//! kernel may leave them on different CPUs for seconds. Then their times differ, as other work runs
//! beside each of them.

use std::{fs, io};

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Returns the CPUs that this process may use, in order.
///
/// # Errors
/// The kernel does not report them.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Returns the CPUs of turn `number`: `busy_count` of `cpus`, one for each busy thread of a worker.
/// The next turn gets the next CPUs. `None` if the threads keep all CPUs busy.
pub fn turn(cpus: &[usize], busy_count: usize, number: usize) -> Option<Vec<usize>> {
    let is_fewer = (1..cpus.len()).contains(&busy_count);
    let first = number * busy_count;
    is_fewer.then(|| (first..first + busy_count).map(|index| cpus[index % cpus.len()]).collect())
}

/// Confines all threads of the process `pid` and of its children to `cpus`, as a script may start a
/// build. Later children inherit it.
///
/// # Errors
/// The process has ended, or the kernel refuses.
pub fn confine(pid: u32, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    confine_to(pid, &set)
}

fn confine_to(pid: u32, set: &CpuSet) -> io::Result<()> {
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let thread = thread?;
        let id = thread.file_name().to_str().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
        match sched_setaffinity(Some(id.ok_or(io::ErrorKind::InvalidData)?), set) {
            // The thread ended meanwhile.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            confine_to(child, set)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        process::{Command, Stdio},
    };

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
        // A shell that waits for a child of its own, which says when it is there.
        let script = "sh -c 'echo; read x'; exit";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let below = fs::read_to_string(children).unwrap();
        let below: u32 = below.trim().parse().unwrap();
        for (cpu, process) in cpus.iter().flat_map(|cpu| [(cpu, child.id()), (cpu, below)]) {
            confine(child.id(), &[*cpu]).unwrap();
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
            let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap();
            assert_eq!(line.split_whitespace().last(), Some(cpu.to_string().as_str()));
        }
        drop(child.stdin.take());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(confine(child.id(), &cpus).is_err(), "it is gone");
    }
}
