//! The command line of `stress describe`.

use std::path::PathBuf;

use clap::Args;

use super::WorkArgs;

const DESCRIBE_EXAMPLES: &str = "\
Examples:
  stress describe one-slot --gas 100M
  stress describe my.toml --set block.order=phases --svg my.svg
  stress describe --workload block.workload --json
  stress describe --table > table.md            every shipped scenario, in small, with its rates

docs/describe.md says what the figures mean.";

/// Arguments of `stress describe`.
#[derive(Debug, Args)]
#[command(after_help = DESCRIBE_EXAMPLES)]
pub struct DescribeArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(
        value_name = "NAME|FILE",
        required_unless_present_any = ["workload", "table"],
        conflicts_with_all = ["workload", "table"]
    )]
    pub scenario: Option<String>,
    /// A workload file that `stress generate` or `stress import` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub workload: Option<PathBuf>,
    /// All shipped scenarios in Markdown: gas and list of an operation, and rates, measured now;
    /// 30M gas, 200k slots and the memory store where nothing else is said
    #[arg(long, conflicts_with_all = ["json", "svg", "threads"])]
    pub table: bool,
    /// Numbers of threads that the ideal speed-up is given for
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_values_t = [2, 4, 8, 16, 64],
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    pub threads: Vec<u32>,
    /// Print all figures as JSON
    #[arg(long)]
    pub json: bool,
    /// Also write the components of the conflict graph as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// What the workload is
    #[command(flatten)]
    pub work: WorkArgs,
}
