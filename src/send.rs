//! A scenario's load on a live node: the workload is generated for the node's rules, sent by the crate
//! `send`, and made a result. Knows no argument of the command line.

mod figures;
mod input;
mod key;
mod live;
mod profile;
mod url;
mod work;

use std::path::Path;

use anyhow::anyhow;
use result::send::{SendNode, SendResult, SendWork};
use send::{Funder, NodeFacts, Pace, Plan, SendError, Session, Settings};
use workload::Workload;

use crate::{
    environment,
    exit::{Code, Failure, OrExit},
    facts, interrupt, now,
    progress::Progress,
};

pub use input::{ProfileInput, SendInput};

use figures::LoadFacts;
use profile::Profiling;
use work::Work;

/// Sends the load, and makes its result. An interrupted load has one, too.
///
/// # Errors
/// Nothing could be sent.
pub fn send(input: &SendInput, progress: &Progress) -> Result<SendResult, Failure> {
    let started_unix_s = now::unix_s();
    let environment = environment::probe(Path::new("."));
    let funder = match &input.key_file {
        Some(path) => Funder::Secret(key::read(path)?),
        None => Funder::Node,
    };
    // Finished transactions are kept: the process ends by itself within a second.
    let _hold = interrupt::hold();
    let stop = interrupt::flag();
    let session = Session::connect(input.settings.clone(), stop).map_err(failure)?;
    session.check(input.pace, stop).map_err(failure)?;
    let node = session.facts().clone();
    let Work { workload, mut plan } = work::of(input, &node, progress)?;
    let stage = progress.stage("paying accounts and creating contracts", 0);
    let ready = session.setup(&mut plan, &funder, stop, &|done, total| stage.set(done, total));
    stage.finish();
    let ready = ready.map_err(failure)?;
    let setup = ready.facts();
    let profiling = input.profile.clone().map(Profiling::start);
    let view = live::LiveView::new(progress, plan.tx_count());
    let measured = session.drive(&plan, ready, input.pace, stop, &|at| view.show(at));
    interrupt::finishing();
    progress.clear();
    let measured = measured.map_err(failure)?;
    let profile = profiling.map(|profiling| profiling.end());
    let environment = environment.at_end();
    let warnings = environment::warnings(&environment).iter().map(ToString::to_string).collect();
    let facts = LoadFacts {
        tool: facts::tool(&environment.build),
        command: url::without_secrets(&input.command),
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
    Ok(result)
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
        fork: workload.fork.name().to_owned(),
        digest: workload.digest().to_string(),
        sender_count: plan.sender_count(),
        contract_count: plan.contract_count(),
    }
}

/// The exit code of an error.
fn failure(error: SendError) -> Failure {
    let code = match &error {
        SendError::PublicChain { .. }
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

/// The pace of the options, of which one at most is given.
///
/// # Errors
/// A rate that is none.
pub fn pace(
    rate: Option<&str>,
    in_flight: Option<u64>,
    pool_depth: Option<u64>,
) -> Result<Pace, Failure> {
    /// Transactions a second where nothing is said.
    const DEFAULT_RATE: f64 = 100.0;
    let positive = |option: &str, count: u64, pace: fn(u64) -> Pace| match count {
        0 => Err(anyhow!("{option} 0: nothing would be sent; give 1 or more")).or_exit(Code::Usage),
        count => Ok(pace(count)),
    };
    match (rate, in_flight, pool_depth) {
        (_, Some(count), _) => positive("--in-flight", count, Pace::InFlight),
        (_, _, Some(count)) => positive("--pool-depth", count, Pace::PoolDepth),
        (None, None, None) => Ok(Pace::Rate(DEFAULT_RATE)),
        (Some(text), None, None) => {
            let rate = text.strip_suffix("/s").unwrap_or(text).parse::<f64>();
            let rate = rate.ok().filter(|rate| rate.is_finite() && (0.001..=1e6).contains(rate));
            let wrong = || {
                anyhow!(
                    "--rate {text}: give transactions a second, 0.001 to 1000000 (500 or 500/s)"
                )
            };
            rate.map(Pace::Rate).ok_or_else(wrong).or_exit(Code::Usage)
        }
    }
}
