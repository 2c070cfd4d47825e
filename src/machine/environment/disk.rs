//! The file system and the device below a directory.

use std::path::{Path, PathBuf};

use result::environment::Disk;

use super::tree::{Tree, flag_of, line_of};

/// A line of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
#[derive(Debug)]
pub(super) struct Mount {
    device_numbers: String,
    pub(super) root: String,
    pub(super) mount_point: String,
    options: String,
    pub(super) file_system: String,
    source: String,
    pub(super) super_options: String,
}

impl Mount {
    /// Returns all mounts, in the order of mounting.
    pub(super) fn all(tree: &Tree) -> Vec<Self> {
        let text = tree.text("/proc/self/mountinfo").unwrap_or_default();
        text.lines().filter_map(Self::parse).collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mount: Vec<_> = mount.split(' ').collect();
        let file_system: Vec<_> = file_system.split(' ').collect();
        Some(Self {
            device_numbers: (*mount.get(2)?).into(),
            root: unescape(mount.get(3)?),
            mount_point: unescape(mount.get(4)?),
            options: (*mount.get(5)?).into(),
            file_system: (*file_system.first()?).into(),
            source: unescape(file_system.get(1)?),
            super_options: file_system.get(2).copied().unwrap_or_default().into(),
        })
    }
}

/// Returns the facts of the disk at `path`, which must be absolute and without links.
pub(super) fn probe(tree: &Tree, path: &Path) -> Disk {
    // The longest mount point above the path is the right one. Of equal ones it is the last, which
    // hides the others.
    let mounts = Mount::all(tree).into_iter().filter(|mount| path.starts_with(&mount.mount_point));
    let mount = mounts.max_by_key(|mount| mount.mount_point.len());
    let device = mount.as_ref().and_then(|mount| device(tree, mount));
    Disk {
        path: path.to_string_lossy().into_owned(),
        device: device.as_ref().and_then(|device| Some(device.file_name()?.to_str()?.to_owned())),
        model: device.as_ref().and_then(|device| line_of(&device.join("device/model"))),
        is_rotational: device.as_ref().and_then(|d| flag_of(&d.join("queue/rotational"))),
        mount_point: mount.as_ref().map(|mount| mount.mount_point.clone()),
        mount_options: mount.as_ref().map(|m| format!("{},{}", m.options, m.super_options)),
        source: mount.as_ref().map(|mount| mount.source.clone()),
        file_system: mount.map(|mount| mount.file_system),
    }
}

/// Returns the device's directory in `/sys`, for a partition that of the whole device. File systems
/// with their own device numbers (btrfs) are found by the mounted device.
fn device(tree: &Tree, mount: &Mount) -> Option<PathBuf> {
    let by_numbers = tree.path(&format!("/sys/dev/block/{}", mount.device_numbers));
    let directory = by_numbers.canonicalize().ok().or_else(|| {
        let node = tree.path(mount.source.strip_prefix("/dev/").map(|_| &*mount.source)?);
        let name = node.canonicalize().ok()?.file_name()?.to_str()?.to_owned();
        tree.path(&format!("/sys/class/block/{name}")).canonicalize().ok()
    })?;
    if directory.join("partition").exists() {
        return directory.parent().map(Path::to_path_buf);
    }
    Some(directory)
}

/// Replaces the escapes of blanks and backslashes, which are three octal digits.
fn unescape(field: &str) -> String {
    let mut text = field.to_owned();
    for (escape, plain) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        text = text.replace(escape, plain);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{super::tree::fake::FakeTree, *};

    const MOUNTS: &str = "\
        22 27 0:21 / /proc rw,relatime - proc proc rw\n\
        27 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw,discard\n\
        28 27 0:40 / /data\\040dir rw,noatime shared:1 - btrfs /dev/sdb rw,compress=zstd\n\
        29 27 0:41 / /mem rw - tmpfs tmpfs rw,size=4k\n";

    fn machine() -> FakeTree {
        let nvme = "/sys/devices/pci/nvme0n1";
        let fake = FakeTree::new(&[
            ("/proc/self/mountinfo", MOUNTS),
            (&format!("{nvme}/queue/rotational"), "0\n"),
            (&format!("{nvme}/device/model"), "Fast One   \n"),
            (&format!("{nvme}/nvme0n1p2/partition"), "2\n"),
            ("/sys/devices/ata/sdb/queue/rotational", "1\n"),
            ("/dev/sdb", ""),
        ]);
        fake.link("/sys/dev/block/259:2", &format!("{nvme}/nvme0n1p2"));
        fake.link("/sys/class/block/sdb", "/sys/devices/ata/sdb");
        fake
    }

    #[test]
    fn a_partition_leads_to_its_whole_device() {
        let disk = probe(&machine().tree, Path::new("/srv/state"));
        let expected = Disk {
            path: "/srv/state".into(),
            mount_point: Some("/".into()),
            file_system: Some("ext4".into()),
            mount_options: Some("rw,relatime,rw,discard".into()),
            source: Some("/dev/nvme0n1p2".into()),
            device: Some("nvme0n1".into()),
            model: Some("Fast One".into()),
            is_rotational: Some(false),
        };
        assert_eq!(disk, expected);
    }

    #[test]
    fn a_file_system_with_numbers_of_its_own_is_found_by_what_was_mounted() {
        let disk = probe(&machine().tree, Path::new("/data dir/x"));
        assert_eq!(disk.file_system.as_deref(), Some("btrfs"));
        assert_eq!((disk.device.as_deref(), disk.is_rotational), (Some("sdb"), Some(true)));
    }

    #[test]
    fn a_file_system_in_memory_has_no_device() {
        let disk = probe(&machine().tree, Path::new("/mem"));
        assert_eq!(disk.file_system.as_deref(), Some("tmpfs"));
        assert_eq!((disk.device, disk.is_rotational, disk.model), (None, None, None));
    }

    #[test]
    fn a_mount_point_holds_whole_names_only() {
        let disk = probe(&machine().tree, Path::new("/memory"));
        assert_eq!(disk.file_system.as_deref(), Some("ext4"));
    }
}
