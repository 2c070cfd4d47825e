//! Names in pages and comments exist: files, pages, parts of the code.

use std::collections::BTreeSet;

use crate::sources::{Texts, every_path, packages, texts};

/// Endings by which a word in backticks is known as the name of a file of the repository.
const ENDINGS: [&str; 3] = [".rs", ".md", ".workload"];

/// Files that are written by the program or by a user, or that an example invents.
const NOT_OURS: [&str; 5] = ["table.md", "summary.md", "NAME.md", "x.md", "work.workload"];

/// Names of others' code and of EIPs.
const NOT_OUR_CODE: [&str; 4] =
    ["RocksDbIOUringEnable", "OpenZeppelin", "fake_exponential", "ITEM_COST"];

/// Values of JSON that a header may mention beside modules.
const JSON_WORDS: [&str; 3] = ["null", "true", "false"];

/// Pages whose names of types and functions are those of the code as it is.
const CODE_PAGES: [&str; 2] = ["docs/architecture.md", "docs/contributing.md"];

/// The names that pages and comments may use.
struct There {
    /// Paths of files and folders from the root of the repository on.
    paths: BTreeSet<String>,
    /// Last parts of paths.
    names: BTreeSet<String>,
    /// Where a page or comment may begin a path: packages and their sources.
    roots: Vec<String>,
    /// Identifiers of the code.
    words: BTreeSet<String>,
    modules: BTreeSet<String>,
}

impl There {
    fn of(paths: impl Iterator<Item = String>, roots: Vec<String>, code: &Texts) -> Self {
        let mut there = Self {
            paths: BTreeSet::new(),
            names: BTreeSet::new(),
            roots,
            words: BTreeSet::new(),
            modules: BTreeSet::new(),
        };
        for path in paths {
            let parts: Vec<&str> = path.split('/').collect();
            there.names.extend(parts.iter().map(|part| (*part).to_owned()));
            there.paths.extend((1..=parts.len()).map(|count| parts[..count].join("/")));
        }
        for (path, text) in code {
            let parts = path.trim_end_matches(".rs").split('/');
            there.modules.extend(parts.map(str::to_owned));
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let words = lines.flat_map(|line| line.split(|c: char| !is_of_word(c)));
            there.words.extend(words.map(str::to_owned));
        }
        there
    }

    fn has(&self, path: &str, from: &str) -> bool {
        let path = path.trim_end_matches('/');
        let beside = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let below = from.trim_end_matches(".rs");
        if !path.contains('/') {
            return self.names.contains(path);
        }
        let roots = self.roots.iter().map(String::as_str).chain([beside, below]);
        roots.into_iter().any(|root| self.paths.contains(&joined(root, path)))
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A path from a folder on, `..` resolved.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// The words of a text that stand in backticks, outside of blocks of code.
fn quoted(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (index, block) in text.split("```").enumerate() {
        if index % 2 == 0 {
            words.extend(block.split('`').skip(1).step_by(2));
        }
    }
    words
}

/// The comments of a source that document: those of a file, and those of items.
fn comments(source: &str) -> String {
    let lines = source.lines().map(str::trim_start);
    let texts = lines.filter_map(|line| line.strip_prefix("//!").or(line.strip_prefix("///")));
    texts.collect::<Vec<_>>().join("\n")
}

/// The header of a file, and the modules that the file declares.
fn header(source: &str) -> (String, Vec<&str>) {
    let lines: Vec<&str> = source.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let declared = source.lines().filter_map(|line| {
        let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
        line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')
    });
    (lines.join("\n"), declared.collect())
}

/// Files and pages that a text names and that are not there.
fn missing_files(there: &There, from: &str, text: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for word in quoted(text) {
        let is_file =
            ENDINGS.iter().any(|ending| word.ends_with(ending)) || word.starts_with("docs/");
        let is_plain = !word.contains([' ', '*', '<', '{', '$', '…', ':', '='])
            && !word.starts_with(['.', '/', '~']);
        if is_file && is_plain && !NOT_OURS.contains(&word) && !there.has(word, from) {
            missing.push(word.to_owned());
        }
    }
    // Pages without backticks.
    for at in text.match_indices("docs/").map(|(at, _)| at) {
        let path = text[at..].split(|c: char| !is_of_word(c) && !"/.-".contains(c)).next();
        let path = path.unwrap_or_default().trim_end_matches('.');
        let is_inside = text[..at].ends_with(|c: char| is_of_word(c) || c == '/');
        if path.ends_with(".md") && !is_inside && !there.has(path, from) {
            missing.push(path.to_owned());
        }
    }
    missing
}

/// The targets of a page's links that lead into the repository.
pub(crate) fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
}

/// Links of a page to files and headings that are not there.
fn missing_links(there: &There, pages: &Texts, from: &str, text: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for link in links(text) {
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let beside = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let target = if path.is_empty() { from.to_owned() } else { joined(beside, path) };
        let is_there = there.paths.contains(&target);
        let has_heading = || {
            let page = pages.get(&target).map_or("", String::as_str);
            page.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == heading)
        };
        if !is_there || !heading.is_empty() && !has_heading() {
            missing.push(link.to_owned());
        }
    }
    missing
}

