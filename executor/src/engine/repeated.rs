//! Keys of a message, which may stand in it twice.

/// Keys that are compared each with each: for so few no memory is taken.
const FEW: usize = 16;

/// A key that stands twice.
pub(super) fn repeated<K: Copy + Ord>(
    mut keys: impl ExactSizeIterator<Item = K> + Clone,
) -> Option<K> {
    if keys.len() <= FEW {
        while let Some(key) = keys.next() {
            if keys.clone().any(|other| other == key) {
                return Some(key);
            }
        }
        return None;
    }
    let mut keys: Vec<K> = keys.collect();
    keys.sort_unstable();
    let same = keys.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(same[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_found_among_few_and_among_many() {
        for count in 0..3 * FEW {
            assert_eq!(repeated(0..count), None);
            for (first, again) in (0..count).flat_map(|b| (0..b).map(move |a| (a, b))) {
                let keys: Vec<_> = (0..count).map(|n| if n == again { first } else { n }).collect();
                assert_eq!(repeated(keys.iter().copied()), Some(first), "{keys:?}");
            }
        }
    }
}
