//! Prints lists, and the differences between two lists, as text and as JSON, for the option
//! `--bal`.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, Bytes, keccak256};
use report::ListLine;
use serde::Serialize;
use serde_json::{Value, json};
use workload::list::{
    Difference, DifferenceKind, Extent, Fault, LenientAccount, LenientList, ListCounts,
};

use crate::{
    cli::args::Format,
    terminal::{self, Code, Failure, WithExitCode},
};

/// Maximal number of a list's faults that are printed.
const SHOWN_FAULTS: usize = 20;
/// Maximal number of differences in the text. JSON has all differences.
const SHOWN_DIFFERENCES: usize = 40;

/// A decoded list and its name.
pub(super) struct Side {
    pub(super) name: String,
    pub(super) list: LenientList,
}

/// Two lists and their differences. The left list is taken for the correct one.
pub(super) struct Comparison {
    pub(super) left: Side,
    pub(super) right: Side,
    pub(super) differences: Vec<Difference>,
}

/// Prints a list: the accounts in `only`, or all accounts if `only` is empty.
pub(super) fn print_list(side: &Side, only: &[Address], format: Format) -> Result<Code, Failure> {
    let accounts =
        side.list.accounts.iter().filter(|account| is_shown(only, account.changes.address));
    match format {
        Format::Json => {
            let accounts: Vec<_> = accounts.map(account_json).collect();
            terminal::out(&report::json(&accounts).with_exit_code(Code::Io)?);
            let faults = side.list.faults.iter().take(SHOWN_FAULTS);
            faults.for_each(|fault| terminal::error(&format!("{}: {fault}", fault.kind().name())));
        }
        Format::Table => {
            let head = [ListLine::Head(head(side))].into_iter().chain(absent(only, [side]));
            let lines = head.chain(fault_lines(&side.list.faults));
            let lines = lines.chain(accounts.flat_map(account_lines));
            terminal::out(&report::list_page(lines, terminal::width(), terminal::paint()));
        }
    }
    Ok(if side.list.faults.is_empty() { Code::Fine } else { Code::Disagree })
}

/// Prints how the right list differs from the left one: at the accounts in `only`, or at all
/// accounts if `only` is empty.
pub(super) fn print_comparison(
    comparison: &Comparison,
    only: &[Address],
    format: Format,
) -> Result<Code, Failure> {
    let Comparison { left, right, differences } = comparison;
    let shown: Vec<&Difference> = differences
        .iter()
        .filter(|found| found.address.map_or(only.is_empty(), |address| is_shown(only, address)))
        .collect();
    let mut kinds = BTreeMap::new();
    for difference in &shown {
        *kinds.entry(difference.kind).or_insert(0_u64) += 1;
    }
    let json = ComparisonJson {
        left: SideJson::from(left),
        right: SideJson::from(right),
        count: shown.len(),
        kinds: &kinds,
        differences: &shown,
    };
    format.print(&json, |_, width, paint| {
        let heads = [("left", left), ("right", right)];
        let heads = heads.map(|(name, side)| ListLine::Head(format!("{name} {}", head(side))));
        let elsewhere = differences.len() - shown.len();
        let lines = heads.into_iter().chain(absent(only, [left, right]));
        let lines = lines.chain([summary(&shown, &kinds, elsewhere)]);
        report::list_page(lines.chain(difference_lines(&shown)), width, paint)
    })?;
    Ok(if differences.is_empty() { Code::Fine } else { Code::Disagree })
}

fn is_shown(only: &[Address], address: Address) -> bool {
    only.is_empty() || only.contains(&address)
}

/// Makes a note for each account in `only` that is in none of the lists.
fn absent<'s>(only: &[Address], sides: impl IntoIterator<Item = &'s Side>) -> Vec<ListLine> {
    let accounts = sides.into_iter().flat_map(|side| &side.list.accounts);
    let listed: BTreeSet<Address> = accounts.map(|account| account.changes.address).collect();
    let absent = only.iter().filter(|address| !listed.contains(*address));
    absent.map(|address| ListLine::Note(format!("{address}: not in the list"))).collect()
}

fn head(Side { name, list }: &Side) -> String {
    let ListCounts { accounts, written_slots, read_slots, changes } = list.counts();
    let (bytes, hash) = (list.encoded.len(), keccak256(&list.encoded));
    format!(
        "{name}: accounts {accounts}, slots written {written_slots}, slots read {read_slots}, \
         changes {changes}, bytes of RLP {bytes}, keccak256 {hash}"
    )
}

fn fault_lines(faults: &[Fault]) -> impl Iterator<Item = ListLine> {
    let rest = faults.len().saturating_sub(SHOWN_FAULTS);
    let rest = (rest > 0).then(|| ListLine::Note(format!("… and {rest} more broken rules")));
    let shown = faults.iter().take(SHOWN_FAULTS);
    let shown = shown.map(|fault| ListLine::Fault(format!("{}: {fault}", fault.kind().name())));
    shown.chain(rest)
}

