//! Makes a [`Scenario`] from a tree: reads the keys, applies their defaults, and checks the rules
//! between keys. Rules of one table are in the file of that table. `mistakes.rs` calls it, again
//! after each repair.

use std::{num::NonZeroUsize, time::Duration};

use workload::Fork;

use crate::durations::DURATION_MAX;
use crate::fault::{Fault, Origin, Remedy, Violation, shown};
use crate::fields::{Fields, Range};
use crate::keys::{self, Checked, Flag, Keyed, Keys, LoadEnv, ValueOrMeaning, narrowed, quoted};
use crate::load::{self, Load, NAME_CHARS_MAX};
use crate::names::{FORKS, LoadOrder};
use crate::paths::all_paths;
use crate::quantity::{grouped, underscored};
use crate::scenario::{BlockSpec, BlockTarget, RunSpec, Scenario, WholeSpec};
use crate::sizes::TX_GAS_MIN;
use crate::state::StateSpec;
use crate::tree::{Node, Table, Value};
use crate::whole::{self, Whole};
use crate::{mdbx, metric, prefetch, redis, rocksdb, root, sharding, state};
use variant::{Design, RootTime, Schedule, StoreKind, TrieForm, Variant, WholeRows};

const DEFAULT_BUDGET: Duration = Duration::from_secs(60);

const GAS: Range =
    Range::supported(TX_GAS_MIN, 1_000_000_000_000, "the least gas that one transaction needs");
const TRANSACTIONS: Range = Range::supported(1, 100_000_000, "the least a block has here");
const BLOCKS: Range = Range::supported(1, 1_000_000, "the fewest blocks of a workload");
const FIBERS: Range = Range::supported(1, 1_024, "the fewest transactions on a thread");
const THREADS: Range = Range::supported(1, 1_024, "the fewest threads that can run");
/// Range of the number of databases of a run. Each database is built and kept.
const DATABASES: Range = Range::supported(1, 64, "the fewest that can be run on");
const SAMPLES: Range = Range::supported(1, 100_000, "the fewest that can be measured");

/// Reads the scenario of a tree. `overridden` has the paths of overridden work keys: if there are
/// any, the scenario's expectations cannot be judged.
pub(crate) fn scenario(tree: &Table, overridden: Vec<String>) -> Result<Scenario, Fault> {
    // The schema is checked first, because another schema may have other keys.
    check_schema(tree)?;
    let top = Fields::top(tree, keys::TOP, all_paths)?;
    let name = name(&top)?;
    let description = top.text("description")?.unwrap_or_default().to_owned();
    let fork = top.one_of("fork", "fork", &FORKS)?.unwrap_or(Fork::Amsterdam);
    let seed = top.seed()?.unwrap_or(0);
    let state_fields = subtable(&top, "state", keys::STATE)?;
    let state = state::read(&state_fields)?;
    let block_fields = subtable(&top, "block", keys::BLOCK)?;
    let block = block(&block_fields, fork)?;
    let env = LoadEnv { fork, state: &state, state_fields: &state_fields, tx_gas: block.tx_gas };
    let load_nodes = tables(&top, "load")?;
    if load_nodes.is_empty() {
        let remedy = Remedy::advice("add [[load]] with kind = \"sload-storm\"");
        return Err(top.refusal("load", "no load is given", remedy));
    }
    let loads = load::read_all(load_nodes, &env)?;
    check_loads_fit(&loads, &block, &block_fields)?;
    let nothing = Table::default();
    let run_fields = match top.get("run") {
        Some(_) => subtable(&top, "run", &Keys::names::<RunSpec>())?,
        None => top.within("run", &nothing, &Origin::WholeFile, &Keys::names::<RunSpec>())?,
    };
    let run = run(&run_fields, &state)?;
    let expects = metric::read(tables(&top, "expect")?, &top)?;
    Ok(Scenario { name, description, fork, seed, state, block, loads, run, expects, overridden })
}

fn check_schema(tree: &Table) -> Result<(), Fault> {
    let (origin, rule) = match tree.get("schema") {
        Some(Node { value: Value::Integer(Some(keys::SCHEMA)), .. }) => return Ok(()),
        Some(node) => (
            &node.origin,
            format!("{} is no schema of scenarios that this version reads", node.given),
        ),
        None => (&Origin::WholeFile, "missing".to_owned()),
    };
    let remedy = Remedy::bare(keys::SCHEMA).and("the only schema so far");
    Err(Violation::new(rule, remedy).at("schema", origin))
}

