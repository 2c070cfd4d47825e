//! Sends a scenario's load to a live node (`stress send`). `work` generates the workload for the
//! node's rules, the crate `send` sends it, and `figures` turns its figures into a result. `input`
//! has the settings, `live` the progress and doubts, `profile` the node's CPU profile, and `url`
//! hides secrets of URLs.

mod figures;
mod input;
mod live;
mod profile;
pub mod url;
mod work;

use std::path::Path;

use result::send::{SendNode, SendResult, SendWork};
use send::{Funder, NodeFacts, Plan, SendError, Session, Settings};
use workload::Workload;

use crate::{
    figures::facts,
    machine::{self, environment},
    terminal::{Code, Failure, Progress, exit::fail, interrupt},
};

pub use input::{SendInput, pace};
pub use profile::ProfileInput;

use figures::LoadFacts;
use profile::Profiling;
use work::Work;

/// Sends the load, and makes its result. An interrupted load also has a result.
///
/// # Errors
/// Nothing could be sent.
pub fn send(input: &SendInput, progress: &Progress) -> Result<SendResult, Failure> {
    let started_unix_s = machine::unix_s();
    let environment = environment::probe(Path::new("."));
    let profile_file = input.profile.as_ref().map(|profile| profile.file(started_unix_s));
    let profile_file = profile_file.transpose()?;
    let funder = match &input.key_file {
        Some(path) => Funder::Secret(input::read_secret(path)?),
        None => Funder::Node,
    };
    // Finished transactions are kept at an interrupt. The process then ends by itself within a
    // second.
    let _hold = interrupt::hold();
    let stop = interrupt::flag();
    let session = Session::connect(input.settings.clone(), stop).map_err(failure)?;
    session.check(input.pace, stop).map_err(failure)?;
    let node = session.facts().clone();
    let Work { workload, mut plan } = work::generate(input, &node, progress)?;
    check_seed(input, &node)?;
    let stage = progress.stage("paying accounts and creating contracts", 0);
    let ready = session.setup(&mut plan, &funder, stop, &|done, total| stage.set(done, total));
    stage.finish();
    let ready = ready.map_err(failure)?;
    let setup = ready.facts();
    let profiling = input.profile.clone().zip(profile_file);
    let profiling = profiling.map(|(wanted, file)| Profiling::start(wanted.url, file));
    let view = live::LiveView::new(progress, plan.tx_count());
    let measured = session.drive(&plan, ready, input.pace, stop, &|at| view.show(at));
    interrupt::hold_to_end();
    progress.clear();
    let measured = measured.map_err(failure)?;
    let profile = profiling.map(|profiling| profiling.end());
    let environment = environment.at_end();
    let warnings = environment::warnings(&environment).iter().map(ToString::to_string).collect();
    let facts = LoadFacts {
        tool: facts::tool(&environment.build),
        command: input.command.clone(),
        started_unix_s,
        environment,
        node: node_facts(&input.settings, &node),
        work: work_facts(&workload, &plan),
        setup: figures::setup(setup),
    };
    let mut result = figures::result(facts, &measured, input.pace);
    result.profile = profile;
    result.warnings = warnings;
    result.warnings.extend(live::doubts(&result));
    result.warnings.extend(live::doubt_of_end(&measured, &input.settings));
    Ok(result)
}

/// Checks that nobody else can take the money of a load. The senders' secrets follow from the seed.
/// Chains of developer nodes are exempt.
///
/// # Errors
/// The seed is the scenario's own seed, which everybody knows.
fn check_seed(input: &SendInput, node: &NodeFacts) -> Result<(), Failure> {
    if node.is_developers || input.work.iter().any(|given| given.key == "seed") {
        return Ok(());
    }
    fail!(
        Code::Usage,
        "the secrets of the senders follow from the seed, and with the scenario's own anybody can \
         take their money on chain {}; give a seed that nobody guesses: --seed NUMBER, up to {}",
        node.chain_id,
        u64::MAX
    )
}

fn node_facts(settings: &Settings, node: &NodeFacts) -> SendNode {
    SendNode {
        url: url::name(settings.url.as_str()),
        transport: node.transport.name().to_owned(),
        version: node.version.clone(),
        chain_id: node.chain_id,
    }
}

fn work_facts(workload: &Workload, plan: &Plan) -> SendWork {
    SendWork {
        scenario: workload.scenario.clone(),
        seed: workload.seed,
        fork: workload.rules.to_string(),
        digest: workload.digest().to_string(),
        sender_count: plan.sender_count(),
        contract_count: plan.contract_count(),
    }
}

/// Adds the exit code to an error.
fn failure(error: SendError) -> Failure {
    let code = match &error {
        SendError::PublicChain { .. }
        | SendError::UnknownChain { .. }
        | SendError::OtherChain { .. }
        | SendError::NoFunder
        | SendError::PoorFunder { .. }
        | SendError::NoPoolStatus(_)
        | SendError::Plan(_) => Code::Usage,
        SendError::Stopped => Code::Interrupted,
        _ => Code::Io,
    };
    Failure { code, error: error.into() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use send::{NodeUrl, Pace, Transport};
    use spec::Override;

    use super::*;

    fn input(work: Vec<Override>) -> SendInput {
        let wait = Duration::from_secs(1);
        SendInput {
            scenario: "transfers".to_owned(),
            work,
            accounts: None,
            command: Vec::new(),
            settings: Settings {
                url: NodeUrl::new("http://127.0.0.1:9"),
                chain_id: None,
                timeout: wait,
                connection_count: 1,
                patience: wait,
                forgotten_after: wait,
                temporary_refusal_count_max: 1,
                confirmation_count: 0,
            },
            pace: Pace::InFlight(1),
            key_file: None,
            profile: None,
        }
    }

    #[test]
    fn a_chain_that_is_not_of_developers_asks_for_a_seed_of_the_users_own() {
        let node = |is_developers| NodeFacts {
            version: None,
            chain_id: 560_048,
            transport: Transport::Http,
            has_lists: false,
            is_developers,
        };
        let own = input(vec![Override::new("seed", "7", "--seed 7")]);
        assert!(check_seed(&own, &node(false)).is_ok());
        assert!(check_seed(&input(Vec::new()), &node(true)).is_ok());
        let failure = check_seed(&input(Vec::new()), &node(false)).unwrap_err();
        assert_eq!(failure.code, Code::Usage);
        assert!(failure.to_string().contains("--seed NUMBER"), "{failure}");
    }

    #[test]
    fn a_fault_of_the_program_has_the_exit_code_of_run_time_errors() {
        let fault = SendError::Fault { task: "a call of the node", why: "it panicked".to_owned() };
        assert_eq!(failure(fault).code, Code::Io);
    }
}
