//! Finds, for `stress import`, the set that the given files make: a kind of source, with all files
//! that it needs and no others.

use std::ops::RangeInclusive;

use super::{ImportError, kind::InputKind};

/// A set of files that together describe blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSet {
    /// A file of tests, of which one is imported.
    Tests,
    /// The files of a block of the state transition tool (t8n).
    Transition,
    /// A chain in RLP, and its genesis.
    Chain,
    /// Engine payloads, and their genesis.
    Payloads,
    /// A block and its witness, which has the state that the block reads.
    Witness,
}

/// A kind of file in a set, and the allowed number of its files.
type Part = (InputKind, RangeInclusive<usize>);

/// Returns the part that is exactly one file of this kind.
const fn once(kind: InputKind) -> Part {
    (kind, 1..=1)
}

impl FileSet {
    /// Finds the set that files with these names and kinds make. A file of a kind that only one set
    /// has decides for that set. All files of the set must then be there, and no others.
    ///
    /// # Errors
    /// [`ImportError::Set`] with all missing kinds and all surplus files.
    pub fn of(files: &[(String, InputKind)]) -> Result<Self, ImportError> {
        let count_of = |kind| files.iter().filter(|(_, known)| *known == kind).count();
        let has = |kind| count_of(kind) > 0;
        let (set, parts): (Self, Vec<Part>) = if has(InputKind::Tests) {
            (Self::Tests, vec![once(InputKind::Tests)])
        } else if has(InputKind::Payloads) {
            (Self::Payloads, vec![once(InputKind::Genesis), (InputKind::Payloads, 1..=usize::MAX)])
        } else if has(InputKind::Chain) || has(InputKind::Genesis) {
            (Self::Chain, vec![once(InputKind::Genesis), once(InputKind::Chain)])
        } else if has(InputKind::Witness) || has(InputKind::Block) {
            (Self::Witness, vec![once(InputKind::Block), once(InputKind::Witness)])
        } else if has(InputKind::Transition) {
            (Self::Transition, vec![once(InputKind::Transition), (InputKind::Outcome, 0..=1)])
        } else {
            let input = [InputKind::Alloc, InputKind::Env, InputKind::Transactions].map(once);
            (Self::Transition, [&input[..], &[(InputKind::Outcome, 0..=1)]].concat())
        };
        let missing = parts.iter().filter(|(kind, range)| count_of(*kind) < *range.start());
        let missing: Vec<_> = missing.map(|(kind, _)| set.words(*kind)).collect();
        let surplus = files.iter().enumerate().filter(|(index, (_, kind))| {
            let before = files[..*index].iter().filter(|(_, known)| known == kind).count();
            let part = parts.iter().find(|(part, _)| part == kind);
            before >= part.map_or(0, |(_, range)| *range.end())
        });
        let surplus: Vec<_> =
            surplus.map(|(_, (name, kind))| format!("{name} ({})", set.words(*kind))).collect();
        let mut faults = Vec::new();
        if !missing.is_empty() {
            faults.push(format!("missing: {}", missing.join(", ")));
        }
        if !surplus.is_empty() {
            faults.push(format!("too much: {}", surplus.join(", ")));
        }
        match faults.is_empty() {
            true => Ok(set),
            false => {
                let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
                let (names, faults) = (names.join(", "), faults.join("; "));
                Err(ImportError::Set(format!("{names}: no whole set of files; {faults}")))
            }
        }
    }

    /// Returns the name of a kind of file in this set, for errors.
    const fn words(self, kind: InputKind) -> &'static str {
        match (self, kind) {
            (Self::Chain, InputKind::Chain) => "blocks of it (a chain as RLP, or Engine payloads)",
            _ => kind.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kinds: &[InputKind]) -> Result<FileSet, String> {
        let files = kinds.iter().enumerate();
        let files: Vec<_> = files.map(|(index, kind)| (format!("f{index}"), *kind)).collect();
        FileSet::of(&files).map_err(|error| error.to_string())
    }

    #[test]
    fn a_set_is_whole_and_its_faults_are_told_together() {
        use InputKind::*;
        for (kinds, set) in [
            (&[Tests][..], FileSet::Tests),
            (&[Chain, Genesis], FileSet::Chain),
            (&[Payloads, Genesis, Payloads], FileSet::Payloads),
            (&[Env, Transactions, Alloc, Outcome], FileSet::Transition),
            (&[Alloc, Env, Transactions], FileSet::Transition),
            (&[Transition, Outcome], FileSet::Transition),
            (&[Witness, Block], FileSet::Witness),
        ] {
            assert_eq!(of(kinds), Ok(set));
        }
        for (kinds, words) in [
            (&[Tests, Tests, Env][..], &["too much: f1 (tests), f2 (env"][..]),
            (&[Env, Outcome], &["f0, f1: ", "missing: alloc (accounts by address), txs"]),
            (&[Genesis, Alloc], &["missing: blocks of it", "too much: f1 (alloc"]),
            (&[Chain, Payloads], &["missing: a genesis", "too much: f0 (a chain as RLP)"]),
            (&[Transition, Alloc], &["too much: f1"]),
        ] {
            let error = of(kinds).unwrap_err();
            for word in words {
                assert!(error.contains(word), "{word:?} is not in: {error}");
            }
        }
    }
}