/// Reads the scenario's name. The remedy of an invalid name is the nearest valid one.
fn name(top: &Fields<'_>) -> Result<String, Fault> {
    let Some(name) = top.text("name")? else {
        return Err(top.missing("name", Remedy::text("my-scenario")));
    };
    if !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(load::is_of_name) {
        return Ok(name.to_owned());
    }
    let slug: String = name
        .to_lowercase()
        .chars()
        .map(|c| if load::is_of_name(c) { c } else { '-' })
        .take(NAME_CHARS_MAX)
        .collect();
    let slug = match slug.trim_matches('-') {
        "" => "my-scenario",
        slug => slug,
    };
    let rule = format!(
        "{} is no name; a name is 1 to {NAME_CHARS_MAX} lower-case letters, digits and hyphens",
        shown(name)
    );
    Err(top.refusal("name", rule, Remedy::text(slug)))
}

/// Returns the fields of a required table.
fn subtable<'tree>(
    top: &Fields<'tree>,
    name: &str,
    known: &[&str],
) -> Result<Fields<'tree>, Fault> {
    let path = top.key(name);
    match top.get(name) {
        Some(Node { value: Value::Table(table), origin, .. }) => {
            top.within(&path, table, origin, known)
        }
        Some(node) => {
            let rule = format!("{} is {}; {name} is a table", node.given, node.value.kind());
            let remedy = Remedy::advice(&format!("write its keys under [{path}]"));
            Err(top.refusal(name, rule, remedy))
        }
        None => {
            let advice = format!("add [{name}]; docs/scenario.md shows its keys");
            Err(top.missing(name, Remedy::advice(&advice)))
        }
    }
}

/// Returns the tables of a `[[name]]`; empty if there are none.
fn tables<'tree>(top: &Fields<'tree>, name: &str) -> Result<&'tree [Node], Fault> {
    match top.get(name) {
        None => Ok(&[]),
        Some(Node { value: Value::List(nodes), .. }) => Ok(nodes),
        Some(node) => {
            let rule =
                format!("{} is {}; {name} is a list of tables", node.given, node.value.kind());
            let remedy = Remedy::advice(&format!("write [[{name}]], in double brackets"));
            Err(top.refusal(name, rule, remedy))
        }
    }
}

/// Reads `[block]`.
fn block(fields: &Fields<'_>, fork: Fork) -> Result<BlockSpec, Fault> {
    let above = match fork.is_from(Fork::Amsterdam) {
        true => {
            "the most a transaction may have under amsterdam (2^32 - 1, of which 2^24 for \
             execution, EIP-8037)"
        }
        false => "the most a transaction may have before amsterdam (2^24, EIP-7825)",
    };
    let tx_gas = Range { most: fork.max_tx_gas(), above, ..GAS };
    let gas = fields.count("gas", &GAS)?.map(BlockTarget::Gas);
    let limit = fields.count("limit", &GAS)?.map(BlockTarget::Limit);
    let count = fields.count("transactions", &TRANSACTIONS)?.map(BlockTarget::Transactions);
    let given: Vec<BlockTarget> = [gas, limit, count].into_iter().flatten().collect();
    let [target] = given.as_slice() else {
        let keys = ["gas", "limit", "transactions"];
        return Err(fields.exactly_one(&keys, Remedy::text("640M")));
    };
    let block_count = fields.count("blocks", &BLOCKS)?.unwrap_or(1);
    let batch_block_count = fields.count("batch", &BLOCKS)?.unwrap_or(1);
    if !block_count.is_multiple_of(batch_block_count) {
        let rule = format!("{batch_block_count} does not divide blocks = {block_count}");
        let fitting = block_count.next_multiple_of(batch_block_count);
        let remedy = match fitting <= BLOCKS.most {
            true => {
                Remedy::advice(&format!("write blocks = {fitting}, or a batch that divides it"))
            }
            false => Remedy::advice("write a batch that divides blocks"),
        };
        return Err(fields.refusal("batch", rule, remedy));
    }
    Ok(BlockSpec {
        target: *target,
        block_count,
        batch_block_count,
        tx_gas: fields.count("tx_gas", &tx_gas)?.unwrap_or(fork.tx_gas_cap()),
        order: fields.named("order")?.unwrap_or(LoadOrder::Interleaved),
        seed: fields.seed()?,
    })
}

