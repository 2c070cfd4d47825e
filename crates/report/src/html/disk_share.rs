//! The share of the disk that a row got, or why there is none.

use variant::CacheMode;

use super::{
    data::Row,
    figure::figure,
    markup::{not_applicable, number, unknown},
};
use crate::units;

/// The share as text. A warm row reads from memory, and some stores have no device.
pub(super) fn disk_share(row: &Row<'_>) -> String {
    let share = figure!(row.cell, device_fraction);
    match (&share, row.cell.cache.want) {
        (Some(_), _) => number(share.as_ref(), |share| format!("{} %", units::percent(share))),
        (None, Some(CacheMode::Warm)) => not_applicable("warm"),
        (None, Some(CacheMode::Cold)) => unknown(),
        (None, None) => not_applicable("no device"),
    }
}
