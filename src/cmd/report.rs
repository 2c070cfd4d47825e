//! `stress report`: results as a page, a summary, a table, or figures for other tools.

use std::path::Path;

use anyhow::anyhow;

use report::{WholeFile, formats, html};
use result::stored::Stored;

use crate::{
    cli::{ReportArgs, ReportFormat},
    exit::{Code, Failure, OrExit},
    terminal,
};

/// Reads the results and writes what was asked for. A result whose designs disagree is in it,
/// without a figure, and ends the program with its code.
pub fn report(args: &ReportArgs) -> Result<Code, Failure> {
    let format = format(args)?;
    let at = |path: &Path| WholeFile::at(path, "--out");
    let file = args.out.as_deref().map(at).transpose().or_exit(Code::Io)?;
    let mut results = Vec::new();
    for path in &args.results {
        results.extend(Stored::read_all(path).or_exit(Code::Io)?);
    }
    let text = match format {
        ReportFormat::Html => html::page(&results),
        ReportFormat::Markdown => formats::markdown(&results),
        ReportFormat::Csv => formats::csv(&results),
        ReportFormat::BiggerIsBetter => formats::benchmark(&results, formats::Better::Bigger),
        ReportFormat::SmallerIsBetter => formats::benchmark(&results, formats::Better::Smaller),
    };
    match file {
        Some(file) => {
            let path = file.write(|out| out.write_all(text.as_bytes())).or_exit(Code::Io)?;
            terminal::note(&format!("wrote {}", path.display()));
        }
        None => terminal::out(&text),
    }
    let disagrees = results.iter().any(|stored| stored.agrees() == Some(false));
    Ok(if disagrees { Code::Disagree } else { Code::Fine })
}

/// What `--format` says, or else the ending of `--out`.
fn format(args: &ReportArgs) -> Result<ReportFormat, Failure> {
    let ending = args.out.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
    match (args.format, ending, &args.out) {
        (Some(format), _, _) => Ok(format),
        (None, Some("html" | "htm"), _) => Ok(ReportFormat::Html),
        (None, Some("md"), _) | (None, None, None) => Ok(ReportFormat::Markdown),
        (None, Some("csv"), _) => Ok(ReportFormat::Csv),
        (None, _, _) => {
            let path = args.out.as_deref().unwrap_or(Path::new("")).display();
            let error = anyhow!(
                "--out {path}: its ending does not say what to write; .html, .md and .csv do, for \
                 JSON give --format bigger-is-better or --format smaller-is-better"
            );
            Err(Failure { code: Code::Usage, error })
        }
    }
}
