//! Texts for the values of one fact in several results, for the terminal's pages of comparisons.
//! Long values are cut to the parts that differ.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{page::clip, units::json_text};

/// Maximal width of a value. A longer value is cut.
const MAX_WIDTH: usize = 40;
/// Longest common beginning that is shown whole, in characters.
const MAX_COMMON_LENGTH: usize = 16;
/// Number of characters that are kept at the end of a longer common beginning. They show where the
/// difference is.
const CONTEXT_LENGTH: usize = 8;
/// Text for a part that is the same in all values.
const SAME: &str = "…";
/// Separates the entries of a list.
const SEPARATOR: char = ';';

/// The values as texts; `absent` is the text of a missing value.
pub(crate) fn cut(values: &[Value], absent: &str) -> Vec<String> {
    let mut texts: Vec<Option<String>> = values.iter().map(json_text).collect();
    if is_any_long(&texts) {
        texts = differing_entries(texts);
    }
    if is_any_long(&texts) {
        texts = from_difference(texts);
    }
    texts.into_iter().map(|text| clip(text.as_deref().unwrap_or(absent), MAX_WIDTH)).collect()
}

fn is_any_long(texts: &[Option<String>]) -> bool {
    texts.iter().flatten().any(|text| text.width() > MAX_WIDTH)
}

/// Reads the texts as lists, and keeps the entries that are not in all lists. Returns the texts
/// unchanged where all lists have the same entries.
fn differing_entries(texts: Vec<Option<String>>) -> Vec<Option<String>> {
    let lists: Vec<Vec<&str>> = texts.iter().flatten().map(|text| entries(text)).collect();
    let is_in_all = |entry: &&str| lists.iter().all(|list| list.contains(entry));
    if lists.len() < 2 || lists.iter().flatten().all(is_in_all) {
        return texts;
    }
    texts
        .iter()
        .map(|text| {
            let own = entries(text.as_ref()?).into_iter().filter(|entry| !is_in_all(entry));
            let own: Vec<&str> = own.collect();
            Some(if own.is_empty() { SAME.to_owned() } else { own.join("; ") })
        })
        .collect()
}

fn entries(text: &str) -> Vec<&str> {
    text.split(SEPARATOR).map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

/// Cuts a long common beginning of all texts, except its last [`CONTEXT_LENGTH`] characters.
fn from_difference(texts: Vec<Option<String>>) -> Vec<Option<String>> {
    let mut known = texts.iter().flatten();
    let Some(first) = known.next() else { return texts };
    let common_length = known
        .map(|other| first.chars().zip(other.chars()).take_while(|(a, b)| a == b).count())
        .min()
        .unwrap_or(0);
    let is_same = texts.iter().flatten().all(|text| text == first);
    if is_same || common_length <= MAX_COMMON_LENGTH {
        return texts;
    }
    texts
        .into_iter()
        .map(|text| {
            let text = text?;
            let rest = text.chars().skip(common_length - CONTEXT_LENGTH);
            Some(SAME.chars().chain(rest).collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(values: &[Value]) -> Vec<String> {
        cut(values, "-")
    }

    #[test]
    fn short_values_are_shown_whole() {
        assert_eq!(
            shown(&[json!("a;b"), json!("a;c"), json!(7), Value::Null]),
            ["a;b", "a;c", "7", "-"]
        );
    }

    #[test]
    fn of_long_lists_the_entries_that_differ_are_shown() {
        let shape = |index: &str| {
            json!(format!(
                "block_size=4096;block_align=true;format_version=6;index={index};filter=10"
            ))
        };
        assert_eq!(shown(&[shape("binary"), shape("hash")]), ["index=binary", "index=hash"]);
        let more =
            json!("block_size=4096;block_align=true;format_version=6;index=hash;filter=10;x=1");
        assert_eq!(shown(&[shape("hash"), more, Value::Null]), ["…", "x=1", "-"]);
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let text = |end: &str| json!(format!("{}{end}", "the same words again and ".repeat(4)));
        let late = shown(&[text("one"), text("another")]);
        assert_eq!(late, ["…ain and one", "…ain and another"]);
        let early = shown(&[json!("a".repeat(60)), json!("b".repeat(60))]);
        assert!(early[0].starts_with("aaa") && early[1].starts_with("bbb"), "{early:?}");
        assert!(early.iter().all(|text| text.width() <= MAX_WIDTH), "{early:?}");
        let equal = shown(&[json!("a".repeat(60)), json!("a".repeat(60))]);
        assert!(equal[0].starts_with("aaa"), "{equal:?}");
    }
}
