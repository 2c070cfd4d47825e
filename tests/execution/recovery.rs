//! Sender recovery on foreign transactions: the signatures of the test vectors give the senders of
//! the vectors. Generated workloads can be signed and recovered.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use alloy_primitives::U256;
use executor::recover::{self, Curve, RecoverError};
use generator::import;
use serde_json::Value;
use spec::Scenario;
use workload::{
    Transaction, TxType, Workload,
    signing::{self, Signature},
};

fn number(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

/// Signature of a transaction or an authorization: r and s from its JSON, and the given parity.
fn signature(from: &Value, y_parity: u8) -> Signature {
    Signature { y_parity, r: number(&from["r"]), s: number(&from["s"]) }
}

/// Recovers the sender of a transaction from its JSON. Returns whether it was signed for one chain,
/// and its kind.
fn assert_recovers(curve: &Curve, tx: &Transaction, from: &Value, chain_id: u64) {
    let v = number(&from["v"]).to::<u64>();
    let authorizations = from["authorizationList"].as_array().map_or(&[][..], |list| list);
    let parity = |from: &Value| {
        let given = if from["yParity"].is_null() { &from["v"] } else { &from["yParity"] };
        number(given).saturating_to::<u8>()
    };
    let authorities: Vec<_> =
        authorizations.iter().map(|from| signature(from, parity(from))).collect();
    let (hash, y_parity) = match (tx.tx_type, v) {
        (TxType::Legacy, 27 | 28) => (signing::unprotected_signing_hash(tx), v - 27),
        (TxType::Legacy, v) => (signing::signing_hash(tx, chain_id, &[]), v - 35 - 2 * chain_id),
        (_, v) => (signing::signing_hash(tx, chain_id, &authorities), v),
    };
    let signer = curve.signer(hash, &signature(from, u8::try_from(y_parity).unwrap()));
    assert_eq!(signer, Ok(tx.sender), "{tx:?}");
    for (authorization, signature) in tx.authorizations.iter().zip(&authorities) {
        let signer = curve.signer(signing::authorization_hash(authorization), signature).ok();
        assert_eq!(signer, authorization.authority, "{authorization:?}");
    }
}

/// Recovers all senders of a file, and adds up its transactions by kind.
fn check_file(path: &Path, counts: &mut [usize; 5]) {
    let text = std::fs::read_to_string(path).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let curve = Curve::default();
    for test in
        import::blockchain_tests("vector", &text).unwrap_or_else(|e| panic!("{path:?}: {e}"))
    {
        let blocks = json[&test.name]["blocks"].as_array().unwrap();
        for (block, from) in test.workload.blocks().zip(blocks) {
            let signed = from["transactions"].as_array().map_or(&[][..], |list| list);
            assert_eq!(signed.len(), block.transactions.len());
            for (tx, from) in block.transactions.iter().zip(signed) {
                assert_recovers(&curve, tx, from, test.workload.chain_id);
                counts[tx.tx_type as usize] += 1;
            }
        }
    }
}

fn json_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let is_block = !path.ends_with("invalid-of-combined.json");
        if path.extension().is_some_and(|e| e == "json") && is_block {
            out.push(path);
        }
    }
}

#[test]
fn signatures_of_others_give_the_senders_that_they_name() {
    let Some(dir) = std::env::var_os("STRESS_VECTORS").map(PathBuf::from) else {
        eprintln!("STRESS_VECTORS is not set: signatures of others are NOT tested");
        return;
    };
    let unpacked = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("tar")
        .arg("-xJf")
        .arg(dir.join("eip7928-eest.tar.xz"))
        .arg("-C")
        .arg(unpacked.path())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "tar unpacks the vectors");
    let mut files = Vec::new();
    json_files(&dir.join("eip7928"), &mut files);
    json_files(&unpacked.path().join("eest"), &mut files);
    let mut counts = [0; 5];
    files.iter().for_each(|path| check_file(path, &mut counts));
    eprintln!("senders recovered, by kind of transaction: {counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "every kind was there: {counts:?}");
}

fn generate() -> Workload {
    let text = "schema = 1\nname = \"small\"\nseed = 7\n[state]\naccounts = 100\nslots = 20_000\n\
                [block]\ngas = \"3M\"\ntx_gas = \"200k\"\nblocks = 4\nbatch = 2\n\
                [[load]]\nkind = \"sload-storm\"\n";
    let scenario = Scenario::parse("small.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    generator::generate(&scenario, |_| ()).unwrap()
}

#[test]
fn every_generated_transaction_can_be_signed_and_its_sender_recovered() {
    let go = AtomicBool::new(false);
    let mut workload = generate();
    let signatures = recover::sign(&workload, 2, &go).unwrap();
    for threads in [1, 2, 8] {
        let recovered = recover::recover(&workload, &signatures, threads, &go).unwrap();
        assert_eq!(recovered.tx_count, workload.tx_count());
    }
    // Without the families the secrets are unknown.
    workload.genesis.senders.clear();
    let refused = recover::sign(&workload, 2, &go);
    assert!(matches!(refused, Err(RecoverError::UnknownSecret { tx: 0, .. })), "{refused:?}");
}
