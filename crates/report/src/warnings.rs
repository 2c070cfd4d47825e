//! Warnings of several results, each listed once, for Markdown, HTML pages and sweeps. Warnings
//! that differ only in their numbers are the same warning.

use super::facts;

/// A warning, and the results that have it.
#[derive(Clone, Debug)]
pub(super) struct Warning<'a> {
    /// Its text in the first of these results.
    pub(super) text: &'a str,
    /// Indices of the results, ascending.
    pub(super) results: Vec<usize>,
    /// Whether its numbers differ between the results.
    pub(super) has_others: bool,
}

/// The warnings of all results, in the order in which they appear.
pub(super) fn grouped<'a>(results: impl IntoIterator<Item = Vec<&'a str>>) -> Vec<Warning<'a>> {
    let results = results.into_iter().enumerate();
    let all = results.flat_map(|(result, texts)| texts.into_iter().map(move |text| (text, result)));
    let alike = facts::grouped(all, |(a, _), (b, _)| wording(a) == wording(b)).into_iter();
    let warnings = alike.map(|group| {
        let text = group[0].0;
        let mut results: Vec<usize> = group.iter().map(|(_, result)| *result).collect();
        results.dedup();
        Warning { text, results, has_others: group.iter().any(|(other, _)| *other != text) }
    });
    warnings.collect()
}

/// The text of a warning with `#` in the place of each number.
fn wording(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' | '.' if words.ends_with('#') => {}
            '0'..='9' => words.push('#'),
            c => words.push(c),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_told_once_whatever_its_numbers_are() {
        let results = [vec!["load 1.5", "no swap"], vec!["load 2"], vec!["load 1.5", "load 3"]];
        let all = grouped(results);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].text, all[0].results.as_slice()), ("load 1.5", &[0, 1, 2][..]));
        assert!(all[0].has_others && !all[1].has_others);
        assert_eq!(all[1].results, [0]);
    }
}
