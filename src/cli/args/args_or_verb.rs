//! The `clap` type of a verb that has arguments of its own and verbs below it. An example is the
//! gate, which has `calibrate`.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

/// A verb's own arguments, or one of the verbs below it.
#[derive(Debug)]
pub enum ArgsOrVerb<A, V> {
    /// The verb's own arguments.
    Args(A),
    /// A verb below it.
    Verb(V),
}

impl<A: Args, V: Subcommand> FromArgMatches for ArgsOrVerb<A, V> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        match matches.subcommand() {
            Some(_) => V::from_arg_matches(matches).map(Self::Verb),
            None => A::from_arg_matches(matches).map(Self::Args),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<A: Args, V: Subcommand> Args for ArgsOrVerb<A, V> {
    fn augment_args(line: Command) -> Command {
        A::augment_args(V::augment_subcommands(line))
            .args_conflicts_with_subcommands(true)
            .subcommand_negates_reqs(true)
    }

    fn augment_args_for_update(line: Command) -> Command {
        Self::augment_args(line)
    }
}
