//! The time of day as results and state databases keep it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, seconds since 1970; 0 where the clock stands before that.
pub fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_after_this_was_written() {
        assert!(unix_s() > 1_767_225_600);
    }
}
