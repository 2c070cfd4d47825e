//! The program that made a result. Two results are of one program if its sources, features, build
//! profile and generator are the same. The commit identifies the sources. If files differed from
//! the commit, only the hash of the program's file identifies them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Suffix of a commit from which files of the sources differed.
const DIRTY: &str = "-dirty";
/// Number of characters of a commit or a hash that are shown.
const SHOWN_HASH_CHARS: usize = 10;

/// Returns the first characters of a commit or a hash.
fn short(hash: &str) -> String {
    hash.chars().take(SHOWN_HASH_CHARS).collect()
}

/// The program that made a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Version of the program.
    pub version: String,
    /// Commit of the sources, with `-dirty` where files differed from it; `null` outside a
    /// repository.
    pub commit: Option<String>,
    /// Features of the program; `null` if the build did not record them.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// BLAKE3 of the program's file, which tells builds of uncommitted sources apart; `null` if the
    /// file could not be read.
    #[serde(default)]
    pub binary_hash: Option<String>,
    /// Cargo's profile and its optimisation, in words; `null` if the build did not record them.
    #[serde(default)]
    pub build_profile: Option<String>,
    /// Libraries that do not come from the lockfile, each with its source: `revm=../revm`.
    #[serde(default)]
    pub patched: Vec<String>,
    /// Version of the generator. Only workloads of one version are comparable.
    pub generator_version: u32,
}

impl Program {
    /// Returns whether both are the same program. Builds of one clean commit with the same features
    /// and build profile are one program, wherever they were compiled. Builds of uncommitted
    /// sources, or with patched libraries, also need equal files.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_one_file = self.binary_hash.is_some() && self.binary_hash == other.binary_hash;
        let is_one_build = Self { binary_hash: None, ..self.clone() }
            == Self { binary_hash: None, ..other.clone() };
        is_one_build && (self.is_clean() || is_one_file)
    }

    /// Returns whether the commit alone identifies the sources: files equal it, and no library is
    /// patched.
    fn is_clean(&self) -> bool {
        let is_committed = self.commit.as_ref().is_some_and(|commit| !commit.ends_with(DIRTY));
        is_committed && self.patched.is_empty()
    }

    /// Returns `0.1.0 (c0ffee0123-dirty, binary 1a2b3c4d5e, with revm=../revm)`. The name of a
    /// clean build is without the hash of its file.
    pub fn name(&self) -> String {
        let commit = match &self.commit {
            None => "commit unknown".to_owned(),
            Some(commit) => match commit.strip_suffix(DIRTY) {
                None => short(commit),
                Some(commit) => format!("{}{DIRTY}", short(commit)),
            },
        };
        let binary = self.binary_hash.as_ref().filter(|_| !self.is_clean());
        let binary = binary.map_or_else(String::new, |hash| format!(", binary {}", short(hash)));
        let with: String = self.patched.iter().map(|patch| format!(", with {patch}")).collect();
        format!("{} ({commit}{binary}{with})", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(commit: Option<&str>, hash: Option<&str>) -> Program {
        Program {
            version: "0.1.0".to_owned(),
            commit: commit.map(str::to_owned),
            features: Some(vec!["io-uring".to_owned()]),
            build_profile: Some("release".to_owned()),
            patched: Vec::new(),
            binary_hash: hash.map(str::to_owned),
            generator_version: 1,
        }
    }

    #[test]
    fn builds_of_one_clean_commit_are_one_program_wherever_they_were_compiled() {
        let (here, there) =
            (program(Some("c0ffee"), Some("1")), program(Some("c0ffee"), Some("2")));
        assert!(here.is_same(&there));
        assert!(here.is_same(&program(Some("c0ffee"), None)));
        assert!(!here.is_same(&program(Some("decaf"), Some("1"))));
        let without = Program { features: Some(Vec::new()), ..here.clone() };
        assert!(!here.is_same(&without));
        assert!(!here.is_same(&Program { features: None, ..here.clone() }));
    }

    #[test]
    fn two_dirty_builds_of_one_commit_are_two_programs() {
        for commit in [Some("c0ffee-dirty"), None] {
            let of = |hash| program(commit, hash);
            assert!(of(Some("1")).is_same(&of(Some("1"))));
            assert!(!of(Some("1")).is_same(&of(Some("2"))));
            assert!(!of(Some("1")).is_same(&of(None)));
            assert!(!of(None).is_same(&of(None)), "two files that nobody knows");
        }
    }

    #[test]
    fn a_dirty_build_is_named_by_its_file_too() {
        let (commit, hash) = ("c0ffee0123456789-dirty", "1a2b3c4d5e6f");
        let name = program(Some(commit), Some(hash)).name();
        assert_eq!(name, "0.1.0 (c0ffee0123-dirty, binary 1a2b3c4d5e)");
        assert_eq!(program(Some("c0ffee0123456789"), Some(hash)).name(), "0.1.0 (c0ffee0123)");
        assert_eq!(program(None, None).name(), "0.1.0 (commit unknown)");
    }
}
