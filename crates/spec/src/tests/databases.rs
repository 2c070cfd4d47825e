//! Runs over several databases.

use super::{MINIMAL_SCENARIO, assert_error, parse};

#[test]
fn several_databases_of_one_state_are_rejected_and_so_is_none() {
    let text = format!("{MINIMAL_SCENARIO}[run]\ndatabases = 3\n");
    assert_eq!(parse(&text).expect("a state whose seed is derived").run.database_count, 3);
    assert_error(
        parse(&text.replace("slots = \"2M\"", "slots = \"2M\"\nseed = 7")),
        &["run.databases: 3 databases", "state.seed = 7 fixes it", "leave state.seed out"],
    );
    for (count, bound) in [("0", "is below 1"), ("65", "is above 64")] {
        let given = text.replace("databases = 3", &format!("databases = {count}"));
        assert_error(parse(&given), &["run.databases", bound]);
    }
}
