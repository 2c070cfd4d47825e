//! Files of an earlier build can still be read, and the generator still makes the same.

use std::path::Path;

use generator::reference;
use spec::Override;
use workload::file;

#[test]
fn a_committed_workload_still_reads_and_is_still_what_the_generator_makes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/storm-500k.workload");
    let workload = file::read(&path).unwrap();
    reference::verify(&workload, || ()).unwrap();
    let overrides = [
        ("block.gas", "500k"),
        ("block.tx_gas", "200k"),
        ("state.slots", "2k"),
        ("state.accounts", "20"),
    ]
    .map(|(key, value)| Override {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: format!("--set {key}={value}"),
    });
    let scenario = spec::load("sload-storm", &overrides).unwrap();
    let made = generator::generate(&scenario, |_| ()).unwrap();
    assert_eq!(made.digest(), workload.digest());
    assert_eq!(made, workload, "equal work, and equal in every part");
}
