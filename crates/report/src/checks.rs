//! The page of `stress doctor`: one line for each check of the machine, and the remedy below it
//! where there is one.

use result::environment::{Check, Status};

use super::{
    Paint,
    page::{Page, Tone, pad_right},
    units,
};

/// Width of the names of checks, and of the words for their status.
const NAME_WIDTH: usize = 14;
const STATUS_WIDTH: usize = 9;

/// The checks as a page of `width` columns.
pub fn checks(checks: &[Check], width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    for check in checks {
        let (tone, word) = match check.status {
            Status::Ok => (Tone::Plain, "ok"),
            Status::Warning => (Tone::Warning, "WARNING"),
            Status::Unknown => (Tone::Faint, "unknown"),
        };
        let word = pad_right(word, STATUS_WIDTH);
        let name = pad_right(&check.name, NAME_WIDTH);
        page.line(tone, &format!("{word}{name}{}", check.found));
        if let Some(remedy) = &check.remedy {
            page.indented(tone, STATUS_WIDTH + NAME_WIDTH, remedy);
        }
    }
    page.gap();
    let [warning_count, unknown_count] = [Status::Warning, Status::Unknown]
        .map(|status| checks.iter().filter(|check| check.status == status).count() as u64);
    let text = format!(
        "{}, {} not known",
        units::things(warning_count, "warning"),
        units::count(unknown_count)
    );
    page.labelled(Tone::Strong, "found", &text);
    page.render(paint)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::tests::fits;

    #[test]
    fn a_page_has_a_line_for_every_subject_and_is_not_wider_than_asked() {
        let check = |name: &str, status| {
            let remedy = "a remedy of several words, and then more".to_owned();
            let remedy = (status != Status::Ok).then_some(remedy);
            let found = "what was found, in a few words".to_owned();
            Check { name: name.to_owned(), status, found, remedy }
        };
        let found = [
            check("governor", Status::Ok),
            check("stolen time", Status::Warning),
            check("page cache", Status::Unknown),
        ];
        for width in [40, 80, 120] {
            let page = checks(&found, width, Paint::Plain);
            fits(&page, width);
            for check in &found {
                assert!(page.contains(&check.name), "{}: {page}", check.name);
            }
        }
    }
}