/// A heading as a link names it.
pub(crate) fn slug(line: &str) -> String {
    let kept = line.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| is_of_word(*c) || " -".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Types, functions and paths of the code that a text names and that no code has.
fn missing_code(there: &There, text: &str) -> Vec<String> {
    let is_missing = |word: &&str| {
        let name = word.trim_end_matches("()");
        let parts: Vec<&str> = name.split("::").collect();
        let is_name = |part: &&str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic()) && part.chars().all(is_of_word)
        };
        if !parts.iter().all(is_name) {
            return false;
        }
        let has_capital = name.starts_with(|c: char| c.is_ascii_uppercase());
        let is_type = has_capital && name.contains(|c: char| c.is_ascii_lowercase());
        let is_constant = has_capital && name.contains('_') && !name.starts_with("STRESS_");
        let is_code = parts.len() > 1
            || is_type
            || is_constant
            || name.len() < word.len()
            || name.contains('_') && !has_capital;
        is_code
            && !parts
                .iter()
                .all(|part| there.words.contains(*part) || there.modules.contains(*part))
    };
    quoted(text)
        .into_iter()
        .filter(|word| !NOT_OUR_CODE.contains(word))
        .filter(is_missing)
        .map(str::to_owned)
        .collect()
}

/// Modules that a file's header lists beside its own and that are none.
fn missing_modules(source: &str, there: &There) -> Vec<String> {
    let (text, declared) = header(source);
    let words: Vec<&str> =
        quoted(&text).into_iter().filter(|word| !JSON_WORDS.contains(word)).collect();
    // A header that names several of its modules is a map of them.
    let named = declared.iter().filter(|name| words.contains(name)).count();
    if named < 2 {
        return Vec::new();
    }
    let is_plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let missing = words.into_iter().filter(is_plain).filter(|word| !there.modules.contains(*word));
    missing.map(str::to_owned).collect()
}

fn there() -> There {
    let mut code = texts("", "rs");
    code.retain(|path, _| !path.starts_with("tests/repository/"));
    let mut roots = vec!["docs".to_owned(), "fixtures".to_owned(), "contracts".to_owned()];
    for package in packages() {
        roots.extend([package.at("src"), package.folder]);
    }
    There::of(every_path().into_iter(), roots, &code)
}

fn pages() -> Texts {
    let mut pages = texts("", "md");
    pages.retain(|path, _| !path.starts_with("contracts/node_modules"));
    pages
}

#[test]
fn every_file_and_page_that_pages_and_comments_name_is_there() {
    let (there, pages) = (there(), pages());
    let mut missing = Vec::new();
    for (path, text) in &pages {
        missing
            .extend(missing_files(&there, path, text).into_iter().map(|word| (path.clone(), word)));
        let links = missing_links(&there, &pages, path, text);
        missing.extend(links.into_iter().map(|link| (path.clone(), link)));
    }
    for (path, source) in texts("", "rs") {
        if !path.starts_with("tests/repository/") {
            let words = missing_files(&there, &path, &comments(&source));
            missing.extend(words.into_iter().map(|word| (path.clone(), word)));
        }
    }
    assert!(missing.is_empty(), "named and not there: {missing:#?}");
}

