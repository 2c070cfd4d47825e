//! `stress send`: sends a scenario's load to a live node over JSON-RPC, and prints the result.

use std::{path::PathBuf, time::Duration};

use clap::{
    Args,
    builder::{StringValueParser, TypedValueParser},
};
use result::send::SendResult;
use send::{NodeUrl, Settings};

use crate::{
    cli::args::{ResultArgs, WorkArgs, typed_words},
    send::{self as sending, ProfileInput, SendInput},
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail},
};

const EXAMPLES: &str = "\
Examples:
  stress send transfers --url http://127.0.0.1:8545 --rate 1000
  stress send erc20 --url ws://127.0.0.1:8546 --accounts 500 --in-flight 2000
  stress send dapps --url http://127.0.0.1:8545 --pool-depth 4000 --transactions 50k
  stress send transfers --url https://node.example --chain-id 560048 --key-file key.hex --rate 5 \\
                        --seed 13371845609257304491
  stress send transfers --url http://127.0.0.1:8545 --rate 500 --out results/ \\
                        --profile http://127.0.0.1:6060/debug/pprof/profile?seconds=30

Scenarios whose state is plain contracts can be sent: transfers, erc20, dapps, one-slot, chains,
non-conflicting, erc721, nft-mint, airdrop, compute, logs.

Exit codes: 0 all transactions are in blocks and succeeded, 1 one is not or reverted, 2 usage, 6 no
answer from the node or a fault of stress, 130 interrupted (what was sent so far is kept). More:
docs/send.md";

/// Time that an accepted transaction may be in no block before the node is asked for it.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5);
/// Maximal number of refusals in a row that time may remedy, before a transaction counts as failed.
/// With the pauses between them they take about half a minute.
const TEMPORARY_REFUSAL_COUNT_MAX: u32 = 32;

/// Arguments of `stress send`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SendArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(value_name = "NAME|FILE")]
    pub scenario: String,
    /// The node: http://, https://, ws:// or wss://
    #[arg(long, value_name = "URL", env = "STRESS_RPC_URL", hide_env_values = true, value_parser = node_url())]
    pub url: NodeUrl,
    /// Accounts that send [default: 1000; fewer where each has slots in a contract]
    #[arg(long, value_name = "COUNT")]
    pub accounts: Option<String>,
    /// Transactions a second, whatever the node does; a late one counts its delay [default: 100]
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["in_flight", "pool_depth"])]
    pub rate: Option<String>,
    /// Instead of a rate: at most so many transactions that are sent and in no block
    #[arg(long, value_name = "COUNT", conflicts_with = "pool_depth")]
    pub in_flight: Option<u64>,
    /// Instead of a rate: enough to keep about so many transactions in the node's pool
    /// (`txpool_status`)
    #[arg(long, value_name = "COUNT")]
    pub pool_depth: Option<u64>,
    /// Calls under way at a time
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    pub connections: usize,
    /// How long the node may take for an answer
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// How long nothing may happen before transactions that are in no block are given up
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub patience: String,
    /// Number of blocks to wait for above the last block of the load, in case a reorganisation
    /// removes that block; 0 for none
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub confirmations: u64,
    /// The chain that is meant; needed unless it is one of developer nodes (1337, 13370, 31337)
    #[arg(long, value_name = "NUMBER")]
    pub chain_id: Option<u64>,
    /// File with the secret key of the account that pays [default: the node's own first account]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Fetch a CPU profile of the node during the load (node-START.pprof, in DIR of --out):
    /// http://HOST:PORT/debug/pprof/profile?seconds=10
    #[arg(long, value_name = "URL", value_parser = node_url())]
    pub profile: Option<NodeUrl>,
    /// The workload
    #[command(flatten)]
    pub work: WorkArgs,
    /// Where the result goes
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Parses a URL without a check. The check comes later, as an error of a parser would show the URL
/// with its secrets.
fn node_url() -> impl TypedValueParser<Value = NodeUrl> {
    StringValueParser::new().map(|text| NodeUrl::new(&text))
}

