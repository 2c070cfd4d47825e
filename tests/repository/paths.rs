//! The module that defines the meaning of a path, through imports, re-exports and globs.

use crate::modules::{Module, Modules};

/// The meaning of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A module, by its index.
    Module(usize),
    /// Something that the module of this index defines.
    Item(usize),
    /// Nothing of this crate.
    Outside,
}

/// The meaning of a name that a module and an item have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefer {
    Item,
    Module,
}

impl Prefer {
    /// The same of a name that has `others` behind it: only a module has more of the path.
    const fn at(self, others: &[String]) -> Self {
        if others.is_empty() { self } else { Self::Module }
    }
}

/// Names under way to their meaning, so that imports in a circle end.
type Seen = Vec<(usize, String)>;

impl Modules {
    /// The meaning of a path in the code of a module.
    pub(crate) fn meaning(&self, module: usize, path: &[String]) -> Meaning {
        self.resolve(module, path, Prefer::Item, &mut Seen::new()).unwrap_or(Meaning::Outside)
    }

    /// The meaning of an import; the module where a module and an item have one name, as the code
    /// that uses the item says so by itself.
    pub(crate) fn meaning_of_import(&self, module: usize, path: &[String]) -> Meaning {
        self.resolve(module, path, Prefer::Module, &mut Seen::new()).unwrap_or(Meaning::Outside)
    }

    fn resolve(
        &self,
        module: usize,
        path: &[String],
        prefer: Prefer,
        seen: &mut Seen,
    ) -> Option<Meaning> {
        let mut base = module;
        let mut rest = path;
        let mut is_rooted = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => base = 0,
                "super" => base = self.parent(base)?,
                "self" if !is_rooted => {}
                _ => break,
            }
            is_rooted = true;
            rest = others;
        }
        if !is_rooted {
            let (first, others) = path.split_first()?;
            return match self.lookup(base, first, prefer.at(others), seen)? {
                Meaning::Module(found) => Some(self.descend(found, others, prefer, seen)),
                meaning => Some(meaning),
            };
        }
        Some(self.descend(base, rest, prefer, seen))
    }

    fn descend(&self, module: usize, path: &[String], prefer: Prefer, seen: &mut Seen) -> Meaning {
        let Some((first, others)) = path.split_first() else { return Meaning::Module(module) };
        if first == "self" {
            return Meaning::Module(module);
        }
        match self.lookup(module, first, prefer.at(others), seen) {
            Some(Meaning::Module(found)) => self.descend(found, others, prefer, seen),
            Some(meaning) => meaning,
            // A macro may have made it.
            None => Meaning::Item(module),
        }
    }

    /// The meaning of a name in a module; a child comes first where more of the path follows.
    fn lookup(&self, at: usize, name: &str, prefer: Prefer, seen: &mut Seen) -> Option<Meaning> {
        if seen.iter().any(|(module, known)| *module == at && known == name) {
            return None;
        }
        let module = &self.all[at];
        let item = module.items.contains(name).then_some(Meaning::Item(at));
        let child = module.children.get(name).map(|&child| Meaning::Module(child));
        let own = if prefer == Prefer::Item { item.or(child) } else { child.or(item) };
        if own.is_some() {
            return own;
        }
        seen.push((at, name.to_owned()));
        let found = self.imported(module, at, name, prefer, seen);
        seen.pop();
        found
    }

    fn imported(
        &self,
        module: &Module,
        at: usize,
        name: &str,
        prefer: Prefer,
        seen: &mut Seen,
    ) -> Option<Meaning> {
        if let Some(imports) = module.imports.get(name) {
            let mut meanings =
                imports.iter().filter_map(|one| self.resolve(at, &one.path, prefer, seen));
            return Some(meanings.next().unwrap_or(Meaning::Outside));
        }
        module.globs.iter().find_map(|glob| {
            match self.resolve(at, &glob.path, Prefer::Module, seen)? {
                Meaning::Module(from) if from != at => self.lookup(from, name, prefer, seen),
                _ => None,
            }
        })
    }

    fn parent(&self, module: usize) -> Option<usize> {
        let path = &self.all[module].path;
        let above = &path[..path.len().checked_sub(1)?];
        self.all.iter().position(|other| other.path == above)
    }
}
