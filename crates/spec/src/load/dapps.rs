//! `dapps`: users of many DApps, each of which has a few resources that all of its users share.

use variant::named;

use super::kind::{Around, Kind};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::quantity::underscored;

named! {
    /// How many transactions a user has in a block.
    pub enum PerUser: "distribution of transactions per user" {
        /// Log-normal: exp(ln(mean) − σ²/2 + σZ) rounded, for a standard normal Z. Its mean is the
        /// mean.
        LogNormal = "log-normal",
        /// As in the published generator: exp(ln(mean) + σZ) rounded, at most ten times the mean,
        /// then one taken from or given to user after user until the sum is right. Most users have
        /// one transaction, and some many.
        Published = "published",
    }
}

/// Which transactions are with another DApp than their user's home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outside {
    /// Each with this probability of not being so: their number grows with the block.
    Home(f64),
    /// So many of each block, but half of it at most: as many DApps are connected by blocks of any size.
    Count(u64),
}

/// Conflict-heavy traffic: every transaction reads and writes a resource of a DApp.
#[derive(Debug, Clone, PartialEq)]
pub struct Dapps {
    /// DApps; 1 to 100,000.
    pub dapp_count: u64,
    /// Resources of each; all together at most 1,000,000.
    pub resource_count: u64,
    /// Which transactions are with another DApp than their user's home.
    pub outside: Outside,
    /// Standard deviation of a DApp's users, relative to their mean.
    pub deviation: f64,
    /// How many transactions a user has in a block.
    pub per_user: PerUser,
    /// Their mean.
    pub per_user_mean: u64,
    /// σ, the standard deviation of their logarithm.
    pub per_user_sigma: f64,
    /// Steps of arithmetic between reading and writing the resource; 0 to 100,000.
    pub work: u64,
}

const UNUSUAL: &str = "the most that is supported";
const DAPPS: Range =
    Range { least: 1, most: 100_000, below: "the fewest that can be used", above: UNUSUAL };
/// Resources are slots written out in the state's recipe: their number bounds its memory.
const RESOURCES_MAX: u64 = 1_000_000;
const MEAN: Range =
    Range { least: 1, most: 1_000, below: "less than a transaction a user", above: UNUSUAL };
const OUTSIDE: Range = Range { least: 0, most: 1_000_000, below: "", above: UNUSUAL };
const WORK: Range = Range { least: 0, most: 100_000, below: "", above: UNUSUAL };
/// Of the log-normal: beyond, the mean is that of a few users, and of no sample.
const SIGMA_MAX: f64 = 3.0;
/// The standard deviation of the published generator's logarithm, in means.
const PUBLISHED_SIGMA: f64 = 0.5;

const DEFAULT_DAPP_COUNT: u64 = 400;
const DEFAULT_RESOURCE_COUNT: u64 = 5;
const DEFAULT_HOME_SHARE: f64 = 0.999;
const DEFAULT_DEVIATION: f64 = 0.05;
const DEFAULT_MEAN: u64 = 5;
const DEFAULT_SIGMA: f64 = 1.0;
/// A transaction then uses about 74,000 gas, as those of mainnet do: `docs/scenario.md`.
const DEFAULT_WORK: u64 = 550;

pub(super) const KIND: Kind<Dapps> = Kind {
    name: "dapps",
    keys: &[
        "dapps",
        "resources",
        "home",
        "outside",
        "deviation",
        "per_user",
        "per_user_mean",
        "per_user_sigma",
        "work",
    ],
    read,
};

impl Dapps {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("dapps", underscored(self.dapp_count)),
            ("resources", underscored(self.resource_count)),
            match self.outside {
                Outside::Home(share) => ("home", format!("{share:?}")),
                Outside::Count(count) => ("outside", underscored(count)),
            },
            ("deviation", format!("{:?}", self.deviation)),
            ("per_user", format!("\"{}\"", self.per_user)),
            ("per_user_mean", underscored(self.per_user_mean)),
            ("per_user_sigma", format!("{:?}", self.per_user_sigma)),
            ("work", underscored(self.work)),
        ]
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<Dapps, Fault> {
    let dapp_count = fields.count("dapps", &DAPPS)?.unwrap_or(DEFAULT_DAPP_COUNT);
    let resources = Range {
        least: 1,
        most: RESOURCES_MAX / dapp_count,
        below: "the fewest that can be used",
        above: "1,000,000 resources of all DApps together",
    };
    let resource_count = fields.count("resources", &resources)?.unwrap_or(DEFAULT_RESOURCE_COUNT);
    let per_user_mean = fields.count("per_user_mean", &MEAN)?.unwrap_or(DEFAULT_MEAN);
    let per_user = fields.named("per_user")?.unwrap_or(PerUser::LogNormal);
    let (default_sigma, sigma_max) = match per_user {
        PerUser::LogNormal => (DEFAULT_SIGMA, SIGMA_MAX),
        PerUser::Published => {
            (PUBLISHED_SIGMA * per_user_mean as f64, PUBLISHED_SIGMA * MEAN.most as f64)
        }
    };
    Ok(Dapps {
        dapp_count,
        resource_count,
        outside: match (fields.share("home")?, fields.count("outside", &OUTSIDE)?) {
            (None, None) => Outside::Home(DEFAULT_HOME_SHARE),
            (Some(share), None) => Outside::Home(share),
            (None, Some(count)) => Outside::Count(count),
            _ => return Err(fields.exactly_one(["home", "outside"], Remedy::text("0.999"))),
        },
        deviation: fields.share("deviation")?.unwrap_or(DEFAULT_DEVIATION),
        per_user,
        per_user_mean,
        per_user_sigma: sigma(fields, sigma_max)?.unwrap_or(default_sigma),
        work: fields.count("work", &WORK)?.unwrap_or(DEFAULT_WORK),
    })
}

fn sigma(fields: &Fields<'_>, most: f64) -> Result<Option<f64>, Fault> {
    let sigma = fields.number("per_user_sigma")?;
    let Some(wrong) = sigma.filter(|sigma| !(0.0..=most).contains(sigma)) else { return Ok(sigma) };
    let rule = format!("{wrong} is not from 0 to {most}, the deviations of a logarithm that fit");
    let remedy = Remedy::bare(format!("{DEFAULT_SIGMA:?}")).and("a usual spread");
    Err(fields.fault("per_user_sigma", Misfit::new(rule, remedy)))
}
