//! The device's figures above the table.

use result::{RunResult, example};

use super::words;
use crate::{Paint, table};

#[test]
fn figures_that_a_sweep_shares_say_so_and_how_old_they_are() {
    let mut result = example::typical();
    let page = |result: &RunResult| words(&table(result, 80, Paint::Plain));
    assert!(!page(&result).contains("for the sweep"), "a run measures by itself");
    result.device.as_mut().unwrap().shared = Some(example::shared_device());
    let text = page(&result);
    assert!(
        text.contains("one alone, measured once for the sweep, 600 s before this cell"),
        "{text}"
    );
    result.started_unix_s = 1;
    let text = page(&result);
    assert!(text.contains("measured once for the sweep") && !text.contains("before this cell"));
    result.device.as_mut().unwrap().ceiling_iops = None;
    assert!(!page(&result).contains("for the sweep"), "there is no figure");
}
