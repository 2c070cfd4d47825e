//! Memory and its use by the kernel: swap, huge pages.

use result::environment::{Memory, Swap};

use super::{cpu::field, tree::Tree};

pub(super) fn probe(tree: &Tree) -> Memory {
    let meminfo = tree.text("/proc/meminfo").unwrap_or_default();
    let thp = tree.line("/sys/kernel/mm/transparent_hugepage/enabled");
    Memory {
        total_bytes: kibibytes(&meminfo, "MemTotal"),
        available_bytes: kibibytes(&meminfo, "MemAvailable"),
        swaps: tree.text("/proc/swaps").and_then(|text| swaps(&text)),
        transparent_hugepages: thp.and_then(|line| chosen(&line)),
    }
}

fn kibibytes(meminfo: &str, name: &str) -> Option<u64> {
    let number = field(meminfo, name)?.strip_suffix("kB")?;
    number.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Parses `/proc/swaps`. After a headline, each line has path, type, size and use in KiB, priority.
fn swaps(text: &str) -> Option<Vec<Swap>> {
    let swaps = text.lines().skip(1).map(|line| {
        let mut words = line.split_ascii_whitespace();
        let path = words.next()?.to_owned();
        let mut bytes = words.skip(1).map(|word| word.parse::<u64>().ok()?.checked_mul(1024));
        let (size_bytes, used_bytes) = (bytes.next()??, bytes.next()??);
        Some(Swap { is_zram: path.starts_with("/dev/zram"), path, size_bytes, used_bytes })
    });
    swaps.collect()
}

/// Returns the word in brackets, which is the setting in force.
fn chosen(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    Some(rest.split_once(']')?.0.into())
}

#[cfg(test)]
mod tests {
    use super::{super::tree::fake::FakeTree, *};

    #[test]
    fn memory_is_in_bytes_and_no_swap_is_not_unknown_swap() {
        let fake = FakeTree::new(&[
            ("/proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n"),
            ("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        let expected = Memory {
            total_bytes: Some(2 << 20),
            available_bytes: Some(1 << 20),
            swaps: Some(Vec::new()),
            transparent_hugepages: Some("madvise".into()),
        };
        assert_eq!(probe(&fake.tree), expected);
        let nothing = probe(&FakeTree::new(&[]).tree);
        assert_eq!((nothing.swaps, nothing.total_bytes), (None, None));
    }

    #[test]
    fn compressed_memory_is_told_from_a_disk() {
        let text = "Filename Type Size Used Priority\n/dev/zram0 partition 8 4 100\n\
                    /swap\\040file file 16 0 -2\n";
        let swaps = swaps(text).expect("readable");
        assert_eq!(
            (swaps[0].is_zram, swaps[0].size_bytes, swaps[0].used_bytes),
            (true, 8192, 4096)
        );
        assert_eq!((swaps[1].is_zram, swaps[1].size_bytes, swaps[1].used_bytes), (false, 16384, 0));
        assert_eq!(super::swaps("headline\n/dev/sda2 partition\n"), None);
    }
}
