//! Keys of the JSON, and the page that explains them.

use result::{
    RootFacts, RootWayFacts, ShardWayFacts, ShardWorkFacts, SpaceFacts, SpeculationFacts,
    StoreWriteFacts, WarmUpFacts, WriteFacts,
    databases::{self, DatabaseFacts, DatabaseRun},
    example,
};
use serde_json::Value;
use variant::{PartitionTime, Partitioner, RootCache, RootReads};

use super::profile;

#[test]
fn every_key_of_the_json_is_explained_and_every_explained_key_is_there() {
    let (_, page) = include_str!("../../../../docs/result.md")
        .split_once("\n## Keys of `stress.result/3`\n")
        .expect("docs/result.md has a part with the keys, its last");
    let mut result = example::sampled(8);
    result.cells[0].samples[0].warm_up = Some(WarmUpFacts::default());
    result.cells[0].samples[0].speculation = Some(SpeculationFacts::default());
    result.cells[0].samples[0].root_work = Some(RootFacts::default());
    result.cells[0].samples[0].writes = Some(WriteFacts {
        store: Some(StoreWriteFacts::default()),
        space: Some(SpaceFacts::default()),
        ..WriteFacts::default()
    });
    result.cells[0].root_way = Some(RootWayFacts {
        root_shards: 16,
        root_reads: RootReads::AtOnce,
        root_cache: RootCache::Warm,
    });
    result.cells[0].sharding = Some(ShardWayFacts {
        partitioner: Partitioner::Fanout,
        partition_time: PartitionTime::Before,
        micro_batch_key_count: 256,
        delay_ns: 500_000,
    });
    result.cells[0].samples[0].shard_work = Some(ShardWorkFacts::default());
    result.profile = Some(profile());
    result.clients = example::client::beside_designs().clients;
    result.device.as_mut().unwrap().shared = Some(example::shared_device());
    let (workload, stores) = (result.workload.clone(), result.stores.clone());
    let facts = DatabaseFacts { workload, device: result.device.clone(), stores };
    let ran = |seed| {
        let mut ran = DatabaseRun { facts: facts.clone(), cells: result.cells.clone() };
        ran.facts.workload.seed = seed;
        ran
    };
    let ran = [ran(1), ran(2), ran(3)];
    result.cells.extend(databases::pool(&ran, &[]));
    result.databases = ran.map(|ran| ran.facts).into();
    // A store's facts are its own: the page does not list them.
    let key_count =
        explained("docs/result.md", page, &serde_json::to_value(result).unwrap(), &["facts"]);
    assert!(key_count > 80, "{key_count}");
}

/// Checks that the `text` of a page explains each key of `value`, and no other key. Another page
/// explains the keys below those that are `elsewhere`. Returns the number of keys.
pub(crate) fn explained(page: &str, text: &str, value: &Value, elsewhere: &[&str]) -> usize {
    let mut keys = Vec::new();
    keys_of(value, elsewhere, &mut keys);
    for key in &keys {
        assert!(text.contains(&format!("`{key}`")), "{page} does not explain `{key}`");
    }
    for (name, _) in text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')) {
        assert!(keys.iter().any(|key| key == name), "{page} explains `{name}`, which is gone");
    }
    keys.len()
}

/// Last names of all paths, none below a key that is `elsewhere`.
fn keys_of(value: &Value, elsewhere: &[&str], keys: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            keys.push(key.clone());
            if !elsewhere.contains(&key.as_str()) {
                keys_of(value, elsewhere, keys);
            }
        }),
        Value::Array(values) => {
            values.iter().for_each(|value| keys_of(value, elsewhere, keys));
        }
        _ => {}
    }
}
