//! The tries of all rows of a database, hashed by several threads: rows of slots are cut into parts,
//! small tries whole and large ones by the first nibble of their keys, and joined.

use std::collections::{BTreeMap, BTreeSet};

use ::rocksdb::DB;
use alloy_primitives::{B256, keccak256};
use trie::{Builder, EMPTY_ROOT, Floating, Format, NodeSink, Path, SlotValue};
use workload::{
    Genesis,
    layout::{decode_account, decode_slot},
};

use super::{
    options,
    rows::Rows,
    sample,
    settings::{NAME, failed},
    threads,
};
use crate::{
    error::StoreError,
    leaves,
    state::{StateError, Watch},
    tries::TrieId,
    try_map::try_map,
};

/// From so many slots on, a trie is hashed in 16 parts.
pub(super) const LARGE_SLOT_COUNT: u64 = 1 << 20;
/// Slots of small tries in a part, about.
const PART_SLOT_COUNT: u64 = 1 << 22;
const REPORT_ROWS: u64 = 1 << 16;

/// Takes the nodes of tries, one trie after the other.
pub(super) trait NodeTarget: NodeSink + Sized {
    /// The nodes that follow are those of a trie.
    fn begin(&mut self, trie: TrieId);
}

/// Which nodes a target is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeRange {
    /// Index among all targets, by ascending keys; that of the accounts comes first.
    pub(super) index: usize,
    /// Lower bound of the rows' keys.
    pub(super) first: Vec<u8>,
    /// The first key that is not in it; `None`: to the last one.
    pub(super) end: Option<Vec<u8>>,
}

/// Slots that are hashed by one thread.
#[derive(Clone, Debug)]
pub(super) struct Part {
    kind: PartKind,
    /// Lower bound of the rows' keys.
    pub(super) first: Vec<u8>,
    end: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind {
    /// Whole tries.
    Tries,
    /// A trie's keys that begin with a nibble.
    Shard(B256, u8),
}

/// All slots of `genesis` in parts.
pub(super) fn parts(genesis: &Genesis) -> Vec<Part> {
    let families = genesis.slots.iter().filter(|family| family.count >= LARGE_SLOT_COUNT);
    let large: BTreeSet<B256> = families.map(|family| keccak256(family.address)).collect();
    let small: u64 =
        genesis.slots.iter().map(|family| family.count).filter(|n| *n < LARGE_SLOT_COUNT).sum();
    let part_count = small.div_ceil(PART_SLOT_COUNT).next_power_of_two().min(256) as usize;
    let mut cuts: BTreeSet<Vec<u8>> =
        (1..part_count).map(|part| vec![(part * 256 / part_count) as u8]).collect();
    for account in &large {
        cuts.insert(account.to_vec());
        cuts.extend((1..16_u8).map(|nibble| [account.as_slice(), &[nibble << 4]].concat()));
        cuts.extend(after(account));
    }
    let cuts: Vec<_> = std::iter::once(Vec::new()).chain(cuts).collect();
    let parts = cuts.iter().enumerate().map(|(index, first)| {
        let account = first.get(..32).map(B256::from_slice);
        let kind = match account.filter(|account| large.contains(account)) {
            Some(account) => PartKind::Shard(account, first.get(32).map_or(0, |byte| byte >> 4)),
            None => PartKind::Tries,
        };
        Part { kind, first: first.clone(), end: cuts.get(index + 1).cloned() }
    });
    parts.collect()
}

/// The key after that of an account and all its slots; none after the last one.
fn after(account: &B256) -> Option<Vec<u8>> {
    let last = account.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = account[..=last].to_vec();
    next[last] += 1;
    next.resize(32, 0);
    Some(next)
}

impl Part {
    /// The nodes of its rows; `part` is its index among all parts.
    pub(super) fn nodes(&self, part: usize) -> NodeRange {
        // There is room for a join behind each part.
        let index = 2 * part + 1;
        let of_slots = |key: &[u8]| [&[1], key].concat();
        match self.kind {
            PartKind::Tries => NodeRange {
                index,
                first: of_slots(&self.first),
                end: self.end.as_ref().map(|end| of_slots(end)),
            },
            // Keys of nodes have a byte a nibble.
            PartKind::Shard(account, nibble) => {
                let at = |nibble: u8| [&[1], account.as_slice(), &[nibble]].concat();
                NodeRange { index, first: at(nibble), end: Some(at(nibble + 1)) }
            }
        }
    }
}

/// A part whose rows are hashed.
pub(super) struct Hashed<T> {
    target: T,
    /// Roots of slots by hashed address.
    roots: Vec<(B256, B256)>,
    /// Of a shard.
    floating: Option<(B256, Floating)>,
}

/// The tries of a part, whose rows come in the order of their keys.
pub(super) struct PartTries<T: NodeTarget> {
    format: Format,
    open: Open<T>,
    /// Of whole tries.
    roots: Vec<(B256, B256)>,
}

/// The trie that the next row may belong to.
enum Open<T: NodeTarget> {
    /// Before the first row.
    Idle(T),
    Trie(B256, Box<Builder<T>>),
    Shard(B256, Box<Builder<T>>),
    /// A trie could not be finished.
    Failed,
}

impl<T: NodeTarget> PartTries<T> {
    /// Before all rows; `target` takes the nodes.
    pub(super) fn new(format: Format, part: &Part, mut target: T) -> Self {
        let open = match part.kind {
            PartKind::Tries => Open::Idle(target),
            PartKind::Shard(account, nibble) => {
                target.begin(TrieId::Slots(account));
                let builder = Builder::below(Path::of_nibble(nibble), format, target);
                Open::Shard(account, Box::new(builder))
            }
        };
        Self { format, open, roots: Vec::new() }
    }

