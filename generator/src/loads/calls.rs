//! Plans loads whose transactions are calls or creations by a script. Transactions have the same
//! price if they agree in form, size, length of calldata and nonzero bytes of calldata. Stock revm
//! runs the first of such transactions over the genesis. A size is a count, such as rounds,
//! recipients or bytes of code.

use std::{collections::HashMap, hash::Hash};

use alloy_primitives::{Address, Bytes};
use evm::TxGas;
use workload::{Fork, Genesis, Transaction, block::Authorization};

use crate::{
    error::GeneratorError,
    meter::nonzero_count,
    planner::{PlannedTx, Planner, Room, TX_EXECUTION_GAS, Touched},
    probe::Cost,
    senders::Senders,
    trial::Trial,
};

/// The first size that a search tries. It costs more than the calldata floor (EIP-7623, EIP-7976),
/// under which all sizes cost the same.
const FIRST_GUESS: u64 = 64;

/// One transaction of a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call<F> {
    /// Facts on which the price depends, beside size and calldata.
    pub(crate) form: F,
    /// Index of the sender in the genesis' senders.
    pub(crate) sender: u64,
    /// The callee, or `None` to create.
    pub(crate) to: Option<Address>,
    /// Calldata.
    pub(crate) input: Bytes,
    /// Delegations (EIP-7702).
    pub(crate) authorizations: Vec<Authorization>,
    /// The keys that the transaction touches, except its sender and accounts written out in the
    /// genesis.
    pub(crate) touched: Touched,
    /// Earlier transactions that change the price of this one.
    pub(crate) before: Vec<Transaction>,
}

impl<F: Clone> Call<F> {
    /// The planned transaction, at this price.
    fn planned(&self, cost: Cost, senders: &Senders<'_>) -> PlannedTx {
        PlannedTx {
            sender: self.sender,
            nonce: senders.nonce(self.sender),
            to: self.to,
            input: self.input.clone(),
            authorizations: self.authorizations.clone(),
            touched: self.touched.clone(),
            ..PlannedTx::priced(cost)
        }
    }
}

/// Size of the next transaction of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// All transactions have the same size.
    One,
    /// The largest size that the gas limit allows.
    AsGas,
    /// The scenario's key and its value. Only the last transaction of a block may be smaller.
    Asked(&'static str, u64),
}

impl Size {
    /// The size that a key of the scenario sets: its count, or else as the gas allows.
    pub(crate) fn new(key: &'static str, count: Option<u64>) -> Self {
        count.map_or(Self::AsGas, |count| Self::Asked(key, count))
    }

    /// The largest size that a transaction may have.
    const fn most(self) -> u64 {
        match self {
            Self::One => 1,
            // More than any gas pays for, and far from overflow.
            Self::AsGas => 1 << 32,
            Self::Asked(_, count) => count,
        }
    }
}

/// Makes the transactions of a load, one after another.
pub(crate) trait Script {
    /// Facts on which a price depends, beside size and calldata.
    type Form: Copy + Eq + Hash;

    /// Name of the transactions in errors.
    fn name(&self) -> &'static str;

    /// Size of the next transaction.
    fn size(&self) -> Size {
        Size::One
    }

    /// The next transaction, of `size`, at `turn`. Further calls return the same transaction until
    /// it is placed.
    fn call(
        &self,
        turn: u64,
        size: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Call<Self::Form>, GeneratorError>;

    /// Records that the requested call is in a block, as the transaction `tx`.
    ///
    /// # Errors
    /// When an address cannot be derived.
    fn placed(
        &mut self,
        _call: PlacedCall,
        _tx: &PlannedTx,
        _people: &mut Senders<'_>,
    ) -> Result<(), GeneratorError> {
        Ok(())
    }
}

/// A call that a block has taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedCall {
    pub(crate) turn: u64,
    pub(crate) size: u64,
}

/// The load of a script, and its environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScriptEnv<'g> {
    /// Index of the load.
    pub(crate) load: usize,
    /// Fork of the blocks.
    pub(crate) fork: Fork,
    /// The state.
    pub(crate) genesis: &'g Genesis,
    /// The most gas of a transaction.
    pub(crate) tx_gas: u64,
}

/// Plans the transactions of a script.
#[derive(Debug)]
pub(crate) struct Calls<'g, S: Script> {
    script: S,
    env: ScriptEnv<'g>,
    /// Costs by form, size, length of the calldata and number of its nonzero bytes.
    prices: HashMap<(S::Form, u64, usize, u64), Cost>,
    /// The largest size within a gas limit, where the scenario sets no size.
    largest: HashMap<u64, Option<u64>>,
    /// Gas limit of the smallest transaction.
    useful_gas: u64,
}

impl<'g, S: Script> Calls<'g, S> {
    /// The transactions of `script`.
    ///
    /// # Errors
    /// [`GeneratorError::TooLarge`] when the size that the scenario asks for does not fit in a
    /// transaction; [`GeneratorError::Meter`] when a transaction cannot be measured.
    pub(crate) fn new(
        script: S,
        env: ScriptEnv<'g>,
        senders: &mut Senders<'_>,
    ) -> Result<Self, GeneratorError> {
        let (prices, largest) = (HashMap::new(), HashMap::new());
        let mut new = Self { script, env, prices, largest, useful_gas: 0 };
        let smallest = new.script.call(0, 1, senders)?;
        new.useful_gas = new.price_of(&smallest, 1, senders)?.limit();
        if let Size::Asked(key, count) = new.script.size() {
            let (load, tx_gas) = (env.load, env.tx_gas);
            // The filler refuses a limit in which not even the smallest size fits.
            match new.search(0, tx_gas, count, senders)? {
                Some(most_count) if most_count < count => {
                    return Err(GeneratorError::TooLarge { load, key, count, most_count, tx_gas });
                }
                _ => {}
            }
        }
        Ok(new)
    }

