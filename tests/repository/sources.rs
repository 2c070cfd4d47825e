//! The files of the repository: packages of the workspace, and their sources by path.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Texts by their path from the root of the repository, with `/` between folders.
pub(crate) type Texts = BTreeMap<String, String>;

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// From the root of the repository; empty for the program's.
    pub(crate) folder: String,
    pub(crate) manifest: toml::Table,
}

impl Package {
    pub(crate) fn name(&self) -> &str {
        self.manifest["package"]["name"].as_str().unwrap_or_else(|| panic!("{}", self.folder))
    }

    /// A path of this package as a path of the repository.
    pub(crate) fn at(&self, path: &str) -> String {
        if self.folder.is_empty() { path.to_owned() } else { format!("{}/{path}", self.folder) }
    }
}

pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).expect("the root of the repository")
}

/// Every file below `dir`, without those that builds leave there.
fn walk(dir: &Path, each: &mut impl FnMut(PathBuf)) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    for entry in entries {
        let path = entry.expect("an entry of a folder").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !path.is_dir() {
            each(path);
        } else if name != "target" && name != "node_modules" && !name.starts_with('.') {
            walk(&path, each);
        }
    }
}

fn from_root(path: &Path) -> String {
    let path = path.strip_prefix(root()).expect("below the root");
    path.to_string_lossy().replace('\\', "/")
}

/// The paths of all files of the repository.
pub(crate) fn every_path() -> Vec<String> {
    let mut paths = Vec::new();
    walk(root(), &mut |path| paths.push(from_root(&path)));
    paths
}

/// All texts with this extension below a folder of the repository, without generated ones; none where
/// there is no folder.
pub(crate) fn texts(folder: &str, extension: &str) -> Texts {
    let mut texts = Texts::new();
    if root().join(folder).is_dir() {
        walk(&root().join(folder), &mut |path| {
            if path.extension().is_some_and(|found| found == extension) {
                let text = fs::read_to_string(&path);
                let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                if !text.starts_with("// @generated") {
                    texts.insert(from_root(&path), text);
                }
            }
        });
    }
    texts
}

/// The packages of the workspace, the program's first.
pub(crate) fn packages() -> Vec<Package> {
    let members = fs::read_dir(root().join("crates")).expect("crates/");
    let members = members.map(|entry| entry.expect("an entry").file_name());
    let mut folders: Vec<String> =
        members.map(|name| format!("crates/{}", name.to_string_lossy())).collect();
    folders.extend(["", "generator", "executor", "tests/random-blocks"].map(str::to_owned));
    folders.sort();
    let package = |folder: String| {
        let path = root().join(&folder).join("Cargo.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let manifest = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Package { folder, manifest }
    };
    folders.into_iter().map(package).collect()
}
