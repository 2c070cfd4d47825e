//! Plans swaps at constant-product pairs of tokens. One pair is hot; the others are drawn evenly or
//! by Zipf's law. The state's seed draws one pair for each trader. So a trader has balances and
//! allowances at that pair alone, and all its swaps in one direction cost the same gas. Swaps at
//! the same pair conflict, others do not.

use alloy_primitives::{Address, B256, U256};
use workload::{Genesis, stream::stream_seed};

use super::{
    calls::{Call, Script},
    solidity::{calldata, mapped, of_account, value_of, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    random::Zipf,
    senders::Senders,
    state::{LoadGenesis, TOKEN_BALANCE, add_contract, contract_address, numbered_contract},
};
use spec::Amm;

/// The amount of a swap, 10^18: a millionth of the smallest balance of a trader.
const AMOUNT: u64 = 1_000_000_000_000_000_000;
/// A pair's balance of each token, as a multiple of a trader's balance. It is so large that swaps
/// hardly move the pair's price.
const POOL: u64 = 1_000;
/// Storage slots of the mappings in `StandardToken`.
const BALANCES: u64 = 0;
const ALLOWANCES: u64 = 1;

/// Draws the pair of each trader.
struct PairDraw<'a> {
    amm: &'a Amm,
    tag: &'a str,
    seed: u64,
    /// Zipf's law of the pairs that are not hot.
    zipf: Zipf,
}

impl<'a> PairDraw<'a> {
    fn new(amm: &'a Amm, tag: &'a str, seed: u64) -> Self {
        Self { amm, tag, seed, zipf: Zipf::new(amm.pair_count - 1, amm.pair_exponent) }
    }

    /// The pair of the trader; 0 is the hot pair.
    fn pair_of(&self, trader: u64) -> u64 {
        let drawn = stream_seed(self.seed, &format!("state/load[{}]/trader/{trader}", self.tag));
        let [first, second] =
            [0, 8].map(|at| u64::from_be_bytes(std::array::from_fn(|i| drawn[at + i])));
        // The top 53 bits as a fraction: exact.
        let is_hot = ((first >> 11) as f64) < self.amm.hot_share * (1_u64 << 53) as f64;
        match self.amm.pair_count - 1 {
            cold_count if is_hot || cold_count == 0 => 0,
            // Even draws keep their formula from before Zipf's law, so that workloads do not
            // change.
            cold_count if self.amm.pair_exponent == 0.0 => 1 + second % cold_count,
            _ => self.zipf.rank(second),
        }
    }
}

/// Adds the pairs, the base token that all pairs share, and the other token of each pair.
pub(crate) fn place(
    amm: &Amm,
    tag: &str,
    seed: u64,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let traders = genesis.senders[0].addresses(0..amm.trader_count)?;
    let pool = TOKEN_BALANCE * U256::from(POOL);
    let mut tokens = vec![Vec::new(); amm.pair_count as usize];
    let mut base_storage = Vec::new();
    let draw = PairDraw::new(amm, tag, seed);
    for (trader, address) in traders.iter().enumerate() {
        let pair = draw.pair_of(trader as u64);
        let allowances = of_account(address, ALLOWANCES);
        let spender = numbered_contract(tag, Contract::Pair, pair);
        let allowance = mapped(spender.into_word(), allowances);
        for token in [&mut base_storage, &mut tokens[pair as usize]] {
            token.push((of_account(address, BALANCES), TOKEN_BALANCE));
            token.push((allowance, U256::MAX));
        }
    }
    let base = contract_address(tag, Contract::StandardToken.name());
    for (index, mut storage) in (0..).zip(tokens) {
        let pair = numbered_contract(tag, Contract::Pair, index);
        let balance = (of_account(&pair, BALANCES), pool);
        storage.push(balance);
        base_storage.push(balance);
        let other = numbered_contract(tag, Contract::StandardToken, index);
        add_contract(other, Contract::StandardToken, storage, genesis)?;
        let slots = [value_of(&base), value_of(&other), (pool << 128) | pool];
        let slots = (0_u64..).map(U256::from).zip(slots).collect();
        add_contract(pair, Contract::Pair, slots, genesis)?;
    }
    add_contract(base, Contract::StandardToken, base_storage, genesis)?;
    Ok(LoadGenesis::default())
}

/// Swaps. Each trader swaps one way, and back in its next swap.
#[derive(Debug)]
pub(crate) struct Swaps {
    /// The pair's address, by trader.
    pairs: Vec<Address>,
}

impl Swaps {
    /// Makes the swaps of the load with this tag. `seed` is the state's seed, which draws the
    /// traders' pairs.
    pub(crate) fn new(amm: &Amm, tag: &str, seed: u64) -> Self {
        let draw = PairDraw::new(amm, tag, seed);
        let pairs = (0..amm.trader_count)
            .map(|trader| numbered_contract(tag, Contract::Pair, draw.pair_of(trader)));
        Self { pairs: pairs.collect() }
    }
}

impl Script for Swaps {
    /// Whether the trader gives the base token.
    type Form = bool;

    fn name(&self) -> &'static str {
        Contract::Pair.name()
    }

    fn call(&self, turn: u64, _: u64, _: &mut Senders<'_>) -> Result<Call<bool>, GeneratorError> {
        let trader_count = self.pairs.len() as u64;
        let (round, trader) = (turn / trader_count, turn % trader_count);
        let gives_base = (round + trader) % 2 == 0;
        let words = [word(u64::from(gives_base)), word(AMOUNT), B256::ZERO];
        Ok(Call {
            form: gives_base,
            sender: trader,
            to: Some(self.pairs[trader as usize]),
            input: calldata("swap(bool,uint256,uint256)", &words),
            ..Call::default()
        })
    }
}
