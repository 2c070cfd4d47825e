//! The rules that functions keep: no parameter is a `bool` or a tuple, whose parts have no name where the
//! function is called; five parameters at most, and 70 lines.

use std::fmt;

use syn::{
    Attribute, ExprClosure, FnArg, ImplItem, Item, ItemImpl, Pat, Signature, TraitItem, Type,
    visit::{self, Visit},
};

use crate::code::{attributes, is_for_tests};

pub(crate) const PARAMETER_COUNT_MAX: usize = 5;
pub(crate) const LINES_MAX: usize = 70;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    NoBool,
    NoTuple,
    FewParameters,
    FewLines,
}

/// A function that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) function: String,
    pub(crate) rule: Rule,
    /// The parameter, or a count.
    pub(crate) what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, rule, what } = self;
        match rule {
            Rule::NoBool => {
                write!(f, "{function}: {what} is a bool: name its two cases in an enum")
            }
            Rule::NoTuple => write!(f, "{function}: {what} is a tuple: name its parts in a struct"),
            Rule::FewParameters => {
                write!(f, "{function}: {what} parameters, at most {PARAMETER_COUNT_MAX}")
            }
            Rule::FewLines => write!(f, "{function}: {what} lines, at most {LINES_MAX}"),
        }
    }
}

/// All breaches in a source, those of its tests left out.
///
/// # Panics
/// On a source that is no Rust.
pub(crate) fn breaches(path: &str, text: &str) -> Vec<Breach> {
    let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut functions = Functions { names: Vec::new(), found: Vec::new() };
    functions.visit_file(&parsed);
    let mut found = functions.found;
    found.extend(long(text));
    found
}

struct Functions {
    /// The names of the functions that the code is in.
    names: Vec<String>,
    found: Vec<Breach>,
}

impl Functions {
    fn add(&mut self, rule: Rule, what: String) {
        let function = self.names.last().cloned().unwrap_or_default();
        self.found.push(Breach { function, rule, what });
    }

    fn inside(&mut self, signature: &Signature, visit: impl FnOnce(&mut Self)) {
        self.names.push(signature.ident.to_string());
        visit(self);
        self.names.pop();
    }

    /// The parameters of a function that we give its form.
    fn signature(&mut self, signature: &Signature) {
        let typed = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(typed),
            FnArg::Receiver(_) => None,
        });
        let typed: Vec<_> = typed.collect();
        for parameter in &typed {
            self.parameter(&parameter.pat, &parameter.ty);
        }
        if typed.len() > PARAMETER_COUNT_MAX {
            self.add(Rule::FewParameters, typed.len().to_string());
        }
    }

    fn parameter(&mut self, pattern: &Pat, kind: &Type) {
        let name = match pattern {
            Pat::Ident(name) => name.ident.to_string(),
            _ => "a parameter".to_owned(),
        };
        match bare(kind) {
            Type::Path(path) if path.path.is_ident("bool") => self.add(Rule::NoBool, name),
            // `()` holds nothing that would need a name.
            Type::Tuple(tuple) if !tuple.elems.is_empty() => self.add(Rule::NoTuple, name),
            _ => {}
        }
    }
}

