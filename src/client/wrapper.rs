//! Whether the process that was started is the client: a wrapper script that does not `exec` is another one.

use std::fs;

/// State of a socket that listens, in the kernel's tables.
const LISTENING: &str = "0A";

/// Whether the process that listens at `port` is another one than `pid`; `None` where the system does not
/// tell, as of a process in another network.
pub fn listens_elsewhere(pid: u32, port: u16) -> Option<bool> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening(&table, port))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let mut names = files.filter_map(|file| fs::read_link(file.path()).ok());
    Some(!names.any(|name| sockets.iter().any(|socket| name.as_os_str() == socket.as_str())))
}

/// The names of sockets of a kernel's table that listen at `port`.
fn listening(table: &str, port: u16) -> Vec<String> {
    let port = format!(":{port:04X}");
    let sockets = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&port) && *fields.get(3)? == LISTENING;
        is_it.then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))?
    });
    sockets.collect()
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, process::Command};

    use super::*;

    #[test]
    fn the_process_that_listens_is_told_from_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listens_elsewhere(std::process::id(), port), Some(false));
        let mut other = Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(listens_elsewhere(other.id(), port), Some(true));
        drop(listener);
        assert_eq!(listens_elsewhere(other.id(), port), None, "nobody listens");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
