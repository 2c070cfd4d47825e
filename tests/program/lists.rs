//! `stress show --bal`: lists as a user prints and compares them.

use std::{fs, path::Path};

use alloy_primitives::hex;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;
use workload::file;

use crate::tool::{printed, stress, text};

/// Writes a workload of two batches and the forms of its second list, and gives the list.
fn write(dir: &Path) -> Vec<u8> {
    let args = ["generate", "sstore-storm", "--gas", "1M", "--slots", "5k", "-o", "a.workload"];
    let more = ["--blocks", "2", "--set", "block.batch=1", "--set", "state.accounts=100"];
    printed(&[&args[..], &more].concat(), dir);
    let workload = file::read(&dir.join("a.workload")).unwrap();
    let list = workload.batches[1].list.to_vec();
    let put = |name: &str, content: &[u8]| fs::write(dir.join(name), content).unwrap();
    put("a.rlp", &list);
    put("a.hex", hex::encode(&list).as_bytes());
    put("a.json", json!({"result": hex::encode_prefixed(&list)}).to_string().as_bytes());
    list
}

/// The output of a command that ends with 3.
fn differing(args: &[&str], dir: &Path) -> String {
    let output = stress(args, dir);
    assert_eq!(output.status.code(), Some(3), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_list_is_printed_alike_from_every_form_and_from_its_own_json() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write(dir);
    let show = |file: &str| printed(&["show", "--bal", file], dir);
    let page = show("a.rlp");
    let json = printed(&["show", "--bal", "a.rlp", "--format", "json"], dir);
    fs::write(dir.join("own.json"), &json).unwrap();
    let body =
        |page: &str| page.split_once("accounts").unwrap().1.split_whitespace().collect::<String>();
    for file in ["a.hex", "a.json", "own.json", "a.workload#2"] {
        assert_eq!(body(&show(file)), body(&page), "{file}");
    }
    assert!(page.lines().all(|line| line.width() <= 80), "{page}");
    let accounts: Value = serde_json::from_str(&json).unwrap();
    let address = accounts[0]["address"].as_str().unwrap();
    let one = printed(&["show", "--bal", "a.rlp", "--address", address], dir);
    let headings =
        |page: &str| page.lines().filter(|line| line.starts_with("0x") && line.len() == 42).count();
    assert_eq!((headings(&one), headings(&page)), (1, accounts.as_array().unwrap().len()));
}

#[test]
fn two_lists_are_compared_and_a_list_with_that_of_its_block() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let list = write(dir);
    let same = printed(&["show", "--bal", "a.rlp", "--bal", "a.workload#2"], dir);
    assert!(same.contains("no difference"), "{same}");
    printed(&["show", "--bal", "a.hex", "--block", "a.workload#2"], dir);
    let args = ["show", "--bal", "a.rlp", "--block", "a.workload#1"];
    let page = differing(&args, dir);
    assert!(page.contains("by the reference") && page.contains("differences"), "{page}");
    assert!(page.lines().all(|line| line.width() <= 80), "{page}");
    let json: Value =
        serde_json::from_str(&differing(&[&args[..], &["--format", "json"]].concat(), dir))
            .unwrap();
    assert_eq!(json["count"], json["differences"].as_array().unwrap().len());
    // Two accounts in the wrong order: the list is printed, and what is wrong with it.
    let mut damaged = list.clone();
    let low = damaged.windows(21).position(|window| window[0] == 0x94).unwrap() + 1;
    damaged[low] = 0xff;
    fs::write(dir.join("order.rlp"), damaged).unwrap();
    let page = differing(&["show", "--bal", "order.rlp"], dir);
    assert!(page.contains("order: account 0x") && page.contains("at offset"), "{page}");
}

#[test]
fn what_is_no_list_is_one_error() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let list = write(dir);
    fs::write(dir.join("cut.rlp"), &list[..list.len() - 1]).unwrap();
    fs::create_dir(dir.join("folder")).unwrap();
    for (args, code, words) in [
        (&["--bal", "missing"][..], 2, &["missing"][..]),
        (&["--bal", "folder"], 6, &["folder"]),
        (&["--bal", "cut.rlp"], 2, &["cut.rlp", "cut off"]),
        (&["--bal", "a.workload"], 2, &["#1 block", "#2 block"]),
        (&["--bal", "a.workload#3"], 2, &["a.workload#3", "#2 block"]),
        (&["--bal", "a.rlp", "--block", "a.rlp"], 2, &["the state before the block"]),
        (&["--bal", "a", "--bal", "b", "--bal", "c"], 2, &["3 times"]),
        (&["--bal", "a.rlp", "sload-storm"], 2, &["cannot be used with"]),
        (&["--bal", "a.rlp", "--address", "0x12"], 2, &["--address"]),
        (&["--block", "a.rlp"], 2, &["--bal"]),
    ] {
        let output = stress(&[&["show"], args].concat(), dir);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert_eq!(error.matches("error:").count(), 1, "{args:?}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{args:?}: {error}");
    }
}
