//! The pages of `docs/` as a book: mdBook takes the chapters of `docs/SUMMARY.md` and the files of
//! that folder alone. `references.rs` checks that links lead somewhere.

use std::collections::BTreeMap;

use crate::{
    references::{links, slug},
    sources::texts,
};

/// The list of chapters.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The headings of a page, outside of blocks of code.
fn headings(page: &str) -> impl Iterator<Item = &str> {
    let prose = page.split("\n```").step_by(2);
    prose.flat_map(str::lines).filter(|line| line.starts_with('#'))
}

/// Faults that keep a page from being a chapter.
fn faults(name: &str, page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if !page.starts_with("# ") {
        faults.push(format!("{name} does not begin with its title"));
    }
    let mut counts = BTreeMap::<_, usize>::new();
    for heading in headings(page) {
        *counts.entry(slug(heading)).or_default() += 1;
    }
    let twice = counts.into_iter().filter(|(_, count)| *count > 1);
    faults.extend(twice.map(|(slug, _)| format!("{name} has two headings for #{slug}")));
    let outside = links(page).filter(|link| link.contains('/'));
    faults.extend(outside.map(|link| format!("{name} links to {link}, which is not in the book")));
    faults
}

#[test]
fn every_page_is_a_chapter_once_and_a_page_of_the_book() {
    let mut pages = texts("docs", "md");
    let summary = pages.remove(SUMMARY).expect(SUMMARY);
    let mut chapters: Vec<String> = links(&summary).map(|link| format!("docs/{link}")).collect();
    chapters.sort();
    let names: Vec<String> = pages.keys().cloned().collect();
    assert_eq!(chapters, names, "the chapters of {SUMMARY}, and the pages of docs/");
    let faults: Vec<_> = pages.iter().flat_map(|(name, page)| faults(name, page)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_page_without_title_with_a_heading_twice_or_a_link_out_of_the_book_is_found() {
    let page = "# One\n[a](two.md#x)\n```sh\n# not a heading\n# not a heading\n```\n## Two\n";
    assert_eq!(faults("page", page), [""; 0]);
    let page = "\n# One\n[a](../README.md)\n## Two, `x`\n### Two x\n";
    assert_eq!(faults("page", page).len(), 3);
}
