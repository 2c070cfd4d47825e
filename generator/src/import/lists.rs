//! Finds the block-level access lists (EIP-7928) in a file, to show or compare them.
//! The content tells the file's kind: RLP, hex or JSON of a list, payloads and requests, answers of
//! nodes, or tests. Also makes the list of a test's block by the reference.

use alloy_primitives::Bytes;
use serde_json::{Deserializer, Value};
use workload::{Batch, ListBounds, Workload};

use super::{
    ImportError, Imported, blockchain_test::each_blockchain_test, complete::with_position,
    json::Json,
};
use crate::reference::{ReferenceRun, StopAnswer};

/// First byte of the RLP of any list.
const RLP_LIST: u8 = alloy_rlp::EMPTY_LIST_CODE;
/// Keys that hold a list, in an object with facts of the list's block.
const LIST_KEYS: [&str; 3] = ["blockAccessList", "balRlp", "encoded"];
/// Keys that may hold a list, or one or several objects with a list.
const INNER_KEYS: [&str; 6] =
    ["result", "params", "executionPayload", "rlp_decoded", "batches", "list"];
/// Keys that hold the blocks of a test.
const BLOCK_KEYS: [&str; 2] = ["blocks", "engineNewPayloads"];
/// Allowed contents of a file, for errors.
const ALLOWED: &str = "a block-level access list: its RLP, hex or JSON, a payload, a node's answer, \
                       a test, or a workload file";

/// A list in a file, or a block without a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundList {
    /// Place of the list in the file; empty if the file is the list alone.
    pub name: String,
    /// RLP of the list; `None` if the block has no list.
    pub list: Option<Bytes>,
    /// Bounds of the list, which follow from its block; `None` if the file does not have the block.
    pub bounds: Option<ListBounds>,
    /// The list's block, if it is a block of a test: only a test has the state before it.
    test_block: Option<TestBlock>,
}

/// A block of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TestBlock {
    test: String,
    /// Index of the block among all blocks of the test, also those that must be refused.
    index: usize,
}

impl FoundList {
    /// Returns the lists of a workload's batches.
    pub fn of_workload(workload: &Workload) -> Vec<Self> {
        let lists = workload.batches.iter().map(|batch| {
            let numbers: Vec<_> = batch.blocks.iter().map(|block| block.env.number).collect();
            let name = match numbers[..] {
                [first, .., last] => format!("blocks {first} to {last}"),
                _ => numbers.first().map(|number| format!("block {number}")).unwrap_or_default(),
            };
            let bounds = Some(ListBounds::new(batch, &workload.rules));
            Self { name, list: Some(batch.list.clone()), bounds, test_block: None }
        });
        lists.collect()
    }
}

/// Finds the lists in the content of `file`, in their order. A test has an item for each block,
/// also for a block without a list.
///
/// # Errors
/// [`ImportError`] with file, key, value and the allowed values; [`ImportError::Json`].
pub fn lists(file: &str, bytes: &[u8]) -> Result<Vec<FoundList>, ImportError> {
    if bytes.first().is_some_and(|first| *first >= RLP_LIST) {
        return Ok(vec![found(Bytes::copy_from_slice(bytes))]);
    }
    let text = str::from_utf8(bytes).unwrap_or_default().trim();
    if !text.starts_with(['{', '[', '"']) {
        let digits: String = text.split_whitespace().collect();
        let list = digits.parse::<Bytes>().ok();
        let list = list.filter(|list| list.first().is_some_and(|first| *first >= RLP_LIST));
        return match list {
            Some(list) => Ok(vec![found(list)]),
            None => {
                let begins = Bytes::copy_from_slice(&bytes[..bytes.len().min(8)]);
                let got = Value::String(format!("{begins}…"));
                Err(Json::root(file, &got).fault(ALLOWED))
            }
        };
    }
    let mut out = Vec::new();
    // A file may have several JSON values, such as payloads, one a line.
    for value in Deserializer::from_slice(bytes).into_iter::<Value>() {
        let value = value.map_err(|source| ImportError::Json { file: file.to_owned(), source })?;
        add_value(&Json::root(file, &value), &mut out)?;
        if out.is_empty() && !value.is_object() {
            return Err(Json::root(file, &value).fault(ALLOWED));
        }
    }
    if out.is_empty() {
        let wanted = "blockAccessList, or another place of a list";
        return Err(Json::root(file, &Value::Null).missing(wanted, ALLOWED));
    }
    Ok(out)
}

/// Makes the item of a list without facts of its block.
fn found(list: Bytes) -> FoundList {
    FoundList { list: Some(list), ..FoundList::default() }
}

/// Adds the lists of a value that is a list, an object, or an array of objects.
fn add_value(node: &Json<'_>, out: &mut Vec<FoundList>) -> Result<(), ImportError> {
    if node.text().is_ok() {
        out.push(found(node.block_access_list()?));
        return Ok(());
    }
    let Ok(items) = node.items() else { return add_object(node, out) };
    let is_list = match items.first() {
        None => true,
        Some(first) => matches!(first.find(&["address"]), Ok(Some(_))),
    };
    if is_list {
        out.push(found(node.block_access_list()?));
        return Ok(());
    }
    let mut objects = items.iter().filter(|item| item.entries().is_ok());
    objects.try_for_each(|item| add_object(item, out))
}

