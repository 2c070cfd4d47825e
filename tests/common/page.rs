//! Reads a page of `stress report` back: its elements, checked for being nested, and the numbers
//! that it shows, compared with those of the results that they name.

use std::collections::BTreeMap;

use serde_json::Value;

/// An element with its attributes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    /// The text directly in it.
    pub(crate) text: String,
}

impl Element {
    /// An attribute, empty where there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// All elements in their order.
///
/// # Panics
/// An element is not closed where it should be, or something is not escaped.
pub(crate) fn elements(page: &str) -> Vec<Element> {
    let mut all: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some((text, more)) = rest.split_once('<') {
        assert!(!text.contains('>') || in_style(&all, &open), "not escaped: {text}");
        if let Some(at) = open.last() {
            all[*at].text.push_str(&unescaped(text));
        }
        let (tag, more) = more.split_once('>').unwrap();
        rest = more;
        if let Some(name) = tag.strip_prefix('/') {
            let at = open.pop().unwrap_or_else(|| panic!("</{name}> closes nothing"));
            assert_eq!(all[at].name, name, "closed in the wrong order");
            continue;
        }
        let (tag, is_whole) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        if !is_whole {
            open.push(all.len());
        }
        all.push(element(tag));
    }
    assert!(open.is_empty(), "{} elements are not closed", open.len());
    all
}

fn in_style(all: &[Element], open: &[usize]) -> bool {
    open.last().is_some_and(|at| all[*at].name == "style")
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
    let mut attributes = BTreeMap::new();
    while let Some((name, more)) = rest.split_once("=\"") {
        let (value, more) = more.split_once('"').unwrap();
        let before = attributes.insert(name.trim().to_owned(), unescaped(value));
        assert!(before.is_none(), "{name} twice in <{tag}>");
        rest = more;
    }
    assert!(rest.trim().is_empty(), "{rest:?} in <{tag}>");
    Element { name: name.to_owned(), attributes, text: String::new() }
}

fn unescaped(text: &str) -> String {
    for part in text.split('&').skip(1) {
        let known = ["lt;", "gt;", "amp;", "quot;", "#39;"];
        assert!(known.iter().any(|known| part.starts_with(known)), "not escaped: &{part}");
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&#39;", "'").replace("&amp;", "&")
}

/// Compares each number of the page with the one that its result has at its place, and returns
/// the places that are shown, by result.
///
/// # Panics
/// One is another.
pub(crate) fn compared(elements: &[Element], results: &[Value]) -> Vec<(usize, String)> {
    let mut places = Vec::new();
    for element in elements.iter().filter(|element| element.attributes.contains_key("data-at")) {
        let result: usize = element.get("data-result").parse().unwrap();
        let at = element.get("data-at");
        let shown: f64 = element.get("data-value").parse().unwrap();
        let wanted = number(&results[result], at);
        assert_eq!(Some(shown), wanted, "{at} of result {result}");
        places.push((result, at.to_owned()));
    }
    places
}

/// The number at a place; at one with `*` the median over all values there, without the samples of
/// a warm-up; of several databases the median of the databases' medians. `None` if one does not
/// know it.
pub(crate) fn number(result: &Value, at: &str) -> Option<f64> {
    let Some((list, below)) = at.split_once("/*") else { return result.pointer(at)?.as_f64() };
    let all = result.pointer(list)?.as_array()?;
    let cell = list.strip_suffix("/samples").and_then(|cell| result.pointer(cell));
    let mut rest = all.as_slice();
    let values = |all: &[Value]| -> Option<Vec<f64>> {
        all.iter().map(|one| one.pointer(below).and_then(Value::as_f64)).collect()
    };
    let mut medians = Vec::new();
    // A run on several databases has a warm-up on each.
    let each = cell.and_then(|cell| cell["databases"]["each"].as_array().cloned());
    let each = each.unwrap_or_else(|| cell.into_iter().cloned().collect());
    for of in &each {
        let count = |name: &str| of[name].as_u64().map(|count| usize::try_from(count).unwrap());
        let (own, others) = rest.split_at(count("sample_count").unwrap_or(rest.len()));
        rest = others;
        let counted = &own[count("warm_up_sample_count").unwrap_or(0)..];
        medians.extend(median(values(counted)?));
    }
    if each.is_empty() {
        // A list of something else than samples.
        return median(values(all)?);
    }
    median(medians)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    Some(match values.len() % 2 {
        1 => values[middle],
        _ if values.is_empty() => return None,
        _ => values[middle - 1] / 2.0 + values[middle] / 2.0,
    })
}