/// Checks that every load gets at least one transaction a block, after rounding.
fn check_loads_fit(loads: &[Load], block: &BlockSpec, fields: &Fields<'_>) -> Result<(), Fault> {
    for (index, load) in loads.iter().enumerate() {
        let (key, share) = (block.target.key(), load.share);
        let (enough, what, least) = match block.target {
            BlockTarget::Gas(gas) | BlockTarget::Limit(gas) => {
                let load_gas = share * gas as f64;
                let least = TX_GAS_MIN as f64;
                (load_gas >= least, format!("{load_gas:.0} gas"), least)
            }
            BlockTarget::Transactions(transaction_count) => {
                let load_count = share * transaction_count as f64;
                (load_count >= 0.5, format!("{load_count:.3} transactions"), 0.5)
            }
        };
        if !enough {
            let rule = format!(
                "load[{index}] with a share of {share} gets {what} a block, less than a transaction"
            );
            let least = grouped((least / share).ceil() as u64);
            let remedy = Remedy::advice(&format!("raise {key} to {least}, or the load's share"));
            return Err(fields.refusal(key, rule, remedy));
        }
    }
    Ok(())
}

/// Refuses several fibers a thread if no row of the run can have them.
fn check_fibers(spec: &RunSpec, fields: &Fields<'_>) -> Result<(), Fault> {
    if spec.fiber_counts.iter().all(|count| *count <= 1) || can_yield(spec) {
        return Ok(());
    }
    let rule = "transactions yield their thread in the design parallel-io on the store flat alone: \
                the run has no such row";
    let remedy = Remedy::advice("add these to designs and stores, or leave fibers out");
    Err(fields.refusal("fibers", rule, remedy))
}

impl Keyed for RunSpec {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        let designs = [Design::Sequential, Design::ParallelIo, Design::BatchedIo];
        keys.named_list("designs", &mut self.designs, &designs)?;
        keys.named_list("stores", &mut self.stores, &[StoreKind::Rocksdb])?;
        keys.counts("threads", &mut self.thread_counts, &THREADS, &[])?;
        keys.counts("fibers", &mut self.fiber_counts, &FIBERS, &[1])?;
        self.shards.keys(keys)?;
        keys.counts("io_threads", &mut self.io_thread_counts, &THREADS, &[])?;
        keys.one_or_more("list", &mut self.list_duties, prefetch::IF_ABSENT)?;
        self.prefetch.keys(keys)?;
        keys.named("warm_cache", &mut self.warm_cache)?;
        keys.reserve("schedule");
        keys.any_named("read", &mut self.read, "chosen by the tool")?;
        keys.named("checksums", &mut self.checksums)?;
        keys.named("cache_fill", &mut self.cache_fill)?;
        keys.named_list("schedule", &mut self.schedules, &[Schedule::BlockOrder])?;
        keys.named("commit", &mut self.commit)?;
        // `whole::read` reads these values, since `whole` decides their defaults.
        keys.write("root", root_time(self));
        self.root.keys(keys)?;
        keys.write("trie", trie(self));
        keys.write("duties", keys::one_or_more(&self.duties, "none"));
        keys.flag("execution_alone", Flag { value: &mut self.execution_alone, default: true })?;
        keys.write("whole", keys::any_name(self.whole.rows, "chosen by the verb"));
        keys.named("cache", &mut self.cache)?;
        keys.any_named("keys", &mut self.keys, "chosen by the tool")?;
        match keys.fields() {
            Some(fields) => {
                self.draw_seed = fields.seed_at("draw_seed")?;
                self.database_count = fields.count("databases", &DATABASES)?.map_or(1, narrowed);
                self.sample_count = fields.count("samples", &SAMPLES)?.map(narrowed);
                self.budget = fields.duration("budget")?.unwrap_or(DEFAULT_BUDGET);
            }
            None => {
                let draw_seed = self.draw_seed.map(underscored);
                keys.write("draw_seed", draw_seed.ok_or("another one each run"));
                keys.write("databases", Ok(self.database_count.to_string()));
                let samples = self.sample_count.map(|count| count.to_string());
                keys.write("samples", samples.ok_or("as many as the budget allows"));
                keys.write("budget", Ok(quoted(&duration(self.budget))));
            }
        }
        keys::RUN_TABLES.iter().for_each(|table| keys.reserve(table));
        keys.addresses("redis_addresses", &mut self.redis_addresses, "127.0.0.1:7000")?;
        keys.flag("recover_senders", Flag { value: &mut self.recover_senders, default: false })
    }
}