/// A type without its references.
fn bare(kind: &Type) -> &Type {
    match kind {
        Type::Reference(reference) => bare(&reference.elem),
        Type::Paren(inner) => bare(&inner.elem),
        Type::Group(inner) => bare(&inner.elem),
        other => other,
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        if let Item::Fn(function) = item {
            self.inside(&function.sig, |this| {
                this.signature(&function.sig);
                visit::visit_item(this, item);
            });
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        for item in &block.items {
            let ImplItem::Fn(function) = item else { continue };
            if !is_for_tests(&function.attrs) {
                self.inside(&function.sig, |this| {
                    // The form of a trait's method is checked where the trait is; that of another
                    // crate's is not ours.
                    if block.trait_.is_none() {
                        this.signature(&function.sig);
                    }
                    visit::visit_impl_item_fn(this, function);
                });
            }
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let TraitItem::Fn(function) = item else { return };
        let attributes: &[Attribute] = &function.attrs;
        if !is_for_tests(attributes) {
            self.inside(&function.sig, |this| {
                this.signature(&function.sig);
                visit::visit_trait_item_fn(this, function);
            });
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        for input in &closure.inputs {
            // The parameters of a closure mostly follow from its caller: an iterator gives tuples.
            if let Pat::Type(typed) = input
                && matches!(bare(&typed.ty), Type::Path(_))
            {
                self.parameter(&typed.pat, &typed.ty);
            }
        }
        visit::visit_expr_closure(self, closure);
    }
}

/// Functions of too many lines, by their indentation: every source is formatted. Those below
/// `#[cfg(test)]` at the left margin are left out.
fn long(text: &str) -> Vec<Breach> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        if *line == "#[cfg(test)]" && lines.get(first + 1).is_some_and(|next| next.ends_with('{')) {
            break;
        }
        let code = line.trim_start();
        let Some(function) = declared_function(code) else { continue };
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let body = lines[first..].iter().position(|line| *line == end);
        let count = body.map_or(1, |last| last + 1);
        let is_one_line = code.ends_with(';') || code.ends_with('}');
        if count > LINES_MAX && !is_one_line {
            let (function, what) = (function.to_owned(), count.to_string());
            found.push(Breach { function, rule: Rule::FewLines, what });
        }
    }
    found
}

/// The function that a line begins.
fn declared_function(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("fn ")?;
    const QUALIFIERS: [&str; 6] = ["pub", "const", "async", "unsafe", "extern", "\"C\""];
    let is_qualifier =
        |word: &str| QUALIFIERS.contains(&word) || word.starts_with("pub(") || word.ends_with(')');
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    before.split_whitespace().all(is_qualifier).then(|| &after[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<Rule> {
        breaches("a.rs", text).into_iter().map(|breach| breach.rule).collect()
    }

    #[test]
    fn a_boolean_and_a_tuple_are_found_in_every_kind_of_function() {
        for bad in ["bool", "&bool", "(u8, u8)", "&(u8, u8)", "&mut (u8,)"] {
            let rule = if bad.contains("bool") { Rule::NoBool } else { Rule::NoTuple };
            for text in [
                format!("pub(crate) fn f(a: u8, is_last: {bad}) {{}}"),
                format!("struct A; impl A {{ const fn f(&self, b: {bad}) {{}} }}"),
                format!("trait T {{ fn f(b: {bad}); }}"),
                format!("mod m {{ fn f() {{ fn g(_: {bad}) {{}} }} }}"),
                format!("impl Default for A {{ fn f() {{ fn g(b: {bad}) {{}} }} }}"),
            ] {
                assert_eq!(rules(&text), [rule], "{text}");
            }
        }
        assert_eq!(rules("fn f() { let g = |many: bool| many; }"), [Rule::NoBool]);
    }

    #[test]
    fn what_is_named_or_not_ours_is_none() {
        for text in [
            "fn f(a: Option<bool>, b: &[(u8, u8)], c: impl Fn(bool, (u8, u8)), d: ()) -> bool { true }",
            "impl Tr for A { fn f(&self, many: bool, of: (u8, u8)) {} }",
            "#[cfg(test)] mod tests { fn f(many: bool) {} }",
            "#[test] fn f() { fn g(many: bool) {} }",
            "impl A { #[cfg(test)] fn f(many: bool) {} }",
            "fn f() { all.map(|(a, b): (u8, u8)| a); }",
            "fn f(a: u8, b: u8, c: u8, d: u8, e: u8) {}",
            "impl A { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {} }",
        ] {
            assert_eq!(rules(text), [], "{text}");
        }
    }

    #[test]
    fn a_sixth_parameter_and_a_seventy_first_line_are_found() {
        let many = "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}";
        assert_eq!(rules(many), [Rule::FewParameters]);
        for qualifiers in ["", "pub ", "pub(in crate::a) const unsafe ", "    async "] {
            let indent = &qualifiers[..qualifiers.len() - qualifiers.trim_start().len()];
            let of = |count: usize| {
                let body = format!("{indent}    ;\n").repeat(count - 2);
                format!("{qualifiers}fn f() {{\n{body}{indent}}}\n")
            };
            assert_eq!(rules(&of(LINES_MAX)), []);
            assert_eq!(rules(&of(LINES_MAX + 1)), [Rule::FewLines]);
        }
        let body = "    ;\n".repeat(99);
        let tested = format!("#[cfg(test)]\nmod tests {{\n    fn f() {{\n{body}    }}\n}}\n");
        assert_eq!(rules(&tested), []);
    }
}
