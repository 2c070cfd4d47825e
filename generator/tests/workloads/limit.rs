//! The laws of blocks that are filled by the gas limit of their header, in both dimensions of EIP-8037.

use evm::{BlockGas, TxGas};
use generator::{Generated, generate, generate_by_load, reference};
use spec::{Override, Scenario, shipped};
use workload::Fork;

use crate::blocks::parse;

/// Reads that execution gas bounds, and new slots that state gas does.
const MIX: &str = r#"
schema = 1
name = "both"
seed = 1
[state]
accounts = "1k"
slots = "200k"
[block]
limit = "60M"
[[load]]
kind = "sload-storm"
name = "reads"
share = 0.438
[[load]]
kind = "sstore-storm"
name = "creates"
op = "create"
share = 0.562
"#;

/// Gas of the blocks of `made`, each transaction of which its block admitted.
fn admitted(made: &Generated) -> Vec<BlockGas> {
    let fork = made.workload.rules.first.fork;
    let mut gas = made.gas.iter();
    let blocks = made.workload.blocks().map(|block| {
        let mut used = BlockGas::default();
        for (tx, gas) in block.transactions.iter().zip(&mut gas) {
            assert!(used.admits(tx.gas_limit, block.env.gas_limit, fork), "{tx:?} after {used:?}");
            used.add(gas);
        }
        used
    });
    blocks.collect()
}

/// Gas of each load of `made`.
fn by_load(made: &Generated, load_count: usize) -> Vec<TxGas> {
    let mut loads = vec![TxGas::default(); load_count];
    for (load, gas) in made.loads.iter().zip(&made.gas) {
        let of_load = &mut loads[*load as usize];
        of_load.receipt_gas += gas.receipt_gas;
        of_load.block_regular_gas += gas.block_regular_gas;
        of_load.block_state_gas += gas.block_state_gas;
    }
    loads
}

fn made(text: &str, overrides: &[(&str, &str)]) -> Generated {
    generate_by_load(&parse(text, overrides), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn reads_and_creates_fill_both_dimensions_of_one_limit() {
    for limit in [30_000_000, 60_000_000, 200_000_000] {
        let text = limit.to_string();
        // Where reads come first, creates have only what they leave of the execution gas.
        for (order, least) in [("interleaved", 0.97), ("phases", 0.85)] {
            let made = made(MIX, &[("block.limit", &text), ("block.order", order)]);
            assert!(made.workload.blocks().all(|block| block.env.gas_limit == limit));
            let [used] = admitted(&made)[..] else { panic!("one block") };
            let share = |gas: u64| gas as f64 / limit as f64;
            let (regular, state) = (share(used.regular_gas), share(used.state_gas));
            assert!((least..=1.0).contains(&regular), "{limit}, {order}: {regular}");
            assert!((least..=1.0).contains(&state), "{limit}, {order}: {state}");
            let header = made.workload.batches[0].expected.header_gas[0];
            assert_eq!(header, used.regular_gas.max(used.state_gas));
            assert_eq!(reference::verify(&made.workload, || {}).unwrap(), made.gas);
        }
    }
}

#[test]
fn before_amsterdam_the_receipts_fill_the_limit() {
    let made = made(MIX, &[("fork", "osaka"), ("block.limit", "30M")]);
    let [used] = admitted(&made)[..] else { panic!("one block") };
    assert!((29_800_000..=30_000_000).contains(&used.receipt_gas), "{used:?}");
    let [reads, creates] = by_load(&made, 2)[..] else { panic!("two loads") };
    let share = reads.receipt_gas as f64 / used.receipt_gas as f64;
    assert!((share - 0.438).abs() < 0.01, "{share}, {creates:?}");
}

#[test]
fn loads_of_one_dimension_keep_their_shares_of_it() {
    let text = MIX.replace("op = \"create\"", "op = \"update\"");
    let made = made(&text, &[]);
    let [used] = admitted(&made)[..] else { panic!("one block") };
    assert!((59_700_000..=60_000_000).contains(&used.regular_gas), "{used:?}");
    assert_eq!(used.state_gas, 0);
    let [reads, _] = by_load(&made, 2)[..] else { panic!("two loads") };
    let share = reads.block_regular_gas as f64 / used.regular_gas as f64;
    assert!((share - 0.438).abs() < 0.01, "{share}");
}

#[test]
fn every_shipped_scenario_fills_a_limit_with_each_of_its_loads() {
    let given = |key: &str, value: &str| Override::new(key, value, key);
    let limit = 60_000_000;
    for (name, text) in shipped::all() {
        let stated = Scenario::parse(name, text, &[]).unwrap();
        let mut overrides = vec![given("block.limit", "60M"), given("block.blocks", "1")];
        overrides.push(given("block.batch", "1"));
        if stated.state.slot_count > 0 {
            overrides
                .push(given("state.slots", &stated.state.slot_count.min(1_000_000).to_string()));
        }
        let scenario = Scenario::parse(name, text, &overrides).unwrap();
        let made = generate_by_load(&scenario, |_| {}).unwrap_or_else(|e| panic!("{name}: {e}"));
        let [used] = admitted(&made)[..] else { panic!("{name}: one block") };
        let full = used.header_gas(Fork::Amsterdam);
        assert!((limit * 95 / 100..=limit).contains(&full), "{name}: {used:?}");
        let loads = by_load(&made, scenario.loads.len());
        assert!(loads.iter().all(|of| of.receipt_gas > 0), "{name}: {loads:?}");
    }
}

#[test]
fn a_limit_below_a_transaction_or_below_the_list_is_refused_with_its_key() {
    let refused = |text: &str, overrides: &[(&str, &str)]| {
        generate(&parse(text, overrides), |_| {}).unwrap_err().to_string()
    };
    let error = refused(MIX, &[("block.limit", "100k")]);
    assert!(error.contains("raise block.limit") && error.contains("load[1]"), "{error}");
    let chase = shipped::find("pointer-chase").unwrap();
    let error = refused(chase, &[("block.limit", "1M"), ("state.slots", "200k")]);
    assert!(error.contains("raise block.limit") && error.contains("EIP-7928"), "{error}");
    let error = refused(MIX, &[("block.tx_gas", "30k")]);
    assert!(error.contains("raise block.tx_gas"), "{error}");
}