impl SendArgs {
    /// Returns these arguments as plain values.
    fn input(&self) -> Result<SendInput, Failure> {
        if self.url.transport().is_none() || !sending::url::has_host(&self.url) {
            let scheme = self.url.as_str().split_once("://").map_or("none", |(scheme, _)| scheme);
            fail!(
                Code::Usage,
                "--url is no URL of a node: its scheme is {scheme}; give http://HOST:PORT, \
                 https://HOST/PATH, ws://HOST:PORT or wss://HOST/PATH"
            );
        }
        if self.connections == 0 {
            fail!(Code::Usage, "--connections 0: nothing would be sent; give 1 or more");
        }
        let dir = self.result.out.clone().unwrap_or_default();
        let profile = self.profile.clone().map(|url| ProfileInput { url, dir });
        Ok(SendInput {
            scenario: self.scenario.clone(),
            work: self.work.overrides().with_exit_code(Code::Usage)?,
            accounts: self.accounts.clone(),
            command: sending::url::without_secrets(&typed_words()),
            settings: Settings {
                url: self.url.clone(),
                chain_id: self.chain_id,
                timeout: time("--timeout", &self.timeout)?,
                connection_count: self.connections,
                patience: time("--patience", &self.patience)?,
                forgotten_after: FORGOTTEN_AFTER,
                temporary_refusal_count_max: TEMPORARY_REFUSAL_COUNT_MAX,
                confirmation_count: self.confirmations,
            },
            pace: sending::pace(self.rate.as_deref(), self.in_flight, self.pool_depth)?,
            key_file: self.key_file.clone(),
            profile,
        })
    }
}

fn time(option: &str, text: &str) -> Result<Duration, Failure> {
    spec::duration(option, text).with_exit_code(Code::Usage)
}

/// Sends the load, and shows its result.
pub fn send(args: &SendArgs) -> Result<Code, Failure> {
    let input = args.input()?;
    let mut out = args.result.json_file("send")?;
    let progress = Progress::new(args.result.format.progress_form());
    let result = sending::send(&input, &progress)?;
    let json = report::json(&result).with_exit_code(Code::Io)?;
    args.result.format.print(&result, report::send_table)?;
    if let Some(out) = &mut out {
        let path = out.write(result.started_unix_s, &json).with_exit_code(Code::Io)?;
        terminal::note(&format!("wrote {}", path.display()));
    }
    Ok(code(&result))
}

/// Returns the exit code: fine if all planned transactions are in blocks and succeeded.
const fn code(result: &SendResult) -> Code {
    match (result.interrupted, result.counts.included_count == result.counts.planned_count) {
        (true, _) => Code::Interrupted,
        (false, true) => Code::Fine,
        (false, false) => Code::Claim,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: SendArgs,
    }

    #[test]
    fn secrets_of_urls_are_not_shown_while_debugging() {
        let words = [
            "send",
            "transfers",
            "--url",
            "wss://me:PASSWORD@node.example/v3/PROJECTKEY",
            "--profile",
            "http://node.example:6060/debug?token=TOKENTOKEN",
        ];
        let Line { args } = Line::parse_from(words);
        let input = args.input().unwrap();
        let shown = format!("{args:?} {input:?}");
        assert!(shown.contains("wss://node.example"), "{shown}");
        for secret in ["PASSWORD", "PROJECTKEY", "TOKEN"] {
            assert!(!shown.contains(secret), "{secret} is in {shown}");
        }
    }

    #[test]
    fn an_error_of_a_url_does_not_show_it() {
        for url in ["ftp://node/SECRETKEY", "http://", "SECRETKEY"] {
            let Line { args } = Line::parse_from(["send", "transfers", "--url", url]);
            let failure = args.input().unwrap_err();
            assert_eq!(failure.code, Code::Usage);
            assert!(!failure.to_string().contains("SECRETKEY"), "{failure}");
        }
    }
}
