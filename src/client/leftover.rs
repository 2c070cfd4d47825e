//! Makes scratch directories for clients' databases, and ends clients that outlived their run. When
//! a run is killed, the process that it started is killed too. If that process is a wrapper script
//! without `exec`, the client itself stays. So the process group of each client is noted beside its
//! database, and the next run ends the processes that are left.

use std::{
    fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::machine::scratch::Scratch;

const PREFIX: &str = ".stress-client-";

/// Name of the file with the process group of a running client.
pub const NOTE: &str = "client.group";
/// Maximal time for the client of an ended run to stop before it is killed.
const STOP_MAX: Duration = Duration::from_secs(10);
/// Polling interval for the end of the client.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Number of levels of directories between a scratch directory and the notes in it: an arm of a
/// gate, and a client.
const DEPTH: usize = 2;

/// Makes a new directory beside `path`. Directories of killed runs are removed, after the clients
/// that still use them have ended.
///
/// # Errors
/// The directory cannot be made.
pub fn scratch_beside(path: &Path) -> Result<Scratch> {
    let path = std::path::absolute(path)?;
    Scratch::below(path.parent().unwrap_or(Path::new("/")), PREFIX, end_all)
}

/// Notes that `group` is the process group of a client of this process.
///
/// # Errors
/// The file cannot be written.
pub fn note(path: &Path, group: u32) -> io::Result<()> {
    let own = std::process::id();
    // The start time tells this process from a later one with the same id.
    fs::write(path, format!("{group} {own} {}\n", start_time(own).unwrap_or_default()))
}

/// Ends the clients of an ended run that still use `dir`, by their notes in `dir`.
fn end_all(dir: &Path) {
    let mut dirs = vec![(dir.to_owned(), 0)];
    while let Some((next, depth)) = dirs.pop() {
        end(&next.join(NOTE), dir);
        let below = fs::read_dir(&next).into_iter().flatten().flatten().map(|entry| entry.path());
        dirs.extend(
            below.filter(|path| depth < DEPTH && path.is_dir()).map(|path| (path, depth + 1)),
        );
    }
}

/// Ends the client whose group is noted at `path`, if its run has ended and the client still uses
/// `dir`.
pub fn end(path: &Path, dir: &Path) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let numbers: Vec<u64> = text.split(' ').filter_map(|word| word.trim().parse().ok()).collect();
    let [group, run, since] = numbers[..] else { return };
    let is_running = u32::try_from(run).is_ok_and(|run| start_time(run) == Some(since));
    let Ok(group) = i32::try_from(group) else { return };
    let Some(pid) = Pid::from_raw(group) else { return };
    // The kernel reuses ids, so the group may be another one by now.
    if is_running || !members(group).into_iter().any(|pid| uses(pid, dir)) {
        return;
    }
    let _ = kill_process_group(pid, Signal::TERM);
    let begun = Instant::now();
    while !members(group).is_empty() && begun.elapsed() < STOP_MAX {
        thread::sleep(POLL_INTERVAL);
    }
    let _ = kill_process_group(pid, Signal::KILL);
    drop(fs::remove_file(path));
}

/// Returns the living processes of a group.
fn members(group: i32) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| is_member(*pid, group)).collect()
}

/// Whether a process lives and belongs to a group.
fn is_member(pid: u32, group: i32) -> bool {
    let fields = stat(pid).unwrap_or_default();
    fields.first().is_some_and(|state| state != "Z")
        && fields.get(2).and_then(|field| field.parse().ok()) == Some(group)
}

/// Whether a process has this directory among its arguments, or a file in it open.
fn uses(pid: u32, dir: &Path) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if String::from_utf8_lossy(&arguments).contains(&*dir.to_string_lossy()) {
        return true;
    }
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|file| file.starts_with(dir))
}

/// Returns the start of a process in ticks since the machine's start; `None` if the process does
/// not exist.
fn start_time(pid: u32) -> Option<u64> {
    stat(pid)?.get(19)?.parse().ok()
}

/// Returns the fields of a process after its name, from its state on (proc(5)).
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::CommandExt,
        process::{Child, Command},
    };

    use super::*;

    /// A process in a group of its own, with `dir` among its arguments.
    fn process(dir: &Path) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600; true", "sh"]).arg(dir).process_group(0);
        command.spawn().unwrap()
    }

    fn has_ended(child: &mut Child) -> bool {
        child.try_wait().unwrap().is_some()
    }

    #[test]
    fn a_client_is_ended_where_its_run_has_ended_and_it_uses_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("a/geth.stress");
        fs::create_dir_all(&own).unwrap();
        let path = own.join(NOTE);
        let mut client = process(dir.path());
        note(&path, client.id()).unwrap();
        end_all(dir.path());
        assert!(!has_ended(&mut client), "its run, this process, lives");
        let ended = format!("{} {} 1\n", client.id(), std::process::id());
        fs::write(&path, &ended).unwrap();
        end(&path, &dir.path().join("elsewhere"));
        assert!(!has_ended(&mut client), "another process may have got the number");
        assert!(path.exists());
        end_all(dir.path());
        client.wait().unwrap();
        assert!(!path.exists());
        end_all(dir.path());
    }
}