/// Writes `root`, the time of the root. The key is left out where a written `none` would rule out
/// whole rows that the scenario allows.
fn root_time(run: &RunSpec) -> ValueOrMeaning {
    match (run.root.time, run.whole) {
        (RootTime::Nothing, WholeSpec { rows: Some(WholeRows::One), root })
            if root != RootTime::Nothing =>
        {
            Err("of whole rows alone")
        }
        (RootTime::Nothing, WholeSpec { rows: None, .. }) => Err("none"),
        (time, _) => Ok(quoted(time.name())),
    }
}

/// Writes `trie`, the nodes that states store. The key is left out for the same reason as `root` in
/// [`root_time`].
fn trie(run: &RunSpec) -> ValueOrMeaning {
    match (run.trie, run.whole.rows) {
        (TrieForm::Nothing, None) => Err("none"),
        (trie, _) => Ok(quoted(trie.name())),
    }
}

/// A duration in the largest unit in which it is whole.
fn duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    for (unit, unit_ms) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if ms.is_multiple_of(unit_ms) {
            return format!("{}{unit}", ms / unit_ms);
        }
    }
    format!("{ms}ms")
}

/// Reads `[run]`, and checks its rules.
fn run(fields: &Fields<'_>, state: &StateSpec) -> Result<RunSpec, Fault> {
    let mut spec: RunSpec = Keys::read(fields, None)?;
    let Whole { spec: whole, root, trie, duties } = whole::read(fields)?;
    (spec.whole, spec.root.time, spec.trie, spec.duties) = (whole, root, trie, duties);
    if fields.get("rocksdb").is_some() {
        spec.rocksdb = rocksdb::read(&subtable(fields, "rocksdb", &rocksdb::keys())?)?;
    }
    if fields.get("mdbx").is_some() {
        spec.mdbx = mdbx::read(&subtable(fields, "mdbx", mdbx::KEYS)?, &spec.stores)?;
    }
    prefetch::check(&spec.prefetch, fields)?;
    check_lists(&spec, fields)?;
    check_fibers(&spec, fields)?;
    sharding::check(&spec, fields)?;
    redis::check(&spec, fields)?;
    root::check(&spec, fields, state)?;
    whole::check(&spec, fields)?;
    if let (2.., Some(seed)) = (spec.database_count, state.seed) {
        let rule = format!(
            "{} databases would all have one state: state.seed = {seed} fixes it",
            spec.database_count
        );
        let remedy = Remedy::advice("leave state.seed out, so that it is derived from seed");
        return Err(fields.refusal("databases", rule, remedy));
    }
    if spec.budget.is_zero() || spec.budget > DURATION_MAX {
        return Err(fields.refusal("budget", "a budget is from 1ms to 24h", Remedy::text("60s")));
    }
    Ok(spec)
}

/// Refuses empty lists of values to compare.
fn check_lists(spec: &RunSpec, fields: &Fields<'_>) -> Result<(), Fault> {
    for (key, is_empty) in [
        ("designs", spec.designs.is_empty()),
        ("stores", spec.stores.is_empty()),
        ("schedule", spec.schedules.is_empty()),
        ("fibers", spec.fiber_counts.is_empty()),
    ] {
        if is_empty {
            let remedy = Remedy::advice(&format!("name at least one, or leave {key} out"));
            return Err(fields.refusal(key, "the list is empty", remedy));
        }
    }
    Ok(())
}

/// Returns whether transactions can yield their thread in a row of the run.
fn can_yield(run: &RunSpec) -> bool {
    let one = NonZeroUsize::MIN;
    run.stores.iter().any(|store| store.can_yield())
        && run.designs.iter().any(|design| Variant::of(*design, one, one).can_yield())
}
