//! Prepares the chain for a load, before the driving task sends it. One account of the plan, the
//! maker, pays the senders and creates the contracts. If the maker's balance is too small, the
//! node's first account or the account of the user's key pays the maker. Senders that have enough
//! money from an earlier load are not paid again.

use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, Bytes, U256};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    account::{Content, Signed, TxSigner},
    codes,
    error::{CallError, ErrorKind, SendError},
    fees::Fees,
    node::{Node, Receipt},
    plan::{Plan, TX_GAS_MAX, Target},
    settings::{Funder, NodeFacts},
};

mod budget;

use budget::Budget;

/// Number of accounts that one transaction pays.
const PAYMENTS_PER_TX: usize = 64;
/// Upper bound of the gas of a payment to a new account on Osaka. It has 25,000 for the account,
/// 9,000 for the value, and the payment's loop and bytes in the init code.
const PAYMENT_GAS: u64 = 36_000;
/// Upper bound of the gas of a transaction that pays senders, beside its payments. It creates a
/// contract without code.
const CREATION_GAS: u64 = 60_000;
/// Gas that the maker must be able to pay, as a multiple of the setup's gas on Osaka: later forks
/// price created state higher (EIP-8037). Unused money stays with the maker for the next load.
const GAS_MULTIPLE: u64 = 10;
/// Funds of a paid sender, as a multiple of the highest cost of its transactions. The fees that
/// they offer may rise with the base fee.
const FUNDS_MULTIPLE: u64 = 2;
/// Maximum of this multiple if the account of a developer node pays, whose money is worthless. With
/// these funds, senders can still pay the base fee after about eighty full blocks. Their first
/// offer is ten times the base fee, and 1.125 ^ 80 is about 10 · 1,024 (EIP-1559).
const OWN_FUNDS_MULTIPLE: u64 = 1_024;
/// Senders get together at most the balance of a developer node's account divided by this number,
/// unless [`FUNDS_MULTIPLE`] demands more.
const OWN_FUNDS_DIVISOR: u64 = 4;
/// Maximum number of the maker's transactions under way together. Every client's pool takes this
/// number from one account.
const TX_COUNT_MAX: usize = 16;
/// Maximum number of calls under way together that read balances or nonces.
const READ_COUNT_MAX: usize = 32;
/// Polling interval for receipts, and the wait after a failed call.
const INTERVAL: Duration = Duration::from_millis(100);

/// Facts of a setup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetupFacts {
    /// Number of senders that were paid.
    pub funded_count: u64,
    /// Number of senders that had enough money before the setup.
    pub reused_count: u64,
    /// Number of contracts that were created.
    pub contract_count: u64,
    /// Number of the maker's transactions: payments to senders, and creations.
    pub tx_count: u64,
    /// Duration of the setup.
    pub time: Duration,
}

/// The accounts and contracts of a load, after the setup.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Addresses that the plan's contracts have on the chain.
    pub(crate) contracts: Vec<Address>,
    /// Next nonce of each of the plan's senders.
    pub(crate) nonces: Vec<u64>,
    /// Maximum fee in wei per gas that each sender of the plan can pay for all its transactions.
    pub(crate) offers_max: Vec<u128>,
    pub(crate) fees: Fees,
    pub(crate) facts: SetupFacts,
}

/// A transaction of the maker: it creates a contract or pays senders.
#[derive(Clone, Debug)]
struct Task {
    purpose: String,
    init: Bytes,
    value: U256,
    /// Upper bound of the gas on Osaka, from which the maker's funds follow.
    gas: u64,
    /// Address of the contract that the task creates; `None` for payments.
    creates: Option<Address>,
}

/// Input of a setup.
pub(crate) struct SetupRun<'a> {
    pub(crate) node: &'a Node,
    pub(crate) facts: &'a NodeFacts,
    pub(crate) patience: Duration,
    pub(crate) on_progress: &'a dyn Fn(u64, u64),
}

