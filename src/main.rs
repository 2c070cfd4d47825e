//! `stress`: worst-case blocks and their block-level access lists, executed in every design
//! over the same state on disk. This file maps the command line to verbs and errors to exit
//! codes.

#![expect(
    unreachable_pub,
    reason = "a program has no outside: `pub` is what a module offers the rest"
)]

mod cells;
mod claims;
mod cli;
mod cmd;
mod counters;
mod description;
mod environment;
mod exit;
mod extras;
mod facts;
mod gate;
mod interrupt;
mod io;
mod node;
mod open;
mod plan;
mod profile;
mod progress;
mod sampling;
mod session;
mod sweep;
mod terminal;
mod trace;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use exit::{Code, Failure};

fn main() -> ExitCode {
    let code = match dispatch() {
        Ok(code) => code,
        Err(failure) => {
            let text = failure.to_string();
            // A scenario's error is laid out already.
            let text = if text.starts_with("error") { text } else { format!("error: {text}") };
            terminal::note(&text);
            failure.code
        }
    };
    ExitCode::from(code as u8)
}

fn dispatch() -> Result<Code, Failure> {
    let cli = Cli::parse();
    exit::OrExit::or_exit(interrupt::listen(), Code::Io)?;
    if cli.worker {
        return worker::serve();
    }
    match cli.command {
        None => cmd::run::run(&cli.run, std::env::args().collect()),
        Some(Command::List) => cmd::scenarios::list(),
        Some(Command::Show(args)) => cmd::scenarios::show(&args),
        Some(Command::Validate { file }) => cmd::scenarios::validate(&file),
        Some(Command::Describe(args)) => cmd::describe::describe(&args),
        Some(Command::New(args)) => cmd::new::new(&args),
        Some(Command::Schema) => cmd::new::schema(),
        Some(Command::Generate(args)) => cmd::generate::generate(&args),
        Some(Command::Compare(args)) => cmd::compare::compare(&args),
        Some(Command::Gate(args)) => cmd::gate::gate(&args, std::env::args().collect()),
        Some(Command::Calibrate(args)) => cmd::calibrate::calibrate(&args),
        Some(Command::Report(args)) => cmd::report::report(&args),
        Some(Command::Doctor(args)) => cmd::doctor::doctor(&args),
        Some(Command::Import(args)) => cmd::import::import(&args),
        Some(Command::State(args)) => cmd::state::state(&args),
        Some(Command::Completions { shell }) => cmd::help::completions(shell),
        Some(Command::Man { out }) => cmd::help::man(&out),
        Some(Command::Io(args)) => cmd::io::io(&args, std::env::args().collect()),
        Some(Command::Sweep(args)) => cmd::sweep::sweep(&args),
    }
}