    /// Adds a slot's row.
    pub(super) fn row(&mut self, key: &[u8], value: &[u8]) -> Result<(), StateError> {
        let leaf = slot_leaf(key, value)?;
        let (account, slot) = key.split_at(32);
        if !matches!(&self.open, Open::Trie(of, _) | Open::Shard(of, _) if *of == account) {
            self.begin(B256::from_slice(account))?;
        }
        match &mut self.open {
            Open::Trie(_, builder) | Open::Shard(_, builder) => {
                builder.push(slot, leaf.as_slice()).map_err(no_trie)
            }
            Open::Idle(_) | Open::Failed => Err(wrong_value(key)),
        }
    }

    /// Begins the trie of the next account.
    fn begin(&mut self, account: B256) -> Result<(), StateError> {
        if let Open::Shard(of, _) = &self.open {
            let reason = format!("a row of {account} is among those of the large trie of {of}");
            let action = "make the tries".to_owned();
            return Err(StoreError::Failed { store: NAME, action, reason }.into());
        }
        let open = std::mem::replace(&mut self.open, Open::Failed);
        let mut target = self.close(open)?;
        target.begin(TrieId::Slots(account));
        self.open = Open::Trie(account, Box::new(Builder::new(self.format, target)));
        Ok(())
    }

    /// Finishes a whole trie.
    fn close(&mut self, open: Open<T>) -> Result<T, StateError> {
        match open {
            Open::Idle(target) => Ok(target),
            Open::Trie(account, builder) => {
                let built = builder.finish().map_err(no_trie)?;
                self.roots.push((account, built.root));
                Ok(built.sink)
            }
            Open::Shard(..) | Open::Failed => unreachable!("neither is closed as a whole trie"),
        }
    }

    /// After all rows.
    pub(super) fn finish(mut self) -> Result<Hashed<T>, StateError> {
        let (target, floating) = match std::mem::replace(&mut self.open, Open::Failed) {
            Open::Shard(account, builder) => {
                let built = builder.finish_floating().map_err(no_trie)?;
                (built.sink, Some((account, built.root)))
            }
            open => (self.close(open)?, None),
        };
        Ok(Hashed { target, roots: self.roots, floating })
    }
}

/// The rows of a database, to be hashed.
pub(super) struct TrieRows<'a> {
    pub(super) db: &'a DB,
    pub(super) format: Format,
    pub(super) genesis: &'a Genesis,
    pub(super) watch: &'a Watch<'a>,
    pub(super) threads: usize,
}

