//! Where the CPU's time of a variant goes, as lines of the page: the functions that ran most
//! often, each with its share.

use result::ProfileFacts;

use super::{
    page::{INDENT, Page, Tone, pad_left},
    units,
};

/// Width of a share.
const SHARE_WIDTH: usize = 6;

/// The profile, if there is one.
pub(super) fn profile(page: &mut Page, profile: Option<&ProfileFacts>) {
    let Some(profile) = profile else { return };
    let text = format!(
        "{}: {} of {}; flame graph {}",
        profile.variant,
        units::things(profile.stack_count, "stack"),
        units::things(profile.sample_count, "more sample"),
        profile.flame_graph
    );
    page.labelled(Tone::Plain, "profile", &text);
    page.line(Tone::Faint, &line(["self %", "with %"], "function"));
    for frame in &profile.frames {
        let shares = [frame.self_share, frame.total_share].map(units::percent);
        page.line(Tone::Plain, &line(shares.each_ref().map(String::as_str), &frame.name));
    }
    page.indented(
        Tone::Faint,
        INDENT,
        "self: the function itself ran; with: it, or a function that it called",
    );
    page.gap();
}

fn line(shares: [&str; 2], name: &str) -> String {
    let [own, all] = shares.map(|share| pad_left(share, SHARE_WIDTH));
    format!("{}{own} {all} {name}", " ".repeat(INDENT))
}
