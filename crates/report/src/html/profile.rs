//! Profiles: where the CPU's time went, function by function, and where the flame graph lies.

use result::{ProfileFacts, RunResult};

use super::{
    data::{Report, Source},
    figure::{Part, figure},
    markup::{self, Section, count, esc, percent},
};

/// The part on profiles; `None` where no result has one.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let sound = report.sources.iter().filter(|source| source.is_sound);
    let profiles: Vec<_> = sound.filter_map(profiled).collect();
    if profiles.is_empty() {
        return None;
    }
    Some(Section {
        id: "profile",
        title: "Where the CPU’s time goes",
        lede: "Functions by the share of the stacks that were seen in extra samples, which count \
               for no other figure. <em>Self</em>: the function itself was running. <em>With \
               callees</em>: it, or what it called. Inlined functions count for those that they \
               are inlined into; waiting takes no CPU and is not seen."
            .to_owned(),
        body: profiles.iter().map(|profiled| source_html(report, profiled)).collect(),
        results: profiles.iter().map(|profiled| profiled.source.index).collect(),
    })
}

/// A result with its profile.
struct Profiled<'s, 'a> {
    source: &'s Source<'a>,
    run: Part<'a, RunResult>,
    profile: &'a ProfileFacts,
}

fn profiled<'s, 'a>(source: &'s Source<'a>) -> Option<Profiled<'s, 'a>> {
    let run = source.run()?;
    let profile = run.value.profile.as_ref()?;
    Some(Profiled { source, run, profile })
}

fn source_html(report: &Report<'_>, of: &Profiled<'_, '_>) -> String {
    let Profiled { source, run, profile } = of;
    let label = report.label(source, ": ");
    let graph =
        format!(" Flame graph: <code>{}</code>, beside the result.", esc(&profile.flame_graph));
    let caption = format!(
        "<p class=\"lede\">{label}<code>{}</code>, {} stacks in {} samples.{graph}</p>",
        esc(&profile.variant),
        count(figure!(run, profile?.stack_count)),
        count(figure!(run, profile?.sample_count))
    );
    let rows = profile.frames.iter().enumerate().map(|(index, frame)| {
        vec![
            format!("<code>{}</code>", esc(&frame.name)),
            percent(figure!(run, profile?.frames[index].self_share)),
            percent(figure!(run, profile?.frames[index].total_share)),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let heads = ["Function", "Self", "With callees"];
    format!("{caption}{}", markup::table("Functions by share of the CPU’s time", &heads, &rows))
}
