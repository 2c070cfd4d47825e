//! Help of `stress gate` and `stress gate calibrate`: hides the options of a run that the verb
//! refuses. Options of a run that is compared with stored results have a heading of their own.

use clap::Arg;

/// Options of a run that every gate refuses.
const REFUSED: [&str; 5] = ["prepare", "cleanup", "save-baseline", "trace", "profile"];
/// Options of a run that is compared with stored results. A comparison of builds has no use for
/// them.
const BESIDE_STORED: [&str; 6] = ["samples", "budget", "databases", "keys", "whole", "wait"];
/// Heading of the options of `BESIDE_STORED` in the help.
const HEADING: &str = "The run beside stored results (only with --baseline)";

/// Returns an option in the form of the gate's help.
pub fn in_gate_help(option: Arg) -> Arg {
    match option.get_long() {
        Some(name) if REFUSED.contains(&name) => option.hide(true),
        Some(name) if BESIDE_STORED.contains(&name) => option.help_heading(HEADING),
        _ => option,
    }
}

/// Returns an option in the form of the help of `stress gate calibrate`, which compares builds and
/// has no metrics.
pub fn in_calibrate_help(option: Arg) -> Arg {
    let refused = [&REFUSED[..], &BESIDE_STORED, &["metrics"]].concat();
    let is_refused = option.get_long().is_some_and(|name| refused.contains(&name));
    if is_refused { option.hide(true) } else { option }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::{
        super::{GateArgs, calibrate::CalibrateArgs},
        *,
    };
    use crate::cli::args::RunArgs;

    fn gate() -> Command {
        GateArgs::augment_args(Command::new("gate"))
    }

    /// The options of a run, as a run has them.
    fn options() -> Vec<Arg> {
        let run = RunArgs::augment_args(Command::new("run"));
        run.get_arguments().filter(|option| option.get_long().is_some()).cloned().collect()
    }

    /// The option with this name, as the gate has it.
    fn of_gate(name: &str) -> Arg {
        let gate = gate();
        let found = gate.get_arguments().find(|option| option.get_long() == Some(name));
        found.unwrap_or_else(|| panic!("the gate has no --{name}")).clone()
    }

    /// Arguments of a gate with one option of a run and its value.
    fn asked(gate_words: &[&str], option: &Arg) -> GateArgs {
        let name = option.get_long().unwrap_or_default();
        let value = option.get_action().takes_values().then(|| {
            let names = option.get_possible_values();
            names.first().map_or_else(|| "1".to_owned(), |name| name.get_name().to_owned())
        });
        let words = [&["gate"][..], gate_words].concat().into_iter().map(str::to_owned);
        let words = words.chain([format!("--{name}")]).chain(value);
        let parsed = gate().try_get_matches_from(words);
        let parsed = parsed.unwrap_or_else(|error| panic!("--{name}: {error}"));
        GateArgs::from_arg_matches(&parsed).unwrap_or_else(|error| panic!("--{name}: {error}"))
    }

    #[test]
    fn an_option_that_every_gate_refuses_is_not_in_its_help_and_any_other_is() {
        let help = gate().render_long_help().to_string();
        for option in options() {
            let name = option.get_long().unwrap_or_default();
            let args = asked(&["--baseline", "x"], &option);
            let is_refused = args.run.refuse_extras("gate").is_err();
            assert_eq!(of_gate(name).is_hide_set(), is_refused, "--{name}");
            assert_eq!(!help.contains(&format!("--{name}")), is_refused, "--{name}: {help}");
        }
    }

    /// Whether an option is refused as one that a comparison of builds has no use for, whatever its
    /// value.
    fn is_refused_between_builds(args: &GateArgs) -> bool {
        let made = args.run.gate_work_input(Default::default());
        let error = made.err().map(|failure| failure.to_string()).unwrap_or_default();
        let refusals = ["is only for a gate with --baseline", "that no other process uses"];
        refusals.iter().any(|words| error.contains(words))
    }

    #[test]
    fn an_option_that_a_comparison_of_builds_refuses_says_that_it_is_for_stored_results() {
        let mut refused_count = 0;
        for option in options() {
            let name = option.get_long().unwrap_or_default();
            let args = asked(&["sload-storm", "--against", "x"], &option);
            let is_refused = is_refused_between_builds(&args);
            let is_set_apart = of_gate(name).get_help_heading() == Some(HEADING);
            assert!(is_set_apart || !is_refused, "--{name}");
            refused_count += usize::from(is_refused);
        }
        // Several databases are refused once the run is known.
        assert_eq!(refused_count, BESIDE_STORED.len() - 1);
    }

    #[test]
    fn an_option_that_calibrating_refuses_is_not_in_its_help() {
        let calibrate = CalibrateArgs::augment_args(Command::new("calibrate"));
        for option in options() {
            let name = option.get_long().unwrap_or_default();
            let args = asked(&["sload-storm", "--against", "x"], &option);
            let is_refused = is_refused_between_builds(&args)
                || args.run.refuse_extras("calibrate").is_err()
                || ["databases", "metrics"].contains(&name);
            let shown = calibrate.get_arguments().find(|shown| shown.get_long() == Some(name));
            let is_hidden = shown.is_some_and(Arg::is_hide_set);
            assert_eq!(is_hidden, is_refused, "--{name}");
        }
    }
}