/// Adds the lists of an object: a block, an object around one, or tests by name.
fn add_object(node: &Json<'_>, out: &mut Vec<FoundList>) -> Result<(), ImportError> {
    if let Some(found) = list_of_block(node)? {
        out.push(FoundList { name: block_name(node)?, ..found });
        return Ok(());
    }
    for key in INNER_KEYS {
        let Some(inner) = node.find(&[key])? else { continue };
        return match (key, inner.items()) {
            // The payload is the first parameter.
            ("params", Ok(params)) => match params.first() {
                Some(payload) if payload.entries().is_ok() => add_object(payload, out),
                _ => Ok(()),
            },
            _ => add_value(&inner, out),
        };
    }
    for (name, test) in node.entries()? {
        // Entries beside the tests may have any form, and are passed over.
        if matches!(test.find(&BLOCK_KEYS), Ok(Some(_))) {
            add_test(name, &test, out)?;
        }
    }
    Ok(())
}

/// Adds an item for each block of a test. The list may be a key of the block, of its decoded
/// RLP, of its payload or, for a single block, of the test's `_info`.
fn add_test(name: &str, test: &Json<'_>, out: &mut Vec<FoundList>) -> Result<(), ImportError> {
    let blocks = test.get(&BLOCK_KEYS, "the blocks")?.items()?;
    for (index, node) in blocks.iter().enumerate() {
        let mut nodes = vec![node.clone()];
        nodes.extend(node.find(&["rlp_decoded"])?);
        if let Some(params) = node.find(&["params"])? {
            nodes.extend(params.items()?.into_iter().next());
        }
        if blocks.len() == 1 {
            nodes.extend(test.find(&["_info"])?);
        }
        let mut lists = nodes.iter().map(list_of_block).filter_map(Result::transpose);
        out.push(FoundList {
            name: format!("{name}, block {}", index + 1),
            test_block: Some(TestBlock { test: name.to_owned(), index }),
            ..lists.next().transpose()?.unwrap_or_default()
        });
    }
    Ok(())
}

/// Reads the list that is a key of the block at `node`; `None` if the block has no list.
fn list_of_block(node: &Json<'_>) -> Result<Option<FoundList>, ImportError> {
    let Some(list) = node.find(&LIST_KEYS)? else { return Ok(None) };
    let header = node.find(&["blockHeader"])?;
    let gas_limit = header.as_ref().unwrap_or(node).u64_at("gasLimit")?;
    let transactions = node.find(&["transactions"])?.and_then(|all| all.items().ok());
    let bounds = gas_limit.zip(transactions).map(|(gas_limit, transactions)| {
        let tx_count = u32::try_from(transactions.len()).unwrap_or(u32::MAX);
        ListBounds::of_block(tx_count, gas_limit)
    });
    Ok(Some(FoundList { bounds, ..found(list.block_access_list()?) }))
}

/// Returns the name of the block at `node`; empty if it has no number.
fn block_name(node: &Json<'_>) -> Result<String, ImportError> {
    let number = node.find(&["blockNumber", "number"])?.and_then(|number| number.u64().ok());
    Ok(number.map(|number| format!("block {number}")).unwrap_or_default())
}

/// Makes the list of the block of `found` by the reference. Returns it with its bounds. `text` is
/// the content of `file`, in which `found` was found. `on_tx` is called after each transaction and
/// may stop the run.
///
/// # Errors
/// [`ImportError`]: the file has no state before the block, or the blocks cannot be run.
pub fn list_by_reference<A: StopAnswer>(
    file: &str,
    text: &str,
    found: &FoundList,
    mut on_tx: impl FnMut() -> A,
) -> Result<FoundList, ImportError> {
    let Some(TestBlock { test, index }) = &found.test_block else {
        let wanted = "the state before the block: name a workload file or a blockchain_test";
        return Err(Json::root(file, &Value::Null).missing("pre", wanted));
    };
    let mut tests = each_blockchain_test(file, text)?.into_iter();
    let imported = tests.find_map(|(name, imported)| (name == *test).then_some(imported));
    let workload = match imported {
        Some(imported) => imported?.workload_to(*index)?,
        None => Workload::default(),
    };
    let mut run = ReferenceRun::new(&workload)?;
    let mut list = None;
    while let Some(made) = run.next_batch(&mut on_tx) {
        list = Some(made.map_err(|error| with_position(&workload, error))?.list);
    }
    let bounds = workload.batches.last().map(|batch| ListBounds::new(batch, &workload.rules));
    Ok(FoundList { list, bounds, ..found.clone() })
}

impl Imported {
    /// Returns the workload of the block at `index` among all blocks of the test, and of the valid
    /// blocks before it. The block itself may be one that must be refused.
    fn workload_to(self, index: usize) -> Result<Workload, ImportError> {
        let mut workload = self.workload;
        let mut invalid = self.invalid.into_iter().enumerate();
        // Number of blocks before the block at `index` that must be refused.
        let mut refused_count = 0;
        let refused = invalid.find_map(|(nth, block)| {
            // `before_count` counts valid blocks alone.
            let position = block.before_count + nth;
            refused_count += usize::from(position < index);
            (position == index).then_some(block)
        });
        let Some(block) = refused else {
            workload.batches.truncate(index + 1 - refused_count);
            return Ok(workload);
        };
        workload.batches.truncate(block.before_count);
        let number =
            workload.blocks().last().map_or(workload.first_hash_number, |block| block.env.number);
        let (block, _) = *block
            .read
            .map_err(|reason| ImportError::Block { block: number.saturating_add(1), reason })?;
        workload.batches.push(Batch { blocks: vec![block], ..Batch::default() });
        Ok(workload)
    }
}
