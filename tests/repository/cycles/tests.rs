//! Tests of the rule itself: it finds forbidden references and allows the others.

use super::*;
use crate::sources::Texts;

fn found(files: &[(&str, &str)]) -> Vec<Cycle> {
    let texts: Texts =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    cycles(&Modules::read(&texts, "src/lib.rs"))
}

fn only(files: &[(&str, &str)]) -> Cycle {
    let mut all = found(files);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn arrows(cycle: &Cycle) -> Vec<String> {
    let arrow = |(from, to, names): &(String, String, Vec<String>)| {
        format!("{from} -> {to}: {}", names.join(" ")).replace("src/", "").replace(".rs", "")
    };
    cycle.edges.iter().map(arrow).collect()
}

#[test]
fn two_files_that_use_each_other_are_a_cycle() {
    let cycle = only(&[
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "use crate::b::B; pub struct A(B);"),
        ("src/b.rs", "pub struct B; fn f() -> super::a::A { loop {} }"),
        ("src/c.rs", "use crate::{a::A, b};  fn f(_: A, _: b::B) {}"),
    ]);
    assert_eq!(cycle.level, "the crate");
    assert_eq!(cycle.members, ["src/a.rs", "src/b.rs"]);
    assert_eq!(arrows(&cycle), ["a -> b: B", "b -> a: A"]);
    let shown = cycle.to_string();
    assert!(shown.contains("src/b.rs -> src/a.rs: A"), "{shown}");
}

#[test]
fn a_way_around_through_files_below_is_a_cycle() {
    let cycle = only(&[
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "pub(crate) mod inner;"),
        ("src/a/inner.rs", "pub(crate) fn go() { crate::b::go() }"),
        ("src/b.rs", "pub(crate) fn go() { crate::c::deep::go() }"),
        ("src/c.rs", "pub(crate) mod deep { pub(crate) fn go() { crate::a::inner::go() } }"),
    ]);
    assert_eq!(cycle.members, ["src/a.rs", "src/b.rs", "src/c.rs"]);
}

#[test]
fn a_parent_and_its_children_may_know_each_other_one_way_only() {
    let child = ("src/a/child.rs", "use super::Shared; pub(crate) fn go(_: Shared) {}");
    let parent = "mod child; pub struct Shared; fn f() { child::go(Shared) }";
    let cycle = only(&[("src/lib.rs", "mod a;"), ("src/a.rs", parent), child]);
    assert_eq!(cycle.level, "a");
    assert_eq!(arrows(&cycle), ["a -> a/child: go", "a/child -> a: Shared"]);
    // Also where the child that is used and the child that uses are not the same.
    let cycle = only(&[
        ("src/lib.rs", "mod a;"),
        ("src/a.rs", "mod child; mod other; pub struct Shared; fn f() { other::go() }"),
        child,
        ("src/a/other.rs", "pub(crate) fn go() {}"),
    ]);
    assert_eq!(arrows(&cycle), ["a -> a/other: go", "a/child -> a: Shared"]);
    // The root of a crate is such a parent.
    let cycle = only(&[
        ("src/lib.rs", "mod a; pub struct Shared; fn f() { a::go(Shared) }"),
        ("src/a.rs", "pub(crate) fn go(_: crate::Shared) {}"),
    ]);
    assert_eq!(cycle.level, "the crate");
}

#[test]
fn a_parent_that_only_declares_and_shows_its_children_uses_none() {
    let files = [
        ("src/lib.rs", "mod a; pub use a::{Leaf, go};"),
        ("src/a.rs", "mod leaf; mod child; pub use child::go; pub use leaf::Leaf; pub struct Own;"),
        ("src/a/leaf.rs", "pub struct Leaf;"),
        ("src/a/child.rs", "use super::{Leaf, Own}; pub fn go(_: Leaf, _: Own) {}"),
    ];
    assert!(found(&files).is_empty());
    // An item that a module re-exports and uses itself is used.
    let uses = "mod leaf; mod child; pub use child::go; pub use leaf::Leaf; \
                pub struct Own; fn f() { go(Leaf, Own) }";
    let files = [files[0], ("src/a.rs", uses), files[2], files[3]];
    assert_eq!(
        arrows(&only(&files)),
        ["a -> a/leaf: Leaf", "a -> a/child: go", "a/child -> a: Own"]
    );
}

