//! Reads the CPU and memory limits of this process's control groups, in both versions of the
//! hierarchy. The tightest limit of its own group and the groups above holds.

use result::environment::{Cgroup, Limit};

use super::{disk::Mount, tree::Tree};

/// A resource, and the functions that read its limit.
struct Resource {
    controller: &'static str,
    /// Reads the limit of a group in version 1. The path is the group's directory.
    v1: fn(&Tree, &str) -> Option<u64>,
    /// Reads the limit of a group in version 2.
    v2: fn(&Tree, &str) -> Option<u64>,
}

const CPU: Resource = Resource { controller: "cpu", v1: cpu_v1, v2: cpu_v2 };
const MEMORY: Resource = Resource { controller: "memory", v1: memory_v1, v2: memory_v2 };

pub(super) fn probe(tree: &Tree) -> Cgroup {
    let groups = tree.text("/proc/self/cgroup").unwrap_or_default();
    let mounts = Mount::all(tree);
    let [cpu_limit_millicpus, memory_limit_bytes] = [&CPU, &MEMORY].map(|resource| {
        let v1 = directory_v1(&groups, &mounts, resource.controller);
        v1.map(|directory| (directory, resource.v1))
            .or_else(|| Some((directory_v2(&groups, &mounts)?, resource.v2)))
            .and_then(|((mount, path), read)| tightest(tree, &mount, &path, read))
    });
    Cgroup { cpu_limit_millicpus, memory_limit_bytes }
}

/// Returns the number of periods in which the quota stopped this process's group; `None` if no
/// group is found.
pub(super) fn throttled_count(tree: &Tree) -> Option<u64> {
    let groups = tree.text("/proc/self/cgroup")?;
    let mounts = Mount::all(tree);
    let (mount, path) = directory_v1(&groups, &mounts, CPU.controller)
        .or_else(|| directory_v2(&groups, &mounts))?;
    let stat = tree.text(&format!("{mount}/{path}/cpu.stat"))?;
    let count = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "))?;
    count.trim().parse().ok()
}

/// Returns the mount point of the hierarchy of `controller`, and the path of this process's group
/// in it.
fn directory_v1(groups: &str, mounts: &[Mount], controller: &str) -> Option<(String, String)> {
    let mut v1 = mounts.iter().filter(|mount| mount.file_system == "cgroup");
    let mount = v1.find(|mount| mount.super_options.split(',').any(|name| name == controller))?;
    let path = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })?;
    Some(below(mount, path))
}

fn directory_v2(groups: &str, mounts: &[Mount]) -> Option<(String, String)> {
    let mount = mounts.iter().find(|mount| mount.file_system == "cgroup2")?;
    Some(below(mount, groups.lines().find_map(|line| line.strip_prefix("0::"))?))
}

/// Returns the mount point and the path of a group below it. A container may see only a part of the
/// hierarchy, which begins at `root`.
fn below(mount: &Mount, path: &str) -> (String, String) {
    let rest = path.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or_default();
    (mount.mount_point.clone(), rest.trim_matches('/').into())
}

/// Returns the smallest limit from this process's group up to the mount. A group without the file
/// has no limit.
fn tightest(
    tree: &Tree,
    mount: &str,
    path: &str,
    read: fn(&Tree, &str) -> Option<u64>,
) -> Option<Limit> {
    let mut directory = format!("{mount}/{path}").trim_end_matches('/').to_owned();
    let mut found = None;
    loop {
        if tree.exists(&directory) {
            let limit = read(tree, &directory).map_or(Limit::Unlimited, Limit::At);
            found = Some(found.map_or(limit, |found: Limit| found.min(limit)));
        }
        if directory.len() <= mount.len() {
            return found;
        }
        directory.truncate(directory.rfind('/')?);
    }
}

fn cpu_v1(tree: &Tree, group: &str) -> Option<u64> {
    // The value -1 means no limit, and is no `u64`.
    let quota: u64 = tree.number(&format!("{group}/cpu.cfs_quota_us"))?;
    millicpus(quota, tree.number(&format!("{group}/cpu.cfs_period_us"))?)
}

fn cpu_v2(tree: &Tree, group: &str) -> Option<u64> {
    let line = tree.line(&format!("{group}/cpu.max"))?;
    let (quota, period) = line.split_once(' ')?;
    millicpus(quota.parse().ok()?, period.parse().ok()?)
}

fn millicpus(quota_us: u64, period_us: u64) -> Option<u64> {
    quota_us.checked_mul(1000)?.checked_div(period_us)
}

fn memory_v1(tree: &Tree, group: &str) -> Option<u64> {
    // The kernel writes the largest multiple of a page for no limit.
    tree.number(&format!("{group}/memory.limit_in_bytes")).filter(|limit| *limit < 1 << 62)
}

fn memory_v2(tree: &Tree, group: &str) -> Option<u64> {
    tree.number(&format!("{group}/memory.max"))
}

#[cfg(test)]
mod tests {
    use super::{super::tree::fake::FakeTree, *};

    const V2: &str = "30 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn without_control_groups_limits_are_unknown() {
        let none = probe(&FakeTree::new(&[]).tree);
        assert_eq!(none, Cgroup { cpu_limit_millicpus: None, memory_limit_bytes: None });
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let fake = FakeTree::new(&[
            ("/proc/self/mountinfo", V2),
            ("/proc/self/cgroup", "0::/a.slice/b.scope\n"),
            ("/sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/a.slice/memory.max", "max\n"),
            ("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a.slice/b.scope/memory.max", "4096\n"),
        ]);
        let found = probe(&fake.tree);
        assert_eq!(found.cpu_limit_millicpus, Some(Limit::At(1500)));
        assert_eq!(found.memory_limit_bytes, Some(Limit::At(4096)));
    }

    #[test]
    fn no_limit_is_not_an_unknown_limit() {
        let fake = FakeTree::new(&[
            ("/proc/self/mountinfo", V2),
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/cgroup.procs", "1\n"),
        ]);
        let found = probe(&fake.tree);
        assert_eq!(found.cpu_limit_millicpus, Some(Limit::Unlimited));
        let json = serde_json::to_string(&found).expect("serialises");
        assert!(json.contains("\"unlimited\""), "{json}");
    }

    #[test]
    fn version_one_is_read_where_it_holds_the_controller() {
        let fake = FakeTree::new(&[
            (
                "/proc/self/mountinfo",
                "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                 35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            ),
            ("/proc/self/cgroup", "4:memory:/job\n1:cpu:/\n0::/\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576\n"),
        ]);
        let found = probe(&fake.tree);
        assert_eq!(found.cpu_limit_millicpus, Some(Limit::Unlimited));
        assert_eq!(found.memory_limit_bytes, Some(Limit::At(1 << 20)));
    }

    #[test]
    fn a_container_that_sees_only_its_own_part_finds_its_limit() {
        let fake = FakeTree::new(&[
            (
                "/proc/self/mountinfo",
                "30 23 0:28 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
            ),
            ("/proc/self/cgroup", "0::/docker/ab\n"),
            ("/sys/fs/cgroup/cpu.max", "200000 100000\n"),
        ]);
        assert_eq!(probe(&fake.tree).cpu_limit_millicpus, Some(Limit::At(2000)));
    }
}
