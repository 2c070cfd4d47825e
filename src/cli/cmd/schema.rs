//! `stress show schema`: prints or writes the JSON Schemas of scenarios and of each kind of result
//! file.

use std::path::PathBuf;

use clap::{Args, builder::PossibleValuesParser};
use result::FileKind;

use crate::{
    cli::args::ForceArgs,
    terminal::{self, Code, Failure, WithExitCode},
};

/// The schema of scenarios, which users write. All other schemas are of files that the program
/// writes.
const SCENARIO: &str = "scenario";

/// Arguments of `stress show schema`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress show schema > scenario.schema.json       for editors
  stress show schema result                       for programs that read results
  stress show schema --out docs/schemas --force   all of them: NAME.schema.json

Each file but a scenario has a key `schema`: stress.NAME/VERSION, NAME as in
the list of kinds. docs/result.md says more.")]
pub struct SchemaArgs {
    /// Kind of file whose schema is printed
    #[arg(value_name = "NAME", default_value = SCENARIO, value_parser = names())]
    pub name: String,
    /// Write all schemas into this directory, which is made where it is missing
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    pub out: Option<PathBuf>,
    /// Whether its files are replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

fn names() -> PossibleValuesParser {
    let files = FileKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new([SCENARIO].into_iter().chain(files))
}

/// Prints a schema, or writes all of them.
pub fn schema(args: &SchemaArgs) -> Result<Code, Failure> {
    let Some(dir) = &args.out else {
        let kind = FileKind::ALL.iter().find(|kind| kind.name() == args.name);
        terminal::out(&text(kind.copied())?);
        return Ok(Code::Fine);
    };
    let of_files = FileKind::ALL.iter().map(|kind| (kind.name(), Some(*kind)));
    let schemas = [(SCENARIO, None)].into_iter().chain(of_files);
    let schemas = schemas
        .map(|(name, kind)| Ok((format!("{name}.schema.json").into(), text(kind)?.into_bytes())));
    let schemas = schemas.collect::<Result<Vec<_>, Failure>>()?;
    args.force.write_all(dir, &schemas, || {
        format!("cannot write schemas to {}, named by --out", dir.display())
    })?;
    terminal::note(&format!("wrote {} schemas to {}", schemas.len(), dir.display()));
    Ok(Code::Fine)
}

/// Returns the schema of a kind of file; without a kind, that of scenarios.
fn text(kind: Option<FileKind>) -> Result<String, Failure> {
    match kind {
        Some(kind) => result::json(&result::json_schema(kind)).with_exit_code(Code::Io),
        None => Ok(spec::json_schema()),
    }
}