fn account_lines(account: &LenientAccount) -> Vec<ListLine> {
    let changes = &account.changes;
    let mut entries = Vec::new();
    for slot in &changes.storage_changes {
        let writes = slot.changes.iter();
        let writes = writes.map(|w| format!("{}→{:#x}", w.block_access_index, w.new_value));
        entries.push(format!("slot {:#x}: {}", slot.slot, joined(writes)));
    }
    let reads = changes.storage_reads.iter().map(|slot| format!("{slot:#x}"));
    let balances = changes.balance_changes.iter();
    let balances = balances.map(|w| format!("{}→{}", w.block_access_index, w.post_balance));
    let nonces = changes.nonce_changes.iter();
    let nonces = nonces.map(|w| format!("{}→{}", w.block_access_index, w.new_nonce));
    let codes = changes.code_changes.iter().map(|w| {
        let (hash, bytes) = (keccak256(&w.new_code), w.new_code.len());
        format!("{}→{hash} ({bytes} bytes)", w.block_access_index)
    });
    for (label, words) in [
        ("reads", joined(reads)),
        ("balance", joined(balances)),
        ("nonce", joined(nonces)),
        ("code", joined(codes)),
    ] {
        if !words.is_empty() {
            entries.push(format!("{label}: {words}"));
        }
    }
    if account.extent == Extent::Partial {
        entries.push("the rest cannot be read".to_owned());
    }
    let head = ListLine::Account(changes.address.to_string());
    [head].into_iter().chain(entries.into_iter().map(ListLine::Entry)).collect()
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

fn summary(
    shown: &[&Difference],
    kinds: &BTreeMap<DifferenceKind, u64>,
    elsewhere: usize,
) -> ListLine {
    let elsewhere = match elsewhere {
        0 => String::new(),
        count => format!("; {count} at other accounts"),
    };
    if shown.is_empty() {
        return ListLine::Head(format!("no difference{elsewhere}"));
    }
    let kinds: Vec<_> =
        kinds.iter().map(|(kind, count)| format!("{} {count}", kind.name())).collect();
    ListLine::Fault(format!("differences {}: {}{elsewhere}", shown.len(), kinds.join(", ")))
}

fn difference_lines(shown: &[&Difference]) -> Vec<ListLine> {
    let mut lines = Vec::new();
    let mut account = None;
    for difference in shown.iter().take(SHOWN_DIFFERENCES) {
        if account != Some(difference.address) {
            account = Some(difference.address);
            let name = difference.address.map(|address| address.to_string());
            lines.push(ListLine::Account(name.unwrap_or_else(|| "no account".to_owned())));
        }
        lines.push(ListLine::Entry(difference_words(difference)));
    }
    let rest = shown.len().saturating_sub(SHOWN_DIFFERENCES);
    let more = format!("… and {rest} more: --format json has all");
    lines.extend((rest > 0).then_some(ListLine::Note(more)));
    lines
}

/// Formats a difference, such as `slot 0x5, index 3: wrong value; left 0x1, right 0x2`.
fn difference_words(difference: &Difference) -> String {
    let field = difference.field.map(|field| field.to_string());
    let index = difference.index.map(|index| format!("index {index}"));
    let place: Vec<_> = [field, index].into_iter().flatten().collect();
    let place = if place.is_empty() { String::new() } else { place.join(", ") + ": " };
    let left = difference.left.as_ref().map(|words| format!("left {words}"));
    let right = difference.right.as_ref().map(|words| format!("right {words}"));
    let sides: Vec<_> = [left, right].into_iter().flatten().collect();
    let sides = if sides.is_empty() { sides.concat() } else { format!("; {}", sides.join(", ")) };
    format!("{place}{}{sides}", difference.kind.name())
}

/// Two lists and their differences, as JSON.
#[derive(Serialize)]
struct ComparisonJson<'a> {
    left: SideJson<'a>,
    right: SideJson<'a>,
    count: usize,
    kinds: &'a BTreeMap<DifferenceKind, u64>,
    differences: &'a [&'a Difference],
}

/// Name, counts, size and hash of a list, as JSON.
#[derive(Serialize)]
struct SideJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    counts: ListCounts,
    bytes: usize,
    keccak256: B256,
}

impl<'a> From<&'a Side> for SideJson<'a> {
    fn from(Side { name, list }: &'a Side) -> Self {
        let (counts, encoded) = (list.counts(), &list.encoded);
        Self { name, counts, bytes: encoded.len(), keccak256: keccak256(encoded) }
    }
}

/// Formats an account as JSON with the keys of `execution-apis`.
fn account_json(account: &LenientAccount) -> Value {
    let changes = &account.changes;
    let slots = changes.storage_changes.iter().map(|slot| {
        let writes = slot.changes.iter();
        let writes = writes.map(|w| change(w.block_access_index.get(), B256::from(w.new_value)));
        json!({ "key": B256::from(slot.slot), "changes": writes.collect::<Vec<_>>() })
    });
    let reads = changes.storage_reads.iter().map(|slot| B256::from(*slot));
    let balances = changes.balance_changes.iter();
    let balances = balances.map(|w| change(w.block_access_index.get(), w.post_balance));
    let nonces = changes.nonce_changes.iter();
    let nonces = nonces.map(|w| change(w.block_access_index.get(), format!("{:#x}", w.new_nonce)));
    let codes = changes.code_changes.iter().map(|w| {
        let (index, code): (_, &Bytes) = (w.block_access_index.get(), &w.new_code);
        json!({ "index": format!("{index:#x}"), "code": code })
    });
    json!({
        "address": changes.address,
        "storageChanges": slots.collect::<Vec<_>>(),
        "storageReads": reads.collect::<Vec<_>>(),
        "balanceChanges": balances.collect::<Vec<_>>(),
        "nonceChanges": nonces.collect::<Vec<_>>(),
        "codeChanges": codes.collect::<Vec<_>>(),
    })
}

/// Formats the change of a slot, a balance or a nonce as JSON. `index` is its block access index.
fn change(index: u64, value: impl Serialize) -> Value {
    json!({ "index": format!("{index:#x}"), "value": value })
}
