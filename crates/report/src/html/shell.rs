//! The document around the parts of a page: head, title, contents and foot.

use super::look;

/// Rules of the page's look, with places for those of the designs.
const STYLE: &str = include_str!("style.css");
/// Nothing may be loaded, also for a hostile result.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
     form-action 'none'";

/// Parts of a page. Markup.
pub(super) struct Parts<'a> {
    pub(super) title: &'a str,
    /// Below the title.
    pub(super) header: &'a str,
    pub(super) verdict: &'a str,
    /// Anchor, title and content.
    pub(super) sections: Vec<(&'static str, &'static str, String)>,
    pub(super) source_count: usize,
}

/// The page of these parts.
pub(super) fn shell(parts: &Parts<'_>) -> String {
    let Parts { title, header, verdict, sections, source_count } = parts;
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n<title>stress: {title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#verdict\">To the verdict</a>\n<header>\n\
         <p class=\"maker\">stress report</p>\n<h1>{title}</h1>\n{header}</header>\n<main>\n",
        look::style(STYLE),
    );
    html.push_str(verdict);
    html.push_str("<nav aria-label=\"Contents\"><ul>");
    for (id, title, _) in sections {
        html.push_str(&format!("<li><a href=\"#{id}\">{title}</a></li>"));
    }
    html.push_str("</ul></nav>\n");
    for (_, _, content) in sections {
        html.push_str(content);
    }
    html.push_str(&format!(
        "</main>\n<footer><p>Made by stress {} from {}. Each number carries its place in the \
         result (<code>data-at</code>).</p></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        match source_count {
            1 => "one result".to_owned(),
            count => format!("{count} results"),
        }
    ));
    html
}