/// Makes the error for a failed call of `method`, which the setup needs.
fn needed(method: &'static str) -> impl Fn(CallError) -> SendError {
    let remedy = "does the node serve the eth interface, and is it up?";
    move |error| SendError::Call { method, error, remedy }
}

impl SetupRun<'_> {
    /// Pays the senders and creates the contracts of `plan`.
    pub(crate) async fn make(&self, plan: &mut Plan, funder: &Funder) -> Result<Ready, SendError> {
        let began = Instant::now();
        let latest = self.node.latest().await.map_err(needed("eth_getBlockByNumber"))?;
        let fees = Fees::above(latest.base_fee_per_gas.unwrap_or_default().to());
        let mut budgets = self.budgets(plan).await?;
        let cost = budget::cost_of_poor(&budgets, fees);
        let times = self.funds_times(funder, cost).await?;
        let poor = budget::fund(&mut budgets, fees, times);
        let first_nonce =
            self.node.next_nonce(plan.maker).await.map_err(needed("eth_getTransactionCount"))?;
        let mut tasks = payments(&poor)?;
        let first_contract = first_nonce.saturating_add(tasks.len() as u64);
        let addresses: Vec<Address> = (first_contract..)
            .take(plan.contracts.len())
            .map(|nonce| plan.maker.create(nonce))
            .collect();
        tasks.extend(plan.contracts.iter().zip(&addresses).map(|(contract, address)| Task {
            purpose: format!("the creation of the contract {address}"),
            init: contract.init.filled(&addresses),
            value: contract.balance,
            gas: contract.gas,
            creates: Some(*address),
        }));
        (self.on_progress)(0, tasks.len() as u64);
        self.fund_maker(plan, funder, &tasks, fees).await?;
        self.run(plan, &tasks, first_nonce, fees).await?;
        let nonces =
            self.each(&plan.senders, "eth_getTransactionCount", |node, sender| async move {
                node.next_nonce(sender).await
            });
        let facts = SetupFacts {
            funded_count: poor.len() as u64,
            reused_count: (plan.senders.len() - poor.len()) as u64,
            contract_count: addresses.len() as u64,
            tx_count: tasks.len() as u64,
            time: began.elapsed(),
        };
        let offers_max = budgets.iter().map(Budget::offer_max).collect();
        Ok(Ready { contracts: addresses, nonces: nonces.await?, offers_max, fees, facts })
    }

    /// Reads the balance of each sender, and computes its budget.
    async fn budgets(&self, plan: &Plan) -> Result<Vec<Budget>, SendError> {
        let balances = self.each(&plan.senders, "eth_getBalance", |node, sender| async move {
            node.balance(sender).await
        });
        Ok(Budget::all(plan, &balances.await?))
    }

    /// Computes the funds of the senders that cannot pay for their transactions, as a multiple of
    /// `cost`, the highest cost of these.
    async fn funds_times(&self, funder: &Funder, cost: U256) -> Result<U256, SendError> {
        let least = U256::from(FUNDS_MULTIPLE);
        if cost.is_zero() || !self.facts.is_developers || !matches!(funder, Funder::Node) {
            return Ok(least);
        }
        // If the node has no account, the maker may still have enough money.
        let own = self.node.accounts().await.unwrap_or_default();
        let Some(account) = own.first() else { return Ok(least) };
        let funds = self.node.balance(*account).await.map_err(needed("eth_getBalance"))?;
        let times = funds / U256::from(OWN_FUNDS_DIVISOR) / cost;
        Ok(times.clamp(least, U256::from(OWN_FUNDS_MULTIPLE)))
    }

    /// Reads a value of each account by `method`. Returns the values in the order of `accounts`.
    async fn each<T, F: Future<Output = Result<T, CallError>>>(
        &self,
        accounts: &[Address],
        method: &'static str,
        read: impl Fn(Node, Address) -> F,
    ) -> Result<Vec<T>, SendError> {
        let reads = accounts.iter().map(|account| read(self.node.clone(), *account));
        let all = stream::iter(reads).buffered(READ_COUNT_MAX).try_collect();
        all.await.map_err(needed(method))
    }

    /// Pays the maker, if its balance cannot pay for `tasks`.
    async fn fund_maker(
        &self,
        plan: &mut Plan,
        funder: &Funder,
        tasks: &[Task],
        fees: Fees,
    ) -> Result<(), SendError> {
        let wanted = tasks.iter().fold(U256::ZERO, |sum, task| {
            let gas = task.gas.saturating_mul(GAS_MULTIPLE);
            sum + task.value + U256::from(gas) * U256::from(fees.max)
        });
        let has = self.node.balance(plan.maker).await.map_err(needed("eth_getBalance"))?;
        if has >= wanted {
            return Ok(());
        }
        let value = wanted - has;
        let account = match funder {
            Funder::Node => {
                let own = self.node.accounts().await.map_err(needed("eth_accounts"))?;
                *own.first().ok_or(SendError::NoFunder)?
            }
            Funder::Secret(secret) => plan.add_secret(*secret)?,
        };
        let funds = self.node.balance(account).await.map_err(needed("eth_getBalance"))?;
        if funds < value {
            return Err(SendError::PoorFunder { account, has_wei: funds, wanted_wei: value });
        }
        let purpose = format!("the payment from the funding account {account}");
        let hash = match funder {
            Funder::Node => {
                let paid = self.node.pay_from_own(account, plan.maker, value);
                paid.await.map_err(needed("eth_sendTransaction"))?
            }
            Funder::Secret(_) => {
                let to = Some(plan.maker);
                let mut content =
                    Content { sender: account, to, value, input: Bytes::new(), gas_limit: 0 };
                content.gas_limit = self.gas(&content).await?;
                let nonce = self.node.next_nonce(account).await;
                let nonce = nonce.map_err(needed("eth_getTransactionCount"))?;
                let signed = self.tx_signer(plan).sign(content, nonce, fees)?;
                self.submit(&purpose, &signed).await?;
                signed.hash
            }
        };
        self.wait(&purpose, hash).await.map(drop)
    }

    const fn tx_signer<'p>(&self, plan: &'p Plan) -> TxSigner<'p> {
        TxSigner { signer: &plan.signer, chain_id: self.facts.chain_id }
    }

    /// Sends the tasks as transactions of the maker, and waits for their receipts.
    async fn run(
        &self,
        plan: &Plan,
        tasks: &[Task],
        first_nonce: u64,
        fees: Fees,
    ) -> Result<(), SendError> {
        let tx_signer = self.tx_signer(plan);
        let mut finished_count = 0;
        let mut last_gas: Option<(&Task, u64)> = None;
        for (group_index, group) in tasks.chunks(TX_COUNT_MAX).enumerate() {
            let mut hashes = Vec::with_capacity(group.len());
            for (index, task) in group.iter().enumerate() {
                let mut content = Content {
                    sender: plan.maker,
                    to: None,
                    value: task.value,
                    input: task.init.clone(),
                    gas_limit: 0,
                };
                // Successive tasks with equal init codes cost the same gas.
                content.gas_limit = match last_gas {
                    Some((last, gas)) if last.init == task.init => gas,
                    _ => self.gas(&content).await?,
                };
                last_gas = Some((task, content.gas_limit));
                let index = (group_index * TX_COUNT_MAX + index) as u64;
                let nonce = first_nonce.saturating_add(index);
                let signed = tx_signer.sign(content, nonce, fees)?;
                self.submit(&task.purpose, &signed).await?;
                hashes.push(signed.hash);
            }
            for (task, hash) in group.iter().zip(hashes) {
                let receipt = self.wait(&task.purpose, hash).await?;
                if task.creates.is_some() && receipt.contract_address != task.creates {
                    let reason = format!("the node created {:?}", receipt.contract_address);
                    return Err(SendError::Setup { purpose: task.purpose.clone(), reason });
                }
                finished_count += 1;
                (self.on_progress)(finished_count, tasks.len() as u64);
            }
        }
        Ok(())
    }

    /// Returns a transaction's gas limit: the node's estimate and a fifth more, within
    /// [`TX_GAS_MAX`].
    async fn gas(&self, content: &Content) -> Result<u64, SendError> {
        let tx = json!({
            "from": content.sender, "to": content.to, "value": content.value, "data": content.input,
        });
        let gas = self.node.estimate_gas(tx).await.map_err(needed("eth_estimateGas"))?;
        Ok(gas.saturating_add(gas / 5).min(TX_GAS_MAX.max(gas)))
    }

    /// Sends the same bytes again until the node takes them or has them. Fails at a refusal that
    /// does not pass, or once the patience ends.
    async fn submit(&self, purpose: &str, signed: &Signed) -> Result<(), SendError> {
        let began = Instant::now();
        loop {
            let error = match self.node.send_raw(signed.raw.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            let passes = error.kind.leaves_fate_open()
                || matches!(error.kind, ErrorKind::PoolFull | ErrorKind::RateLimit);
            // The node is asked even if it claims to know the transaction: some nodes claim that of
            // transactions that they have refused.
            let is_known = self.node.knows(signed.hash).await.unwrap_or(false);
            match (is_known, passes && began.elapsed() < self.patience) {
                (true, _) => return Ok(()),
                (false, true) => sleep(INTERVAL).await,
                (false, false) => {
                    let purpose = purpose.to_owned();
                    return Err(SendError::Setup { purpose, reason: error.message });
                }
            }
        }
    }

    /// Waits until a transaction is in a block. Fails if it reverted, or once the patience ends.
    async fn wait(&self, purpose: &str, hash: B256) -> Result<Receipt, SendError> {
        let began = Instant::now();
        let reason = loop {
            let reason = match self.node.receipt(hash).await {
                Ok(Some(receipt)) if receipt.succeeded() => return Ok(receipt),
                Ok(Some(_)) => break format!("the transaction {hash} reverted"),
                Ok(None) => format!("the transaction {hash} is in no block"),
                Err(error) => error.message,
            };
            if began.elapsed() >= self.patience {
                break format!("{reason} after {} s", self.patience.as_secs_f64());
            }
            sleep(INTERVAL).await;
        };
        Err(SendError::Setup { purpose: purpose.to_owned(), reason })
    }
}

