//! The modules of one crate as its sources declare them: items, imports, and the paths that their
//! code names. Code that is compiled for tests alone is left out.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, Item, ItemMod, Meta, visit::Visit};

use crate::{
    code::{Code, Import, Method, attributes, declared, is_for_tests},
    sources::Texts,
};

#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Its names from the root of the crate on.
    pub(crate) path: Vec<String>,
    /// The index of the file that has it.
    pub(crate) file: usize,
    pub(crate) children: BTreeMap<String, usize>,
    pub(crate) items: BTreeSet<String>,
    pub(crate) imports: BTreeMap<String, Vec<Import>>,
    pub(crate) globs: Vec<Import>,
    /// The paths that its code names, imports left out.
    pub(crate) paths: BTreeSet<Vec<String>>,
    /// The methods that its code defines.
    pub(crate) methods: BTreeSet<Method>,
    /// The names of methods that its code calls.
    pub(crate) calls: BTreeSet<String>,
}

/// A file, which is a module with all modules that are written inside it.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Modules {
    pub(crate) all: Vec<Module>,
    pub(crate) files: Vec<File>,
}

/// Where the files of a module's children lie.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The module's index.
    index: usize,
    folder: &'a str,
    /// The folder of its own file, for `#[path]`.
    beside: &'a str,
}

impl Modules {
    /// Reads a crate from the file that is its root.
    ///
    /// # Panics
    /// On a file that is missing or is no Rust.
    pub(crate) fn read(texts: &Texts, root: &str) -> Self {
        let mut modules = Self::default();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        modules.add_file(texts, root, folder, Vec::new());
        modules
    }

    fn add_file(&mut self, texts: &Texts, name: &str, folder: &str, path: Vec<String>) -> usize {
        let text = texts.get(name).unwrap_or_else(|| panic!("{name} is declared and not there"));
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        self.files.push(File { name: name.to_owned(), path: path.clone() });
        let index = self.add(path);
        let beside = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.read_items(texts, &parsed.items, Place { index, folder, beside });
        index
    }

    fn add(&mut self, path: Vec<String>) -> usize {
        let file = self.files.len() - 1;
        self.all.push(Module { path, file, ..Module::default() });
        self.all.len() - 1
    }

    fn read_items(&mut self, texts: &Texts, items: &[Item], at: Place<'_>) {
        let mut code = Code::default();
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(module) => self.read_module(texts, module, at),
                item => {
                    self.name_item(item, at.index);
                    code.visit_item(item);
                }
            }
        }
        let module = &mut self.all[at.index];
        module.paths.extend(code.named.paths);
        module.calls.extend(code.named.calls);
        module.methods.extend(code.methods);
        for (name, import) in code.imports {
            match name {
                Some(name) => module.imports.entry(name).or_default().push(import),
                None => module.globs.push(import),
            }
        }
    }

    fn read_module(&mut self, texts: &Texts, item: &ItemMod, at: Place<'_>) {
        let name = item.ident.to_string();
        let mut path = self.all[at.index].path.clone();
        path.push(name.clone());
        let folder =
            if at.folder.is_empty() { name.clone() } else { format!("{}/{name}", at.folder) };
        let child = if let Some((_, items)) = &item.content {
            let file = self.all[at.index].file;
            let child = self.add(path);
            self.all[child].file = file;
            self.read_items(texts, items, Place { index: child, folder: &folder, ..at });
            child
        } else {
            let file = path_attribute(&item.attrs)
                .map_or_else(|| format!("{folder}.rs"), |path| format!("{}/{path}", at.beside));
            self.add_file(texts, &file, &folder, path)
        };
        self.all[at.index].children.insert(name, child);
    }

    fn name_item(&mut self, item: &Item, index: usize) {
        let mut add = |name: &syn::Ident| self.all[index].items.insert(name.to_string());
        match item {
            Item::Const(item) => drop(add(&item.ident)),
            Item::Enum(item) => drop(add(&item.ident)),
            Item::Fn(item) => drop(add(&item.sig.ident)),
            Item::Static(item) => drop(add(&item.ident)),
            Item::Struct(item) => drop(add(&item.ident)),
            Item::Trait(item) => drop(add(&item.ident)),
            Item::Type(item) => drop(add(&item.ident)),
            Item::Union(item) => drop(add(&item.ident)),
            Item::Macro(item) => match &item.ident {
                Some(name) => {
                    add(name);
                    let is_exported =
                        |attribute: &Attribute| attribute.path().is_ident("macro_export");
                    if index != 0 && item.attrs.iter().any(is_exported) {
                        let mut path = vec!["crate".to_owned()];
                        path.extend(self.all[index].path.iter().cloned());
                        path.push(name.to_string());
                        let import = Import { path, is_reexport: true };
                        self.all[0].imports.entry(name.to_string()).or_default().push(import);
                    }
                }
                None => self.all[index].items.extend(declared(&item.mac.tokens)),
            },
            _ => {}
        }
    }
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let Meta::NameValue(value) = &attribute.meta else { return None };
    match &value.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
        _ => None,
    }
}