    /// The trial that measures the price of `call`.
    fn trial(
        &self,
        call: &Call<S::Form>,
        senders: &mut Senders<'_>,
    ) -> Result<Trial<'g>, GeneratorError> {
        let touched = call.touched.senders.iter().map(|index| senders.address(*index));
        Ok(Trial {
            name: self.script.name(),
            fork: self.env.fork,
            genesis: self.env.genesis,
            named: touched.collect::<Result<_, _>>()?,
            before: call.before.clone(),
            tx: call.planned(Cost::default(), senders).to_tx(senders)?,
        })
    }

    /// The price of `call`, which has this size.
    fn price_of(
        &mut self,
        call: &Call<S::Form>,
        size: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Cost, GeneratorError> {
        let key = (call.form, size, call.input.len(), nonzero_count(&call.input));
        if let Some(cost) = self.prices.get(&key) {
            return Ok(*cost);
        }
        let cost = self.trial(call, senders)?.cost()?;
        self.prices.insert(key, cost);
        Ok(cost)
    }

    /// Gas of the next transaction of `size`; `None` where it does not fit in `gas_limit`.
    fn gas_within(
        &self,
        turn: u64,
        size: u64,
        gas_limit: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Option<TxGas>, GeneratorError> {
        let call = self.script.call(turn, size, senders)?;
        Ok(self.trial(&call, senders)?.gas_within(gas_limit).ok())
    }

    /// The largest size up to `most` that fits in `gas_limit`; `None` where size 1 does not fit.
    fn search(
        &mut self,
        turn: u64,
        gas_limit: u64,
        most: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Option<u64>, GeneratorError> {
        let first = self.script.call(turn, 1, senders)?;
        let least = self.price_of(&first, 1, senders)?;
        let (least_gas, least_execution) = (least.limit(), least.regular_gas);
        if least_gas > gas_limit {
            return Ok(None);
        }
        // The largest known size that fits, and the smallest known size that does not. Prices are
        // nearly linear in the size, so a guess from the last price is nearly right.
        let (mut fitting, mut beyond) = (1, most + 1);
        // Steps of the next guess: up from the size that fits, or down from the one that does not.
        let (mut more, mut back) = (FIRST_GUESS - 1, 1);
        while beyond - fitting > 1 {
            let guess = fitting + more;
            let guess = match guess < beyond {
                true => guess.max(fitting + 1),
                // The guess did not fit: a little less, then much less.
                false => beyond.saturating_sub(back).max(fitting + 1),
            };
            match self.gas_within(turn, guess, gas_limit, senders)? {
                Some(TxGas { receipt_gas, block_regular_gas, .. }) => {
                    let unit_gas =
                        |gas: u64, least: u64| (gas.saturating_sub(least) / (guess - 1)).max(1);
                    more = (gas_limit - receipt_gas) / unit_gas(receipt_gas, least_gas);
                    if gas_limit > TX_EXECUTION_GAS {
                        let left = TX_EXECUTION_GAS.saturating_sub(block_regular_gas);
                        more = more.min(left / unit_gas(block_regular_gas, least_execution));
                    }
                    (fitting, back) = (guess, 1);
                }
                None => (beyond, back) = (guess, back * 2),
            }
        }
        Ok(Some(fitting))
    }

    /// The size of the next transaction within `room`; `None` if no size fits.
    fn size_within(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<u64>, GeneratorError> {
        let Room { gas_limit, turn } = room;
        let most = self.script.size().most();
        if self.script.size() == Size::AsGas {
            if let Some(known) = self.largest.get(&gas_limit) {
                return Ok(*known);
            }
            let found = self.search(turn, gas_limit, most, senders)?;
            self.largest.insert(gas_limit, found);
            return Ok(found);
        }
        let call = self.script.call(turn, most, senders)?;
        if self.price_of(&call, most, senders)?.limit() <= gas_limit {
            return Ok(Some(most));
        }
        if most == 1 { Ok(None) } else { self.search(turn, gas_limit, most - 1, senders) }
    }
}

impl<S: Script> Planner for Calls<'_, S> {
    fn next(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let Some(size) = self.size_within(room, senders)? else { return Ok(None) };
        let call = self.script.call(room.turn, size, senders)?;
        let cost = self.price_of(&call, size, senders)?;
        let tx = call.planned(cost, senders);
        self.script.placed(PlacedCall { turn: room.turn, size }, &tx, senders)?;
        Ok(Some(tx))
    }

    fn useful_gas(&self) -> u64 {
        self.useful_gas
    }

    fn price(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<Cost>, GeneratorError> {
        let Some(size) = self.size_within(room, senders)? else { return Ok(None) };
        let call = self.script.call(room.turn, size, senders)?;
        self.price_of(&call, size, senders).map(Some)
    }
}
