//! `stress` executes worst-case blocks and their block-level access lists in every design, over the
//! same state on disk. This file carries out the command line and maps its outcome to an exit code.

#![expect(
    unreachable_pub,
    reason = "a program has no outside: `pub` marks the interface of a module"
)]

mod cli;
mod client;
mod describe;
mod figures;
mod gate;
mod io;
mod limit;
mod machine;
mod run;
mod send;
mod simulate;
mod sweep;
mod terminal;
mod worker;

use std::process::ExitCode;

use executor::process::allocations;

use terminal::{
    exit::{self, Code, Failure, WithExitCode},
    interrupt,
};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() -> ExitCode {
    let ended = try_main();
    // An interrupt now waits until all output is written.
    interrupt::hold_to_end();
    let delivered = terminal::delivered().with_exit_code(Code::Io);
    let code = match exit::with_side_work(ended, delivered, terminal::error) {
        Ok(code) => code,
        Err(failure) => {
            let text = failure.to_string();
            // A scenario's error is laid out already.
            let text = if text.starts_with("error") { text } else { format!("error: {text}") };
            terminal::error(&text);
            failure.code
        }
    };
    ExitCode::from(code as u8)
}

fn try_main() -> Result<Code, Failure> {
    // A child that must end with its parent starts as `stress`, and becomes its own program here.
    machine::child::exec_bound().with_exit_code(Code::Io)?;
    cli::check_first_word(std::env::args_os().skip(1))?;
    // A wrong value of the variable is an error before any work.
    run::prepare::short_device_time().with_exit_code(Code::Usage)?;
    let Some(cli) = cli::parse(&cli::move_quiet_to_end(std::env::args_os())) else {
        return Ok(Code::Fine);
    };
    interrupt::listen(terminal::error).with_exit_code(Code::Io)?;
    cli.run()
}