/// A row's key and value.
type RowSink<'s> = dyn FnMut(&[u8], &[u8]) -> Result<(), StateError> + 's;

/// That the rows make no trie, or that the sink failed, with its reason.
pub(super) fn no_trie(error: trie::Error) -> StateError {
    let reason = match &error {
        trie::Error::Sink { source, .. } => format!("{error}: {source}"),
        error => error.to_string(),
    };
    StoreError::Failed { store: NAME, action: "make the tries".to_owned(), reason }.into()
}

/// That a value has a wrong length.
pub(super) fn wrong_value(key: &[u8]) -> StateError {
    let what = format!("row {}", alloy_primitives::hex::encode_prefixed(key));
    let reason = "its value has another length".to_owned();
    StoreError::Damaged { store: NAME, what, reason }.into()
}

impl TrieRows<'_> {
    /// Reads the rows of all slots and hashes all tries. `target` makes what takes their nodes. Returns
    /// the state root and all targets by the order of their keys.
    pub(super) fn hash<T: NodeTarget + Send>(
        &self,
        target: impl Fn(NodeRange) -> Result<T, StateError> + Sync,
    ) -> Result<(B256, Vec<T>), StateError> {
        let parts = parts(self.genesis);
        let hash = |_: &mut (), index: usize, part: &Part| {
            self.hash_part(part, target(part.nodes(index))?)
        };
        let hashed = threads::pool(self.threads)?.install(|| try_map(&parts, || (), hash))?;
        self.join(hashed, target)
    }

    /// Joins the shards of large tries and hashes the accounts. `hashed` has all of [`parts`], in their
    /// order.
    pub(super) fn join<T: NodeTarget>(
        &self,
        hashed: Vec<Hashed<T>>,
        target: impl Fn(NodeRange) -> Result<T, StateError>,
    ) -> Result<(B256, Vec<T>), StateError> {
        let (mut targets, mut roots) = (Vec::new(), BTreeMap::new());
        let mut shards = Vec::new();
        for (index, hashed) in hashed.into_iter().enumerate() {
            targets.push(hashed.target);
            roots.extend(hashed.roots);
            let Some((account, floating)) = hashed.floating else { continue };
            shards.push(floating);
            if shards.len() == 16 {
                let at = |end: u8| [&[1], account.as_slice(), &[end]].concat();
                // It follows the last shard of its trie.
                let range = NodeRange { index: 2 * index + 2, first: at(16), end: Some(at(18)) };
                let mut target = target(range)?;
                target.begin(TrieId::Slots(account));
                let mut builder = Builder::new(self.format, target);
                for floating in shards.drain(..) {
                    builder.push_floating(&floating).map_err(no_trie)?;
                }
                let built = builder.finish().map_err(no_trie)?;
                roots.insert(account, built.root);
                targets.push(built.sink);
            }
        }
        // The accounts come before all.
        let range = NodeRange { index: 0, first: vec![0], end: Some(vec![1]) };
        let (root, accounts) = self.hash_accounts(&roots, target(range)?)?;
        targets.insert(0, accounts);
        Ok((root, targets))
    }

    fn hash_part<T: NodeTarget>(&self, part: &Part, target: T) -> Result<Hashed<T>, StateError> {
        let mut tries = PartTries::new(self.format, part, target);
        self.each_row(options::STORAGE, part, &mut |key, value| tries.row(key, value))?;
        tries.finish()
    }

    fn hash_accounts<T: NodeTarget>(
        &self,
        roots: &BTreeMap<B256, B256>,
        mut target: T,
    ) -> Result<(B256, T), StateError> {
        target.begin(TrieId::Accounts);
        let mut builder = Builder::new(self.format, target);
        let mut leaf = Vec::new();
        let all = Part { kind: PartKind::Tries, first: Vec::new(), end: None };
        self.each_row(options::ACCOUNTS, &all, &mut |key, value| {
            let state = decode_account(value).ok_or_else(|| wrong_value(key))?;
            let root = roots.get(key).copied().unwrap_or(EMPTY_ROOT);
            leaves::account(&state, root, &mut leaf);
            builder.push(key, &leaf).map_err(no_trie)
        })?;
        let built = builder.finish().map_err(no_trie)?;
        Ok((built.root, built.sink))
    }

    /// Hands over the rows of a part in order.
    fn each_row(
        &self,
        family: &'static str,
        part: &Part,
        sink: &mut RowSink<'_>,
    ) -> Result<(), StateError> {
        let mut reads = options::scan_reads();
        reads.set_iterate_lower_bound(part.first.clone());
        if let Some(end) = &part.end {
            reads.set_iterate_upper_bound(end.clone());
        }
        let mut unreported = 0;
        let family = sample::family(self.db, family)?;
        let mut rows = Rows::new(self.db, family, reads);
        while let Some((key, value)) = rows.next().map_err(failed("read the rows of tries"))? {
            sink(key, value)?;
            unreported += 1;
            if unreported == REPORT_ROWS {
                self.watch.progress.advance(unreported);
                self.watch.check()?;
                unreported = 0;
            }
        }
        self.watch.progress.advance(unreported);
        Ok(())
    }
}

