//! `run.root` and `run.trie`: each needs the other, a store that keeps tries, and hashed rows.

use variant::{RootTime, TrieForm};

use super::{LEAST, assert_error, parse, parsed};

fn run(keys: &str) -> String {
    format!("{LEAST}[run]\n{keys}\n")
}

#[test]
fn without_a_word_there_are_no_tries_and_no_root() {
    let run = parsed(LEAST).run;
    assert_eq!((run.root, run.trie), (RootTime::Nothing, TrieForm::Nothing));
}

#[test]
fn tries_and_roots_are_no_part_of_the_work() {
    let tried = parsed(&run("root = \"after\"\ntrie = \"reth-like\""));
    assert_eq!((tried.run.root, tried.run.trie), (RootTime::After, TrieForm::RethLike));
    assert_eq!(tried.work_identity(), parsed(LEAST).work_identity());
    assert_eq!(parsed(&tried.to_toml()), tried);
}

#[test]
fn a_combination_that_is_not_built_is_refused_with_its_remedy() {
    assert_error(
        parse(&run("root = \"after\"")),
        &["run.root", "my.toml:10:8", "so it has no root", "run.trie = \"cut\""],
    );
    for store in ["mdbx", "flat"] {
        assert_error(
            parse(&run(&format!("trie = \"cut\"\nstores = [\"rocksdb\", \"{store}\"]"))),
            &["run.trie", &format!("the {store} store keeps no tries"), "rocksdb and memory"],
        );
    }
    let plain =
        run("trie = \"all\"").replace("slots = \"2M\"", "slots = \"2M\"\nlayout = \"plain\"");
    assert_error(parse(&plain), &["run.trie", "the plain layout", "state.layout = \"hashed\""]);
    assert_error(
        parse(&run("root = \"from-list\"\ntrie = \"cut\"\ndesigns = [\"full\", \"block-stm\"]")),
        &["run.root", "the design block-stm takes no list", "run.root = \"after\""],
    );
    assert_error(
        parse(&run("root = \"pipelined\"\ntrie = \"cut\"")),
        &["run.root", "pipelined is no time of the root"],
    );
}