#[test]
fn a_reexport_hides_no_cycle() {
    let cycle = only(&[
        ("src/lib.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
        ("src/a.rs", "pub struct A; fn f(_: crate::B) {}"),
        ("src/b.rs", "pub struct B; fn f(_: crate::A) {}"),
    ]);
    assert_eq!(arrows(&cycle), ["a -> b: B", "b -> a: A"]);
    // Nor does a chain of them, under other names and by globs.
    let cycle = only(&[
        ("src/lib.rs", "mod a; mod b; mod shown;"),
        ("src/a.rs", "pub(crate) struct A; use crate::shown::*; fn f(_: Shown) {}"),
        ("src/b.rs", "mod inner; pub(crate) use inner::Hidden as Shown;"),
        ("src/b/inner.rs", "pub(crate) struct Hidden(crate::a::A);"),
        ("src/shown.rs", "pub(crate) use crate::b::Shown;"),
    ]);
    assert_eq!(arrows(&cycle), ["a -> b/inner: Shown", "b/inner -> a: A"]);
}

#[test]
fn a_module_is_told_from_the_function_of_the_same_name() {
    let files = [
        ("src/lib.rs", "mod load; mod read; pub fn load() { read::go() }"),
        ("src/load.rs", "pub(crate) fn all() {}"),
        ("src/read.rs", "use crate::load::{self}; pub(crate) fn go() { load::all() }"),
    ];
    assert!(found(&files).is_empty());
    let both = ("src/read.rs", "use crate::load; pub(crate) fn go() { load::all() }");
    assert!(found(&[files[0], files[1], both]).is_empty());
    for calls in ["fn go() { crate::load() }", "use crate::load; pub(crate) fn go() { load() }"] {
        assert_eq!(found(&[files[0], files[1], ("src/read.rs", calls)]).len(), 1);
    }
}

#[test]
fn what_is_for_tests_alone_is_no_reference() {
    let files = [
        ("src/lib.rs", "mod a; mod b;"),
        (
            "src/a.rs",
            "pub struct A; #[cfg(test)] use crate::b::B; #[cfg(test)] fn f(_: B) {} \
             #[cfg(test)] mod tests { use crate::b::B; } #[cfg(all(test, unix))] mod other; \
             #[test] fn t() { crate::b::go(); } impl A { #[cfg(test)] fn g() { crate::b::go() } }",
        ),
        ("src/b.rs", "pub struct B; pub fn go() { let _ = crate::a::A; }"),
    ];
    assert!(found(&files).is_empty());
    let untested = ("src/a.rs", "pub struct A; #[cfg(any(test, unix))] use crate::b::B;");
    assert_eq!(found(&[files[0], untested, files[2]]).len(), 1);
    let untested = ("src/a.rs", "pub struct A; #[cfg(not(test))] use crate::b::B;");
    assert_eq!(found(&[files[0], untested, files[2]]).len(), 1);
}

#[test]
fn paths_in_macros_and_attributes_are_references() {
    let b = ("src/b.rs", "use crate::a::A; pub struct B; pub fn serialize() {} pub fn go(_: A) {}");
    for a in [
        "pub struct A; fn f() { println!(\"{}\", crate::b::go(A)); }",
        "pub struct A; fn f() { assert!(matches!(1, crate::b::B { .. })); }",
        "pub struct A; use crate::b; fn f() { assert!(vec![b::go(A)].is_empty()); }",
        "pub struct A; macro_rules! m { () => { $crate::b::go($crate::a::A) } }",
        "pub struct A; thread! { use crate::{b::{B, go}}; }",
        "pub struct A { #[serde(with = \"crate::b\")] a: u8 }",
        "pub struct A; #[derive(crate::b::B)] struct C;",
        "pub struct A; fn f() { use crate::b::B; }",
        "pub struct A; impl<T: Into<crate::b::B>> From<T> for A {}",
    ] {
        let files = [("src/lib.rs", "mod a; mod b;"), ("src/a.rs", a), b];
        assert_eq!(found(&files).len(), 1, "{a}");
    }
    for a in [
        "/// See [`crate::b::B`].\npub struct A;",
        "pub struct A; fn f(b: X) { println!(\"crate::b::B {}\", b.go(b)); } use std::b::B;",
        "pub struct A; mod b { pub fn go() {} } fn f() { b::go() }",
    ] {
        let files = [("src/lib.rs", "mod a; mod b;"), ("src/a.rs", a), b];
        assert!(found(&files).is_empty(), "{a}");
    }
}

#[test]
fn a_method_is_in_the_file_that_defines_it_wherever_its_type_is() {
    let lib = ("src/lib.rs", "mod a; mod b; mod c;");
    let b = ("src/b.rs", "use crate::a::A; impl A { pub(crate) fn told(&self) -> u8 { 1 } }");
    let c = ("src/c.rs", "");
    for call in
        ["self.told()", "println!(\"{}\", self.told())", "matches!(self, A if self.told() > 0)"]
    {
        let a = format!("pub struct A; impl A {{ fn f(&self) {{ {call}; }} }}");
        let cycle = only(&[lib, ("src/a.rs", &a), b, c]);
        assert_eq!(arrows(&cycle), ["a -> b: told", "b -> a: A"], "{call}");
    }
    // Whoever calls it.
    let a = ("src/a.rs", "pub struct A; fn f() { crate::c::go() }");
    let caller = ("src/c.rs", "pub(crate) fn go() { get().told(); }");
    assert_eq!(only(&[lib, a, b, caller]).members, ["src/a.rs", "src/b.rs", "src/c.rs"]);
    for (a, other) in [
        // Beside its type, a method of no file of its own.
        ("pub struct A; impl A { fn own(&self) {} fn f(&self) { self.own() } }", ""),
        // Another one of this name may be meant.
        (
            "pub struct A; impl A { fn f(&self) { self.told() } }",
            "struct C; impl C { fn told(&self) {} }",
        ),
        ("pub struct A; impl A { fn f(&self) { self.told() } }", "trait T { fn told(&self); }"),
        ("pub struct A; impl A { fn f(&self) { self.told } }", ""),
        ("pub struct A; impl A { #[cfg(test)] fn f(&self) { self.told() } }", ""),
    ] {
        assert!(found(&[lib, ("src/a.rs", a), b, ("src/c.rs", other)]).is_empty(), "{a} {other}");
    }
}
