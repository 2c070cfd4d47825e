//! Reads the files with facts of the machine, below `/` or below a test's directory.

use std::{
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

/// A root with `proc`, `sys` and `etc` below it.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Returns the tree of this machine.
    pub(super) fn of_this_machine() -> Self {
        Self { root: "/".into() }
    }

    /// Returns the path of an absolute path within this tree.
    pub(super) fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// Returns a file's text; `None` if the file cannot be read.
    pub(super) fn text(&self, absolute: &str) -> Option<String> {
        fs::read_to_string(self.path(absolute)).ok()
    }

    /// Returns a file's text without the blanks around it; `None` also for an empty text.
    pub(super) fn line(&self, absolute: &str) -> Option<String> {
        line_of(&self.path(absolute))
    }

    /// Reads a file that holds one number.
    pub(super) fn number<T: FromStr>(&self, absolute: &str) -> Option<T> {
        self.line(absolute)?.parse().ok()
    }

    /// Reads a file that holds `0` or `1`.
    pub(super) fn flag(&self, absolute: &str) -> Option<bool> {
        flag_of(&self.path(absolute))
    }

    pub(super) fn exists(&self, absolute: &str) -> bool {
        self.path(absolute).exists()
    }

    /// Returns the names in a directory, sorted.
    pub(super) fn names(&self, absolute: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(absolute)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// [`Tree::line`] for a path that is already in the tree.
pub(super) fn line_of(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.into())
}

/// [`Tree::flag`] for a path that is already in the tree.
pub(super) fn flag_of(path: &Path) -> Option<bool> {
    match line_of(path)?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// A tree made of the given files, for tests.
#[cfg(test)]
pub(super) mod fake {
    use super::*;

    /// Lives as long as the directory behind it.
    pub(in super::super) struct FakeTree {
        directory: tempfile::TempDir,
        pub(in super::super) tree: Tree,
    }

    impl FakeTree {
        /// Paths are absolute; parents are made.
        pub(in super::super) fn new(files: &[(&str, &str)]) -> Self {
            let directory = tempfile::tempdir().expect("temporary directory");
            let tree = Tree { root: directory.path().into() };
            let fake = Self { directory, tree };
            for (path, text) in files {
                fake.write(path, text);
            }
            fake
        }

        pub(in super::super) fn write(&self, path: &str, text: &str) {
            let place = self.tree.path(path);
            fs::create_dir_all(place.parent().expect("has a parent")).expect("made");
            fs::write(place, text).expect("written");
        }

        pub(in super::super) fn link(&self, path: &str, target: &str) {
            let place = self.tree.path(path);
            fs::create_dir_all(place.parent().expect("has a parent")).expect("made");
            let target = self.directory.path().join(target.trim_start_matches('/'));
            std::os::unix::fs::symlink(target, place).expect("linked");
        }
    }
}
