//! A Weyl sequence in ascending order without sorting, by the three-distance theorem (Sós 1957).
//! The successor of point i among the points 0..n is one of i + up, i + up - down, i - down.

use alloy_primitives::{B256, U256};

use crate::genesis::WEYL_STEP;

/// The points seed + i·W mod 2^256, i in 0..count, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeylOrder {
    count: u64,
    /// The index below `count` whose multiple of W lies closest above 0.
    up: u64,
    /// The index below `count` whose multiple of W lies closest below 2^256.
    down: u64,
    /// Index of the smallest point.
    first: u64,
}

impl WeylOrder {
    /// The order of the first `count` points from `seed` on.
    ///
    /// # Panics
    /// When `count` is 0 or above 2^32.
    pub(super) fn new(seed: &B256, count: u64) -> Self {
        assert!((1..=1 << 32).contains(&count), "{count} points");
        let (mut up, mut above) = (1, WEYL_STEP);
        let (mut down, mut below) = (1, WEYL_STEP.wrapping_neg());
        // The smallest point is the last record low, a point below all points before it. The next
        // record low is `down` indices later and smaller by `below`, unless it would be negative.
        let (mut first, mut lowest) = (0, U256::from_be_bytes(seed.0));
        loop {
            while below <= lowest && first + down < count {
                first += down;
                lowest -= below;
            }
            if up + down >= count {
                return Self { count, up, down, first };
            }
            if above > below {
                above -= below;
                up += down;
            } else {
                below -= above;
                down += up;
            }
        }
    }

    /// Index of the smallest point.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Index of the point that follows point `index` in ascending order. The smallest point follows
    /// the largest.
    #[inline]
    pub(super) fn next(&self, index: u64) -> u64 {
        if index < self.count - self.up {
            index + self.up
        } else if index < self.down {
            (index + self.up).wrapping_sub(self.down)
        } else {
            index - self.down
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::Weyl;

    proptest! {
        #[test]
        fn the_order_is_the_sorted_one(seed in any::<[u8; 32]>(), count in 1..3000_u64) {
            let seed = B256::from(seed);
            let weyl = Weyl::new(&seed);
            let key = |index| U256::from_limbs(weyl.at(index));
            let mut sorted: Vec<u64> = (0..count).collect();
            sorted.sort_by_key(|index| key(*index));
            let order = WeylOrder::new(&seed, count);
            let mut index = order.first();
            for expected in &sorted {
                prop_assert_eq!(index, *expected);
                index = order.next(index);
            }
            prop_assert_eq!(index, order.first());
        }
    }
}