fn payments(poor: &[(Address, U256)]) -> Result<Vec<Task>, SendError> {
    let tasks = poor.chunks(PAYMENTS_PER_TX).map(|group| {
        let purpose = format!("the payment to {} senders", group.len());
        let value = group.iter().fold(U256::ZERO, |sum, (_, amount)| sum + amount);
        let reason = "an amount has more than 96 bits".to_owned();
        let init = codes::payments(group);
        let init = init.ok_or_else(|| SendError::Setup { purpose: purpose.clone(), reason })?;
        let gas = CREATION_GAS + PAYMENT_GAS * group.len() as u64;
        Ok(Task { purpose, init, value, gas, creates: None })
    });
    tasks.collect()
}

impl Ready {
    /// Facts of the setup.
    pub const fn facts(&self) -> SetupFacts {
        self.facts
    }

    /// Returns the content of transaction `tx` of `plan`, with the addresses that the contracts
    /// have on this chain.
    pub(crate) fn content(&self, plan: &Plan, tx: usize) -> Content {
        let call = &plan.calls[tx];
        Content {
            sender: plan.senders[call.sender],
            to: match call.target {
                Target::Account(address) => Some(address),
                Target::Contract(index) => Some(self.contracts[index]),
                Target::Creation => None,
            },
            value: call.value,
            input: call.input.filled(&self.contracts),
            gas_limit: call.gas_limit,
        }
    }
}
