//! `dapps`: users of many DApps. All users of a DApp share its few resources.

use variant::named;

use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Checked, Keyed, Keys, LEFT_OUT, float};
use crate::quantity::underscored;

named! {
    /// Distribution of the number of a user's transactions in a block.
    #[derive(Default)]
    pub enum PerUser: "distribution of transactions per user" {
        /// Log-normal: exp(ln(mean) − σ²/2 + σZ) rounded, for a standard normal Z. The mean of this
        /// distribution is the given mean.
        #[default]
        LogNormal = "log-normal",
        /// Distribution of the published generator: exp(ln(mean) + σZ) rounded, at most ten times
        /// the mean. Then users in turn get or lose one transaction until the sum is right. Most
        /// users have one transaction, and some have many.
        Published = "published",
    }
}

/// Transactions with a DApp other than their user's home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outside {
    /// Probability that a transaction stays with its user's home DApp. The number of other
    /// transactions grows with the block.
    Home(f64),
    /// Number of transactions outside home in each block, at most half of the block. So the number
    /// of connected DApps does not depend on the block's size.
    Count(u64),
}

impl Default for Outside {
    fn default() -> Self {
        Self::Home(DEFAULT_HOME_SHARE)
    }
}

/// Conflict-heavy traffic: every transaction reads and writes a resource of a DApp.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dapps {
    /// Number of DApps; 1 to 100,000.
    pub dapp_count: u64,
    /// Number of resources of each DApp; at most 1,000,000 in all.
    pub resource_count: u64,
    /// Transactions with a DApp other than their user's home.
    pub outside: Outside,
    /// Standard deviation of the number of a DApp's users, relative to its mean.
    pub deviation: f64,
    /// Distribution of the number of a user's transactions in a block.
    pub per_user: PerUser,
    /// Mean number of a user's transactions in a block; 1 to 1,000.
    pub per_user_mean: u64,
    /// σ, the standard deviation of the logarithm of that number.
    pub per_user_sigma: f64,
    /// Number of arithmetic steps between reading and writing the resource; 0 to 100,000.
    pub work: u64,
}

const DAPPS: Range = Range::supported(1, 100_000, "the fewest that can be used");
/// Resources are explicit slots in the state's recipe: their number bounds the recipe's memory.
const RESOURCES_MAX: u64 = 1_000_000;
const MEAN: Range = Range::supported(1, 1_000, "less than a transaction a user");
const OUTSIDE: Range = Range::supported(0, 1_000_000, "");
const WORK: Range = Range::supported(0, 100_000, "");
/// Largest σ of the log-normal distribution. Above it, a few users dominate the mean, and no block
/// shows that mean.
const SIGMA_MAX: f64 = 3.0;
/// Standard deviation of the logarithm in the published generator, as a multiple of the mean.
const PUBLISHED_SIGMA: f64 = 0.5;

const DEFAULT_HOME_SHARE: f64 = 0.999;
const DEFAULT_SIGMA: f64 = 1.0;
/// With this work, a transaction uses about 74,000 gas, like a transaction of mainnet
/// (`docs/scenario.md`).
const DEFAULT_WORK: u64 = 550;

impl Keyed for Dapps {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.count("dapps", &mut self.dapp_count, &DAPPS, 400)?;
        let resources = Range {
            least: 1,
            most: RESOURCES_MAX / self.dapp_count.max(1),
            below: "the fewest that can be used",
            above: "1,000,000 resources of all DApps together",
        };
        keys.count("resources", &mut self.resource_count, &resources, 5)?;
        match (keys.fields(), self.outside) {
            (Some(fields), _) => self.outside = outside(fields)?,
            (None, Outside::Home(share)) => {
                keys.write("home", Ok(float(share)));
                keys.write("outside", Err(LEFT_OUT));
            }
            (None, Outside::Count(count)) => {
                keys.write("home", Err(LEFT_OUT));
                keys.write("outside", Ok(underscored(count)));
            }
        }
        keys.share("deviation", &mut self.deviation, 0.05)?;
        keys.named("per_user", &mut self.per_user)?;
        keys.count("per_user_mean", &mut self.per_user_mean, &MEAN, 5)?;
        let (usual, most) = match self.per_user {
            PerUser::LogNormal => (DEFAULT_SIGMA, SIGMA_MAX),
            PerUser::Published => {
                (PUBLISHED_SIGMA * self.per_user_mean as f64, PUBLISHED_SIGMA * MEAN.most as f64)
            }
        };
        match keys.fields() {
            Some(fields) => self.per_user_sigma = sigma(fields, most)?.unwrap_or(usual),
            None => keys.write("per_user_sigma", Ok(float(self.per_user_sigma))),
        }
        keys.count("work", &mut self.work, &WORK, DEFAULT_WORK)
    }
}

fn outside(fields: &Fields<'_>) -> Result<Outside, Fault> {
    match (fields.share("home")?, fields.count("outside", &OUTSIDE)?) {
        (None, None) => Ok(Outside::default()),
        (Some(share), None) => Ok(Outside::Home(share)),
        (None, Some(count)) => Ok(Outside::Count(count)),
        _ => Err(fields.exactly_one(&["home", "outside"], Remedy::text("0.999"))),
    }
}

fn sigma(fields: &Fields<'_>, most: f64) -> Result<Option<f64>, Fault> {
    let sigma = fields.number("per_user_sigma")?;
    let Some(wrong) = sigma.filter(|sigma| !(0.0..=most).contains(sigma)) else { return Ok(sigma) };
    let rule = format!("{wrong} is not from 0 to {most}, the deviations of a logarithm that fit");
    let remedy = Remedy::bare(format!("{DEFAULT_SIGMA:?}")).and("a usual spread");
    Err(fields.refusal("per_user_sigma", rule, remedy))
}
