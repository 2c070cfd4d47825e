//! `run.whole`: its effect on keys that are not given, the keys that decline it, and the verb's
//! part.

use variant::{BlockDuties, Durability, RootTime, RootWay, TrieForm, WholeRows};

use super::{assert_error, parse, run, with_run};

#[test]
fn without_a_word_the_verb_chooses_and_one_row_of_each_design_is_whole() {
    let open = run("");
    assert!(open.lets_verb_choose_whole() && open.block_duties().is_none());
    let whole = open.clone().with_whole_rows();
    assert_eq!(whole.whole.rows, Some(WholeRows::One));
    assert_eq!(whole.block_duties(), BlockDuties::all());
    assert_eq!(
        (whole.whole_root(), whole.trie),
        (RootWay::at(RootTime::After), TrieForm::RethLike)
    );
    // The rows beside are those of before: without a root, and with a commit that does not wait.
    assert_eq!((whole.root.ways(), whole.commit), (vec![RootWay::NONE], Durability::Logged));
    assert_eq!(run("whole = \"one\""), whole);
    assert_eq!(whole.clone().with_whole_rows(), whole);
}

#[test]
fn whole_rows_are_declined_by_name_and_by_keys_that_name_something_else() {
    for keys in [
        "whole = \"none\"",
        "trie = \"none\"",
        "root = \"none\"",
        "duties = \"recover\"",
        "duties = []",
    ] {
        let declined = run(keys);
        assert_eq!(declined.clone().with_whole_rows(), declined, "{keys}");
    }
}

#[test]
fn a_root_that_is_said_is_that_of_the_whole_row_too() {
    let keys = "trie = \"cut\"\nroot = \"pipelined\"\nroot_shards = [16, 1]";
    let whole = run(keys).with_whole_rows();
    let way = RootWay { shard_count: 16, ..RootWay::at(RootTime::Pipelined) };
    assert_eq!((whole.whole_root(), whole.trie), (way, TrieForm::Cut));
    assert_eq!(whole.root, run(keys).root, "rows of before");
    let tries = run("trie = \"all\"").with_whole_rows();
    assert_eq!((tries.whole_root(), tries.trie), (RootWay::at(RootTime::After), TrieForm::All));
    assert_eq!(run("whole = \"one\"\nroot_shards = [4]").whole_root().shard_count, 4);
}

#[test]
fn every_row_is_whole_where_all_are_asked_for() {
    let all = run("whole = \"all\"");
    assert_eq!(all.root.ways(), [RootWay::at(RootTime::After)]);
    assert_eq!((all.trie, all.block_duties()), (TrieForm::RethLike, BlockDuties::all()));
    assert_eq!(run("whole = \"all\"\ntrie = \"cut\"").trie, TrieForm::Cut);
}

#[test]
fn wrong_choices_are_refused_with_their_remedy() {
    let whole = |keys: &str| parse(&with_run(&format!("whole = \"one\"\n{keys}")));
    assert_error(
        whole("commit = \"unlogged\""),
        &["run.commit", "stays in memory", "run.commit = \"logged\""],
    );
    assert_error(whole("trie = \"none\""), &["run.whole", "so it has no root", "run.trie"]);
    for rows in ["one", "all"] {
        let partly = |key: &str| parse(&with_run(&format!("whole = \"{rows}\"\n{key}")));
        for duties in ["[]", "\"receipts\"", "[\"header\", \"recover\"]"] {
            assert_error(
                partly(&format!("duties = {duties}")),
                &["run.duties", "all duties", "run.whole"],
            );
        }
        assert_error(
            partly("root = \"none\""),
            &["run.root", "the root of its state", "\"after\""],
        );
    }
    assert_error(parse(&with_run("whole = \"some\"")), &["run.whole", "some is no choice", "all"]);
    let plain = with_run("whole = \"all\"").replace("\"2M\"", "\"2M\"\nlayout = \"plain\"");
    assert_error(parse(&plain), &["run.whole", "the plain layout", "state.layout = \"hashed\""]);
}
