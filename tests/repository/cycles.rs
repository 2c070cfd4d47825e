//! The rule that modules keep: at every level the children of a module, each with all below it,
//! form no cycle; and between a module's own file and its children references run one way only.
//!
//! A declaration (`mod x;`) and a re-export from below (`pub use x::Y`) are no references. A path
//! through a re-export is one to the file that defines the item. A call of a method is one to the
//! file that defines it, where that is not the file of its type and no other method of the crate
//! has the name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{
    modules::{File, Modules},
    paths::Meaning,
};

/// Which files name which items of which other files, by the files' indices.
pub(crate) type Edges = BTreeMap<(usize, usize), BTreeSet<String>>;

/// Modules that know each other in a circle.
#[derive(Debug)]
pub(crate) struct Cycle {
    /// The module whose children they are, from the root of the crate on.
    pub(crate) level: String,
    pub(crate) members: Vec<String>,
    /// From, to, and the names that `from` takes.
    pub(crate) edges: Vec<(String, String, Vec<String>)>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} know each other", self.level, self.members.join(", "))?;
        for (from, to, names) in &self.edges {
            writeln!(f, "    {from} -> {to}: {}", names.join(", "))?;
        }
        Ok(())
    }
}

pub(crate) fn edges(modules: &Modules) -> Edges {
    let mut edges = Edges::new();
    for (index, module) in modules.all.iter().enumerate() {
        let mut add = |to: usize, path: &[String]| {
            // The type of an associated function, rather than the function.
            let name = path.iter().find(|name| name.starts_with(char::is_uppercase));
            let name = name.or(path.last()).cloned().unwrap_or_default();
            if to != module.file {
                edges.entry((module.file, to)).or_default().insert(name);
            }
        };
        for import in module.imports.values().flatten() {
            let Meaning::Item(from) = modules.meaning_of_import(index, &import.path) else {
                continue;
            };
            let to = modules.all[from].file;
            let is_below = modules.files[to].path.starts_with(&modules.files[module.file].path);
            if !(import.is_reexport && is_below) {
                add(to, &import.path);
            }
        }
        for path in &module.paths {
            if let Meaning::Item(from) = modules.meaning(index, path) {
                add(modules.all[from].file, path);
            }
        }
    }
    let homes = homes(modules);
    for module in &modules.all {
        for name in &module.calls {
            if let Some(&to) = homes.get(name.as_str())
                && to != module.file
            {
                edges.entry((module.file, to)).or_default().insert(name.clone());
            }
        }
    }
    edges
}

/// The files of methods that are not in the file of their type, by the methods' names.
fn homes(modules: &Modules) -> BTreeMap<&str, usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut homes = BTreeMap::new();
    for (index, module) in modules.all.iter().enumerate() {
        for method in &module.methods {
            *counts.entry(&method.name).or_default() += 1;
            if let Some(of) = &method.of
                && let Meaning::Item(kind) = modules.meaning(index, of)
                && modules.all[kind].file != module.file
            {
                homes.insert(method.name.as_str(), module.file);
            }
        }
    }
    homes.retain(|name, _| counts[name] == 1);
    homes
}

/// Every cycle of a crate.
pub(crate) fn cycles(modules: &Modules) -> Vec<Cycle> {
    let edges = edges(modules);
    let files = &modules.files;
    let mut found = Vec::new();
    for (own, level) in files.iter().enumerate() {
        let is_child =
            |file: &File| file.path.len() > level.path.len() && file.path.starts_with(&level.path);
        // The child that a file belongs to, by the file module nearest below this level.
        let group = |file: usize| -> Option<usize> {
            if file == own {
                return Some(own);
            }
            let inside = &files[file];
            is_child(inside).then(|| nearest(files, level, inside))
        };
        let mut between: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for &(from, to) in edges.keys() {
            if let (Some(from), Some(to)) = (group(from), group(to))
                && from != to
            {
                between.entry(from).or_default().insert(to);
            }
        }
        let report = |members: &BTreeSet<usize>| {
            let is_inside = |&(from, to): &(usize, usize)| {
                let (from, to) = (group(from), group(to));
                from != to
                    && [from, to].iter().all(|end| end.is_some_and(|end| members.contains(&end)))
            };
            describe(modules, own, members, edges.iter().filter(|(pair, _)| is_inside(pair)))
        };
        let mut children = between.clone();
        let used = children.remove(&own).unwrap_or_default();
        let mut users = BTreeSet::new();
        for (child, to) in &mut children {
            if to.remove(&own) {
                users.insert(*child);
            }
        }
        found.extend(circles(&children).iter().map(&report));
        if !used.is_empty() && !users.is_empty() {
            // Only the edges to and from the module's own file make this one.
            let members = used.iter().chain(&users).copied().chain([own]).collect();
            let mut both_ways = report(&members);
            both_ways.edges.retain(|(from, to, _)| [from, to].contains(&&level.name));
            found.push(both_ways);
        }
    }
    found
}

/// The highest file below `level` that has `inside`.
fn nearest(files: &[File], level: &File, inside: &File) -> usize {
    let above = files.iter().enumerate().filter(|(_, file)| {
        file.path.len() > level.path.len()
            && file.path.starts_with(&level.path)
            && inside.path.starts_with(&file.path)
    });
    above.min_by_key(|(_, file)| file.path.len()).expect("the file itself").0
}

fn describe<'a>(
    modules: &Modules,
    own: usize,
    members: &BTreeSet<usize>,
    edges: impl Iterator<Item = (&'a (usize, usize), &'a BTreeSet<String>)>,
) -> Cycle {
    let name = |file: &usize| modules.files[*file].name.clone();
    let level = &modules.files[own].path;
    Cycle {
        level: if level.is_empty() { "the crate".to_owned() } else { level.join("::") },
        members: members.iter().map(name).collect(),
        edges: edges
            .map(|((from, to), names)| (name(from), name(to), names.iter().cloned().collect()))
            .collect(),
    }
}

/// The groups of more than one that reach each other.
fn circles(between: &BTreeMap<usize, BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    let reached = |from: usize| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<usize> = between.get(&from).into_iter().flatten().copied().collect();
        while let Some(at) = next.pop() {
            if seen.insert(at) {
                next.extend(between.get(&at).into_iter().flatten());
            }
        }
        seen
    };
    let all: BTreeMap<usize, BTreeSet<usize>> =
        between.keys().map(|&from| (from, reached(from))).collect();
    let circle = |from: &usize| -> BTreeSet<usize> {
        all[from]
            .iter()
            .copied()
            .filter(|to| all.get(to).is_some_and(|of| of.contains(from)))
            .collect()
    };
    let found: BTreeSet<BTreeSet<usize>> = all.keys().map(circle).collect();
    found.into_iter().filter(|circle| circle.len() > 1).collect()
}

#[cfg(test)]
mod tests;
