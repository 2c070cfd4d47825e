//! The names in the code of one module: imports, paths and methods, those in macros too.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{
    Attribute, ExprMethodCall, ImplItem, Item, ItemImpl, ItemUse, Macro, Meta, Path, Stmt,
    TraitItem, Type, UseTree, Visibility,
    punctuated::Punctuated,
    visit::{self, Visit},
};

/// A name that a module takes from elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    pub(crate) is_reexport: bool,
}

/// A method: a function that is called on a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Method {
    pub(crate) name: String,
    /// The type of an `impl` without a trait, as a path; `None` of a trait's.
    pub(crate) of: Option<Vec<String>>,
}

/// The calls and names of code.
#[derive(Debug, Default)]
pub(crate) struct Named {
    pub(crate) paths: Vec<Vec<String>>,
    /// The names of methods that are called.
    pub(crate) calls: Vec<String>,
}

/// The names in one module's items.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) named: Named,
    /// Those that it defines.
    pub(crate) methods: Vec<Method>,
    /// No name for a glob.
    pub(crate) imports: Vec<(Option<String>, Import)>,
}

impl<'ast> Visit<'ast> for Code {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        let of = match &*block.self_ty {
            Type::Path(own) if block.trait_.is_none() => Some(names(&own.path)),
            _ => None,
        };
        for item in &block.items {
            if let ImplItem::Fn(function) = item
                && !is_for_tests(&function.attrs)
                && function.sig.receiver().is_some()
            {
                let name = function.sig.ident.to_string();
                self.methods.push(Method { name, of: of.clone() });
            }
        }
        visit::visit_item_impl(self, block);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.named.calls.push(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes: &[Attribute] = match item {
            TraitItem::Fn(item) => &item.attrs,
            TraitItem::Const(item) => &item.attrs,
            TraitItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            if let TraitItem::Fn(function) = item
                && function.sig.receiver().is_some()
            {
                self.methods.push(Method { name: function.sig.ident.to_string(), of: None });
            }
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        if !is_for_tests(&variant.attrs) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let is_out = match statement {
            Stmt::Local(local) => is_for_tests(&local.attrs),
            Stmt::Macro(called) => is_for_tests(&called.attrs),
            _ => false,
        };
        if !is_out {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut names = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut names);
        let is_reexport = !matches!(item.vis, Visibility::Inherited);
        let imports = names.into_iter().filter(|_| item.leading_colon.is_none());
        self.imports.extend(imports.map(|(name, path)| (name, Import { path, is_reexport })));
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            self.named.paths.push(names(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.visit_path(&called.path);
        scan(&called.tokens, &mut self.named);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let Meta::List(list) = &attribute.meta else { return };
        scan(&list.tokens, &mut self.named);
        if attribute.path().is_ident("serde") {
            // Names of functions and modules, as strings.
            let trees: Vec<TokenTree> = list.tokens.clone().into_iter().collect();
            for (at, tree) in trees.iter().enumerate() {
                let TokenTree::Literal(literal) = tree else { continue };
                let mut text = literal.to_string().trim_matches('"').to_owned();
                // `with` names a module for the functions of these names in it.
                let key = at.checked_sub(2).map(|key| trees[key].to_string());
                if key.as_deref() == Some("with") {
                    text.push_str("::serialize");
                }
                if let Ok(path) = syn::parse_str::<Path>(&text) {
                    self.visit_path(&path);
                }
            }
        }
    }
}

fn names(path: &Path) -> Vec<String> {
    path.segments.iter().map(|part| part.ident.to_string()).collect()
}

fn is_punctuation(tree: Option<&TokenTree>, expected: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(found)) if found.as_char() == expected)
}

/// The paths in the body of a macro: several names joined by `::`, and single names that are a
/// type's by their case or are called; and the methods that it calls.
fn scan(tokens: &TokenStream, out: &mut Named) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        let start = at;
        at += 1;
        let first = match &trees[start] {
            TokenTree::Group(group) => {
                scan(&group.stream(), out);
                continue;
            }
            TokenTree::Ident(name) => name.to_string(),
            _ => continue,
        };
        let before = start.checked_sub(1).and_then(|index| trees.get(index));
        let second = start.checked_sub(2).and_then(|index| trees.get(index));
        let is_field = is_punctuation(before, '.') && !is_punctuation(second, '.');
        let is_inside = is_punctuation(before, ':') && is_punctuation(second, ':');
        let mut path = vec![first];
        while is_punctuation(trees.get(at), ':') && is_punctuation(trees.get(at + 1), ':') {
            match trees.get(at + 2) {
                Some(TokenTree::Ident(name)) => path.push(name.to_string()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    scan_group(&path, &group.stream(), out);
                }
                _ => break,
            }
            at += 3;
        }
        let is_type = path[0].starts_with(char::is_uppercase);
        let is_called = matches!(
            trees.get(at),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis
        );
        if is_field && is_called {
            out.calls.extend(path);
        } else if !is_field && !is_inside && (path.len() > 1 || is_type || is_called) {
            out.paths.push(path);
        }
    }
}

