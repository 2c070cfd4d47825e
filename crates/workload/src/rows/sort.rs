//! Sorts key parts by index: scatters them into many small bins by leading bits, then sorts each
//! bin. Evenly spread keys take O(n), clustered keys O(n log n).

/// Number of keys in a bin, on average.
const BIN_KEYS: usize = 8;

/// One key in sorted order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// First eight bytes of the key, big-endian.
    prefix: u64,
    /// Index of the key among the unsorted keys.
    pub(super) index: u32,
}

/// First eight bytes of a key part, big-endian. Parts with different prefixes sort as their
/// prefixes.
#[inline]
pub(super) fn prefix(part: &[u8; 32]) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&part[..8]);
    u64::from_be_bytes(eight)
}

/// The bin of `prefix`, where `bin_count` bins divide the 64-bit numbers evenly:
/// `⌊prefix·bin_count / 2^64⌋`. Ascends with `prefix`.
#[inline]
pub(super) fn bin_of(prefix: u64, bin_count: u64) -> u64 {
    ((u128::from(prefix) * u128::from(bin_count)) >> 64) as u64
}

/// The smallest prefix in `bin`, which must be below `bin_count`.
pub(super) fn first_of_bin(bin: u64, bin_count: u64) -> u64 {
    (u128::from(bin) << 64).div_ceil(u128::from(bin_count)) as u64
}

/// Sorts key parts, and keeps its buffers for the next sort.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    entries: Vec<Entry>,
    /// End of each bin among the entries.
    ends: Vec<u32>,
}

impl Sorter {
    /// Returns the order of `parts`; equal parts are neighbours. All parts must be in one bucket:
    /// their prefixes have the same [`bin_of`] among `bucket_count` buckets.
    pub(super) fn sort(&mut self, parts: &[[u8; 32]], bucket_count: u64) -> &[Entry] {
        assert!(u32::try_from(parts.len()).is_ok(), "{} keys in a bucket", parts.len());
        let bin_count = parts.len().div_ceil(BIN_KEYS).max(1);
        // prefix·bucket_count mod 2^64 is the position within the bucket, as a fraction of 2^64.
        let bin =
            |prefix: u64| bin_of(prefix.wrapping_mul(bucket_count), bin_count as u64) as usize;
        self.ends.clear();
        self.ends.resize(bin_count, 0);
        for part in parts {
            self.ends[bin(prefix(part))] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            let count = *end;
            *end = start;
            start += count;
        }
        self.entries.clear();
        self.entries.resize(parts.len(), Entry::default());
        for (index, part) in parts.iter().enumerate() {
            let prefix = prefix(part);
            let end = &mut self.ends[bin(prefix)];
            self.entries[*end as usize] = Entry { prefix, index: index as u32 };
            *end += 1;
        }
        let mut start = 0;
        for end in &self.ends {
            let end = *end as usize;
            sort_bin(&mut self.entries[start..end], parts);
            start = end;
        }
        &self.entries
    }
}

/// Sorts a small bin by insertion. A large one has clustered keys.
#[inline]
fn sort_bin(bin: &mut [Entry], parts: &[[u8; 32]]) {
    let before = |a: &Entry, b: &Entry| {
        a.prefix < b.prefix
            || (a.prefix == b.prefix && parts[a.index as usize] < parts[b.index as usize])
    };
    if bin.len() > 4 * BIN_KEYS {
        bin.sort_unstable_by(|a, b| {
            a.prefix
                .cmp(&b.prefix)
                .then_with(|| parts[a.index as usize].cmp(&parts[b.index as usize]))
        });
        return;
    }
    for sorted in 1..bin.len() {
        let entry = bin[sorted];
        let mut hole = sorted;
        while hole > 0 && before(&entry, &bin[hole - 1]) {
            bin[hole] = bin[hole - 1];
            hole -= 1;
        }
        bin[hole] = entry;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(parts: &[[u8; 32]], bucket_count: u64) {
        let mut sorter = Sorter::default();
        let order = sorter.sort(parts, bucket_count);
        let sorted: Vec<_> = order.iter().map(|entry| parts[entry.index as usize]).collect();
        let mut expected = parts.to_vec();
        expected.sort_unstable();
        assert_eq!(sorted, expected);
    }

    proptest! {
        #[test]
        fn any_keys_are_sorted(mut parts in prop::collection::vec(any::<[u8; 32]>(), 0..400)) {
            check(&parts, 1);
            // Ties in the prefix, then equal keys, then all in one bin.
            for (i, part) in parts.iter_mut().enumerate() {
                part[..8].fill((i % 3) as u8);
            }
            check(&parts, 1);
            parts.iter_mut().for_each(|part| *part = [0, 0, 0, 0, 0, 0, 0, 9].repeat(4).try_into().unwrap());
            check(&parts, 1);
        }

        #[test]
        fn keys_of_any_one_bucket_are_sorted(
            parts in prop::collection::vec(any::<[u8; 32]>(), 100..400), buckets in 2..9_u64,
        ) {
            for bucket in 0..buckets {
                let of_bucket: Vec<_> = parts
                    .iter()
                    .filter(|part| bin_of(prefix(part), buckets) == bucket)
                    .copied()
                    .collect();
                check(&of_bucket, buckets);
            }
        }
    }
}
