//! Finds the explanation of a key in `docs/scenario.md`, the only place where keys are explained.
//! The page is embedded, so that starter scenarios and the schema for editors have the same text.

/// The page.
const PAGE: &str = include_str!("../../../docs/scenario.md");

/// A row of one of the page's tables of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row<'page> {
    /// Values that the key takes.
    pub(crate) takes: &'page str,
    /// Default of the key; empty where the table has none.
    pub(crate) default: &'page str,
    /// Effect of the key.
    pub(crate) effect: &'page str,
}

/// Finds the row of the key at `path`, such as `load.keys`. If several kinds of load have the key,
/// this is the row below the paragraph that names `kind`.
pub(crate) fn row(path: &str, kind: Option<&str>) -> Option<Row<'static>> {
    let start = format!("| `{path}` |");
    let named = kind.map(|kind| format!("`{kind}`"));
    let (mut paragraph_names_kind, mut after_gap) = (false, true);
    let mut first = None;
    for line in PAGE.lines() {
        if let Some(cells) = line.strip_prefix(&start) {
            let found = split_row(cells);
            if paragraph_names_kind {
                return found;
            }
            first = first.or(found);
        }
        if !line.is_empty() && !line.starts_with('|') {
            let names = named.as_ref().is_some_and(|named| line.contains(named));
            // A line after a gap begins a new paragraph.
            paragraph_names_kind = names || (paragraph_names_kind && !after_gap);
        }
        after_gap = line.is_empty();
    }
    first
}

/// Splits a row after its first cell: the key's values, its default (not in all tables), its
/// effect.
fn split_row(cells: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> = cells.trim().trim_end_matches('|').split('|').map(str::trim).collect();
    match cells[..] {
        [takes, effect] => Some(Row { takes, default: "", effect }),
        [takes, default, effect] => Some(Row { takes, default, effect }),
        _ => None,
    }
}

/// Converts Markdown to plain text: drops the marks of code, and keeps the words of links.
pub(crate) fn plain(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        let (ahead, words) = before.rsplit_once('[').unwrap_or((before, ""));
        out.push_str(ahead);
        out.push_str(words);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_with_its_cells_and_its_links_are_words() {
        let row = row("run.prefetch_order", None).expect("a row");
        assert_eq!(row.default, "`on-disk`");
        assert!(plain(row.effect).ends_with("are explained in designs.md"), "{}", row.effect);
        assert!(super::row("expect.when.cache", None).is_some_and(|row| row.default.is_empty()));
        assert_eq!(super::row("load.no-such-key", Some("erc20")), None);
    }

    #[test]
    fn the_row_of_a_kind_is_the_one_below_its_name() {
        let holders = row("load.holders", Some("erc20"));
        assert_eq!(holders, row("load.holders", None), "there is one");
        assert!(holders.is_some());
    }
}
