//! `stress generate`: a scenario becomes a workload file.

use workload::file;

use crate::{
    cli::GenerateArgs,
    cmd::{run, scenarios},
    exit::{Code, Failure, OrExit},
    progress::Progress,
    terminal,
};

/// Generates a workload and writes it.
pub fn generate(args: &GenerateArgs) -> Result<Code, Failure> {
    let overrides = args.work.overrides().or_exit(Code::Usage)?;
    let scenario = scenarios::load(&args.scenario, &overrides)?;
    let progress = Progress::new(terminal::look());
    let workload = run::generate(&scenario, &progress)?;
    file::write(&args.output, &workload).or_exit(Code::Io)?;
    terminal::out(&format!(
        "{}: {} transactions, {} gas, digest {}\n",
        args.output.display(),
        workload.tx_count(),
        workload.gas_used(),
        workload.digest()
    ));
    Ok(Code::Fine)
}
