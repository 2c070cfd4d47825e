//! Duties inside the clock, in words: rows with a state root are not like rows without one.

use result::Cell;
use variant::RootTime;

/// The end of a list of duties: the kind of commit, whether there is a state root, and which are whole.
pub(crate) fn commit_and_root<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> &'static str {
    let (mut with, mut without, mut has_whole) = (false, false, false);
    for cell in cells {
        has_whole |= !cell.duties.is_empty();
        match cell.root {
            RootTime::Nothing => without = true,
            RootTime::After | RootTime::FromList | RootTime::Pipelined => with = true,
        }
    }
    match (with, without) {
        (true, true) if has_whole => {
            "flat commit; whole: the block from its bytes, senders, header, state root and sync too"
        }
        (false, _) => "flat commit; no state root",
        (true, false) => "state root, commit with its nodes",
        (true, true) => "flat commit; the state root in rows named +root alone",
    }
}

#[cfg(test)]
mod tests {
    use result::example::{Threads, cell};
    use variant::Design;

    use super::*;

    #[test]
    fn rows_with_a_root_are_told_from_rows_without() {
        let without = cell(Design::Sequential, Threads { executing: 1, reading: 0 }, 1.0);
        let with = Cell { root: RootTime::After, ..without.clone() };
        assert!(commit_and_root([&without]).ends_with("no state root"));
        assert!(commit_and_root([&with]).starts_with("state root"));
        assert!(commit_and_root([&with, &without]).contains("+root"));
    }
}
