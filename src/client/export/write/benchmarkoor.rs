//! Writes the stateful form of benchmarkoor: text files with a JSON-RPC call in each line. The
//! `pre_run_steps` run before all tests: they send the blocks before the last block. A test sends
//! one sibling of the last block, and has one file in the folder `testing`.

use std::{io::Write, num::NonZeroU64};

use generator::export::{self, Chain};

use super::directory::{Directory, GROWTH};
use crate::{client::start_file::is_plain, terminal::Failure};

const FOLDER: &str = "benchmarkoor";
const CONFIG: &str = "benchmarkoor.yaml";

/// Writes the steps and the tests, and a configuration that names them.
pub(super) fn write(
    dir: &mut Directory<'_>,
    chain: &Chain,
    sibling_count: NonZeroU64,
) -> Result<(), Failure> {
    let Some((last, before)) = chain.blocks.split_last() else { return Ok(()) };
    let mut steps = Vec::new();
    if chain.grown.is_some() {
        steps.push(GROWTH.to_owned());
    }
    if !before.is_empty() {
        let blocks = format!("{FOLDER}/pre-run/blocks.txt");
        dir.file(&blocks, |out| {
            // A block is two calls with ids of their own.
            let mut calls = (1..).step_by(2).zip(before);
            calls.try_for_each(|(id, block)| export::payload(block, id, out))
        })?;
        steps.push(blocks);
    }
    let name = plain(&chain.scenario);
    for number in 1..=sibling_count.get() {
        // The block itself is the last of its siblings, as in payloads.txt.
        let sibling = last.sibling(sibling_count.get() - number);
        let test = format!("{FOLDER}/testing/{name}/sibling-{number:05}.txt");
        dir.file(&test, |out| export::payload(&sibling, 1, out))?;
    }
    dir.file(CONFIG, |out| Ok(out.write_all(config(&name, &steps).as_bytes())?))
}

/// Turns a scenario's name into a name for a folder and a suite.
fn plain(scenario: &str) -> String {
    let plain: String = scenario.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    if plain.trim_matches('.').is_empty() { "workload".to_owned() } else { plain }
}

/// Returns the configuration. It asks for no rollback, as siblings need none.
fn config(name: &str, steps: &[String]) -> String {
    let steps: String = steps.iter().map(|step| format!("\n            - {step}")).collect();
    let steps = if steps.is_empty() { " []".to_owned() } else { steps };
    format!(
        "# Written by stress export. Run benchmarkoor in this directory, and add other clients.\n\
         runner:\n  \
           benchmark:\n    \
             results_dir: ./results\n    \
             tests:\n      \
               metadata:\n        \
                 labels:\n          \
                   name: {name}\n      \
               source:\n        \
                 local:\n          \
                   base_dir: .\n          \
                   pre_run_steps:{steps}\n          \
                   steps:\n            \
                     test:\n              \
                       - {FOLDER}/testing/*/*.txt\n  \
           client:\n    \
             config:\n      \
               rollback_strategy: none\n      \
               genesis:\n        \
                 geth: ./genesis.json\n  \
           instances:\n    \
             - id: geth\n      \
               client: geth\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_its_steps_and_is_indented_by_its_keys() {
        let text = config("storm", &["grow.txt".to_owned(), "a/b.txt".to_owned()]);
        for wanted in [
            "\n          pre_run_steps:\n            - grow.txt\n            - a/b.txt\n          steps:\n",
            "\n            test:\n              - benchmarkoor/testing/*/*.txt\n  client:\n    config:\n",
        ] {
            assert!(text.contains(wanted), "{wanted:?} is not in {text}");
        }
        assert!(text.contains("\n          base_dir: .\n"), "{text}");
        assert!(config("storm", &[]).contains("pre_run_steps: []\n"));
        assert!(text.ends_with("  instances:\n    - id: geth\n      client: geth\n"), "{text}");
    }

    #[test]
    fn names_of_scenarios_become_names_of_folders() {
        assert_eq!(plain("sload-storm"), "sload-storm");
        assert_eq!(plain("a b/c"), "a-b-c");
        assert_eq!(plain(".."), "workload");
    }
}