#[test]
fn every_part_of_the_code_that_comments_and_the_pages_on_the_code_name_is_there() {
    let (there, pages) = (there(), pages());
    let missing = CODE_PAGES.iter().flat_map(|page| {
        missing_code(&there, &pages[*page]).into_iter().map(move |word| (*page, word))
    });
    let mut missing: Vec<_> = missing.map(|(page, word)| (page.to_owned(), word)).collect();
    for (path, source) in texts("", "rs") {
        if !path.starts_with("tests/repository/") {
            let words = missing_code(&there, &comments(&source));
            missing.extend(words.into_iter().map(|word| (path.clone(), word)));
        }
    }
    assert!(missing.is_empty(), "named and not there: {missing:#?}");
}

#[test]
fn every_module_that_the_header_of_a_file_lists_is_there() {
    let mut missing = Vec::new();
    let there = there();
    for (path, source) in texts("", "rs") {
        // Its own module, children and files beside them.
        let folder = format!("{}/", path.rsplit_once('/').map_or("", |(folder, _)| folder));
        let near = there.paths.iter().filter(|other| other.starts_with(&folder));
        let modules =
            near.flat_map(|other| other.trim_end_matches(".rs").split('/')).map(str::to_owned);
        let near = There {
            modules: modules.collect(),
            ..There::of(Vec::new().into_iter(), Vec::new(), &Texts::new())
        };
        let words = missing_modules(&source, &near);
        missing.extend(words.into_iter().map(|word| (path.clone(), word)));
    }
    assert!(missing.is_empty(), "headers name modules that are not there: {missing:#?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> There {
        let code = "//! `gone`\nmod a;\nimpl Kind { fn made(&self) {} }\n// fn commented() {}\n";
        let code = Texts::from([("executor/src/store/a.rs".to_owned(), code.to_owned())]);
        let paths = ["executor/src/store/a.rs", "docs/page.md", "src/main.rs"].map(str::to_owned);
        There::of(
            paths.into_iter(),
            vec!["executor".into(), "executor/src".into(), String::new()],
            &code,
        )
    }

    #[test]
    fn a_file_that_is_not_there_is_found_and_one_that_is_there_is_not() {
        let text = "`executor/src/store/a.rs` `store/a.rs` `a.rs` (docs/page.md) `main.rs` `page.md` \
                    `*.rs` `<name>.rs` ```\n`none.rs`\n```";
        assert_eq!(missing_files(&small(), "docs/page.md", text), [""; 0]);
        let text = "`store/b.rs`, `b.rs`; see docs/none.md. `none.md`";
        let missing = missing_files(&small(), "src/main.rs", text);
        assert_eq!(missing, ["store/b.rs", "b.rs", "none.md", "docs/none.md"]);
    }

    #[test]
    fn a_link_leads_to_a_page_and_to_a_heading_of_it() {
        let pages = Texts::from([("docs/page.md".to_owned(), "# One `x`, two\n".to_owned())]);
        let links = |text| missing_links(&small(), &pages, "docs/other.md", text);
        assert_eq!(
            links("[a](page.md) [b](../src/main.rs) [c](https://x.y) [d](page.md#one-x-two)"),
            [""; 0]
        );
        assert_eq!(links("[a](none.md) [b](page.md#three)"), ["none.md", "page.md#three"]);
    }

    #[test]
    fn a_name_of_the_code_that_no_code_has_is_found() {
        let text = "`Kind` `Kind::made` `made()` `a::Kind` `plain` `--flag` `STRESS_X` `A`";
        assert_eq!(missing_code(&small(), text), [""; 0]);
        let text = "`Gone` `Kind::gone` `commented()` `not_there` `MAX_GONE`";
        assert_eq!(missing_code(&small(), text).len(), 5);
    }

    #[test]
    fn a_header_lists_modules_that_are_there() {
        let there = There { modules: ["a", "b"].map(str::to_owned).into(), ..small() };
        let source = "//! `a` does this, `b` that, `gone` nothing.\nmod a;\npub(crate) mod b;\n";
        assert_eq!(missing_modules(source, &there), ["gone"]);
        let prose = "//! `a` reads `key`.\nmod a;\n";
        assert_eq!(missing_modules(prose, &there), [""; 0]);
    }
}