/// Bytes of a slot's key: the account's and its own.
pub(super) const SLOT_KEY_BYTES: usize = 64;

/// A slot's value as its leaf has it.
fn slot_leaf(key: &[u8], value: &[u8]) -> Result<SlotValue, StateError> {
    let value = decode_slot(value).and_then(|value| SlotValue::new(&value));
    value.filter(|_| key.len() == SLOT_KEY_BYTES).ok_or_else(|| wrong_value(key))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;
    use workload::{KeyRule, SlotFamily, ValueRule};

    use super::*;

    fn family(byte: u8, count: u64) -> SlotFamily {
        SlotFamily {
            address: Address::repeat_byte(byte),
            count,
            keys: KeyRule::Keccak,
            values: ValueRule::Random,
            seed: B256::ZERO,
        }
    }

    #[test]
    fn parts_follow_each_other_and_large_tries_are_cut_by_nibble() {
        let slots = vec![family(1, LARGE_SLOT_COUNT), family(2, 5), family(3, 1 << 30)];
        let parts = parts(&Genesis { slots, ..Genesis::default() });
        assert!(parts[0].first.is_empty() && parts[parts.len() - 1].end.is_none());
        assert!(parts.windows(2).all(|pair| pair[0].end.as_ref() == Some(&pair[1].first)));
        let shards = parts.iter().filter(|part| part.kind != PartKind::Tries).count();
        assert_eq!((shards, parts.len()), (32, 35));
        let nodes: Vec<_> = parts.iter().enumerate().map(|(i, part)| part.nodes(i)).collect();
        assert!(nodes.windows(2).all(|pair| pair[0].first < pair[1].first));
        // Between the last shard and the next part lie the nodes of the join.
        let ends = nodes.windows(2).all(|pair| pair[0].end.as_ref().unwrap() <= &pair[1].first);
        assert!(ends);
    }

    #[test]
    fn the_last_account_has_none_after_it() {
        assert_eq!(after(&B256::repeat_byte(0xff)), None);
        let mut account = B256::repeat_byte(0xff);
        account[0] = 7;
        assert_eq!(after(&account).map(|next| (next[0], next[31], next.len())), Some((8, 0, 32)));
    }

    #[test]
    fn many_small_tries_are_cut_by_their_accounts() {
        let slots = (0..40).map(|byte| family(byte, LARGE_SLOT_COUNT - 1)).collect();
        let parts = parts(&Genesis { slots, ..Genesis::default() });
        assert_eq!(parts.len(), 16);
        assert!(parts.iter().all(|part| part.kind == PartKind::Tries));
    }
}
