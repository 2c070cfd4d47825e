//! The laws of blocks that are filled by the gas limit of their header, in both dimensions of
//! EIP-8037.

use evm::{BlockGas, TxGas};
use generator::{Generated, GeneratorError, generate, generate_by_load, reference};
use spec::{Override, Scenario, shipped};
use workload::Fork;

use crate::blocks::{list, parse};

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
            assert!(
                used.has_room_for(tx.gas_limit, block.env.gas_limit, fork),
                "{tx:?} after {used:?}"
            );
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
    assert!(error.contains("block.limit = 100000 leaves load[1]"), "{error}");
    let least = |limit: &str| match generate(&parse(MIX, &[("block.limit", limit)]), |_| {}) {
        Err(GeneratorError::TooLittleLimit { load: 1, least_limit, .. }) => Some(least_limit),
        // The list of so small a block has another bound.
        Ok(_) | Err(GeneratorError::TooLittleForList { .. }) => None,
        Err(error) => panic!("{error}"),
    };
    let least_limit = least("100k").unwrap();
    assert_eq!(least(&least_limit.to_string()), None);
    assert!(least(&(least_limit * 9 / 10).to_string()).is_some(), "{least_limit}");
    let chase = shipped::find("pointer-chase").unwrap();
    let error = refused(chase, &[("block.limit", "1M"), ("state.slots", "200k")]);
    assert!(error.contains("raise block.limit") && error.contains("EIP-7928"), "{error}");
    let error = refused(MIX, &[("block.tx_gas", "30k")]);
    assert!(error.contains("raise block.tx_gas"), "{error}");
}

#[test]
fn transactions_with_a_reservoir_execute_at_most_2_24_gas_and_pay_for_state_above_it() {
    let cap = Fork::Amsterdam.tx_gas_cap();
    let creates = MIX.replace("op = \"create\"", "op = \"create\"\ntx_gas = \"150M\"");
    for target in ["block.gas", "block.limit"] {
        let made =
            made(&creates, &[(target, "320M"), ("block.tx_gas", "200M"), ("state.slots", "500k")]);
        admitted(&made);
        let blocks = made.workload.blocks();
        let limits = blocks.flat_map(|block| &block.transactions).map(|tx| tx.gas_limit);
        let mut above_count = 0;
        for ((limit, gas), load) in limits.zip(&made.gas).zip(&made.loads) {
            assert!(gas.block_regular_gas <= cap, "{gas:?}");
            match load {
                // Reads create no state, so they leave nothing above the cap.
                0 => assert!(limit <= cap, "{limit}"),
                _ => assert!(limit <= 150_000_000, "{limit}"),
            }
            above_count += usize::from(limit > cap && gas.block_state_gas > limit - cap);
        }
        assert!(above_count >= 2, "{target}: {above_count}");
    }
}

#[test]
fn a_reservoir_that_a_load_cannot_use_changes_nothing() {
    for kind in [
        "sload-storm",
        "pointer-chase",
        "compute",
        "official/test_sload_bloated",
        "official/test_parallel_execution_serial_chain",
    ] {
        let text = shipped::find(kind).unwrap();
        let with = |tx_gas: &str| {
            let blocks = [("block.gas", "40M"), ("state.slots", "100k"), ("block.tx_gas", tx_gas)];
            made(text, &blocks).workload.batches
        };
        assert_eq!(with("16_777_216"), with("100M"), "{kind}");
    }
}

#[test]
fn the_longest_code_of_amsterdam_is_deployed_and_called() {
    for by in ["create", "create2"] {
        let text = format!(
            "schema = 1\nname = \"long\"\n[state]\naccounts = 100\n[block]\ngas = \"240M\"\n\
             tx_gas = \"120M\"\n[[load]]\nkind = \"deploy\"\nby = \"{by}\"\ncode = 65_536\n\
             calls = 1\n"
        );
        let made = made(&text, &[]);
        let batch = &made.workload.batches[0];
        let changes = list(batch);
        let codes = changes.iter().flat_map(|account| &account.code_changes);
        let lengths: Vec<_> = codes.map(|change| change.new_code.len()).collect();
        assert!(lengths.contains(&65_536), "{by}: {lengths:?}");
        let first = &batch.blocks[0].transactions[0];
        assert!(first.gas_limit > 100_000_000, "{by}: {}", first.gas_limit);
        let error = generate(&parse(&text, &[("block.tx_gas", "60M")]), |_| {}).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("load[0].code = 65536") && error.contains("60000000"), "{error}");
    }
}
