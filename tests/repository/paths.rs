//! The module that defines what a path means, through imports, re-exports and globs.

use crate::modules::{Module, Modules};

/// What a path means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A module, by its index.
    Module(usize),
    /// Something that the module of this index defines.
    Item(usize),
    /// Nothing of this crate.
    Outside,
}

/// Names under way to their meaning, so that imports in a circle end.
type Seen = Vec<(usize, String)>;

impl Modules {
    /// What a path in the code of a module means.
    pub(crate) fn meaning(&self, module: usize, path: &[String]) -> Meaning {
        self.resolve(module, path, true, &mut Seen::new()).unwrap_or(Meaning::Outside)
    }

    /// What an import brings; the module where a module and an item have one name, as the code
    /// that uses the item says so by itself.
    pub(crate) fn meaning_of_import(&self, module: usize, path: &[String]) -> Meaning {
        self.resolve(module, path, false, &mut Seen::new()).unwrap_or(Meaning::Outside)
    }

    fn resolve(
        &self,
        module: usize,
        path: &[String],
        is_last: bool,
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
            return match self.lookup(base, first, is_last && others.is_empty(), seen)? {
                Meaning::Module(found) => Some(self.descend(found, others, is_last, seen)),
                meaning => Some(meaning),
            };
        }
        Some(self.descend(base, rest, is_last, seen))
    }

    fn descend(&self, module: usize, path: &[String], is_last: bool, seen: &mut Seen) -> Meaning {
        let Some((first, others)) = path.split_first() else { return Meaning::Module(module) };
        if first == "self" {
            return Meaning::Module(module);
        }
        match self.lookup(module, first, is_last && others.is_empty(), seen) {
            Some(Meaning::Module(found)) => self.descend(found, others, is_last, seen),
            Some(meaning) => meaning,
            // A macro may have made it.
            None => Meaning::Item(module),
        }
    }

    /// What a name means in a module; a child comes first where more of the path follows.
    fn lookup(&self, at: usize, name: &str, is_last: bool, seen: &mut Seen) -> Option<Meaning> {
        if seen.iter().any(|(module, known)| *module == at && known == name) {
            return None;
        }
        let module = &self.all[at];
        let item = module.items.contains(name).then_some(Meaning::Item(at));
        let child = module.children.get(name).map(|&child| Meaning::Module(child));
        let own = if is_last { item.or(child) } else { child.or(item) };
        if own.is_some() {
            return own;
        }
        seen.push((at, name.to_owned()));
        let found = self.imported(module, at, name, is_last, seen);
        seen.pop();
        found
    }

    fn imported(
        &self,
        module: &Module,
        at: usize,
        name: &str,
        is_last: bool,
        seen: &mut Seen,
    ) -> Option<Meaning> {
        if let Some(imports) = module.imports.get(name) {
            let mut meanings =
                imports.iter().filter_map(|one| self.resolve(at, &one.path, is_last, seen));
            return Some(meanings.next().unwrap_or(Meaning::Outside));
        }
        module.globs.iter().find_map(|glob| match self.resolve(at, &glob.path, false, seen)? {
            Meaning::Module(from) if from != at => self.lookup(from, name, is_last, seen),
            _ => None,
        })
    }

    fn parent(&self, module: usize) -> Option<usize> {
        let path = &self.all[module].path;
        let above = &path[..path.len().checked_sub(1)?];
        self.all.iter().position(|other| other.path == above)
    }
}