/// The paths of `before::{…}`.
fn scan_group(before: &[String], inside: &TokenStream, out: &mut Named) {
    let mut trees = inside.clone().into_iter().peekable();
    while trees.peek().is_some() {
        let part: TokenStream =
            trees.by_ref().take_while(|tree| !is_punctuation(Some(tree), ',')).collect();
        let mut within = Named::default();
        scan(&part, &mut within);
        let Named { mut paths, calls } = within;
        out.calls.extend(calls);
        if let Some(TokenTree::Ident(only)) = part.into_iter().next()
            && paths.is_empty()
        {
            paths.push(vec![only.to_string()]);
        }
        out.paths.extend(paths.into_iter().map(|path| [before, &path].concat()));
    }
}

/// The names of the items that the body of a macro declares.
pub(crate) fn declared(tokens: &TokenStream) -> Vec<String> {
    const KEYWORDS: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let pairs = trees.windows(2).filter_map(|pair| match pair {
        [TokenTree::Ident(keyword), TokenTree::Ident(name)]
            if KEYWORDS.iter().any(|known| keyword == known) =>
        {
            Some(name.to_string())
        }
        _ => None,
    });
    pairs.collect()
}

/// The names that a `use` brings, each with its whole path; no name for a glob.
pub(crate) fn flatten(
    tree: &UseTree,
    before: &mut Vec<String>,
    out: &mut Vec<(Option<String>, Vec<String>)>,
) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, out);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            // A module or a type, never the function of the same name.
            let whole = before.iter().cloned().chain(["self".to_owned()]).collect();
            out.push((before.last().cloned(), whole));
        }
        UseTree::Name(name) => {
            let whole = before.iter().cloned().chain([name.ident.to_string()]).collect();
            out.push((Some(name.ident.to_string()), whole));
        }
        UseTree::Rename(renamed) => {
            let mut whole = before.clone();
            if renamed.ident != "self" {
                whole.push(renamed.ident.to_string());
            }
            out.push((Some(renamed.rename.to_string()), whole));
        }
        UseTree::Glob(_) => out.push((None, before.clone())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, out)),
    }
}

/// Whether an item with these attributes exists in tests alone.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<Meta>().is_ok_and(|condition| !holds_untested(&condition))
    })
}

/// Whether a condition can hold in a build that is not for tests.
fn holds_untested(condition: &Meta) -> bool {
    let Meta::List(list) = condition else { return !condition.path().is_ident("test") };
    let parts = list.parse_args_with(Punctuated::<Meta, syn::Token![,]>::parse_terminated);
    let Ok(parts) = parts else { return true };
    if list.path.is_ident("any") {
        parts.iter().any(holds_untested)
    } else {
        !list.path.is_ident("all") || parts.iter().all(holds_untested)
    }
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
