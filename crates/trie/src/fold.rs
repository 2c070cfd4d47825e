//! Hashes nodes for the builder by height: leaves first, then their parents, and so on. All nodes
//! of one height are hashed together in SIMD lanes.

use std::ops::Range;

use workload::keccak::Messages;

use crate::{
    path::Path,
    reference::Reference,
    rlp::{Branch, Extension, Leaf, nibbles},
};

/// Number of nodes that are collected before they are hashed. They are enough to fill the SIMD
/// lanes at nearly every height, and few enough for their bytes to stay in the second-level cache.
const CAPACITY: usize = 2_048;

/// Index of a node in a [`Fold`]. Valid until [`Fold::reset`].
pub(crate) type NodeIndex = u32;

/// Amount of hashing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of nodes that were hashed. Nodes shorter than 32 bytes are not hashed.
    pub hash_count: u64,
    /// Number of permutations of Keccak for these nodes.
    pub permutation_count: u64,
}

impl Work {
    /// The sum of this and other work.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            hash_count: self.hash_count + other.hash_count,
            permutation_count: self.permutation_count + other.permutation_count,
        }
    }
}

#[derive(Debug)]
enum Kind {
    Branch { mask: u16, children: [NodeIndex; 16] },
    Extension { from: u8, child: NodeIndex },
}

#[derive(Debug)]
struct Job {
    index: NodeIndex,
    path: Path,
    kind: Kind,
}

/// Messages to hash, and the node of each message.
#[derive(Debug, Default)]
struct Batch {
    messages: Messages,
    indices: Vec<NodeIndex>,
}

/// RLP of nodes that a store keeps by path, until the next [`Fold::take_rlp`].
#[derive(Debug, Default)]
struct KeptRlp {
    rlp: Vec<u8>,
    nodes: Vec<(NodeIndex, Path, Range<usize>)>,
}

/// Use of the nodes' RLP after hashing: only [`Format::All`](crate::Format::All) stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rlp {
    Forgotten,
    Kept,
}

/// Nodes that wait for their hashes.
#[derive(Debug)]
pub(crate) struct Fold {
    references: Vec<Reference>,
    /// Height of each node: 0 for leaves and known nodes.
    heights: Vec<u8>,
    leaves: Batch,
    /// Nodes to encode and hash, by height: element n has the nodes of height n + 1.
    levels: Vec<Vec<Job>>,
    inner: Batch,
    hashes: Vec<[u8; 32]>,
    kept: Option<KeptRlp>,
    work: Work,
}

impl Fold {
    pub(crate) fn new(rlp: Rlp) -> Self {
        Self {
            references: Vec::new(),
            heights: Vec::new(),
            leaves: Batch::default(),
            levels: Vec::new(),
            inner: Batch::default(),
            hashes: Vec::new(),
            kept: (rlp == Rlp::Kept).then(KeptRlp::default),
            work: Work::default(),
        }
    }

    /// Whether enough nodes wait to be hashed together.
    pub(crate) fn is_full(&self) -> bool {
        self.references.len() >= CAPACITY
    }

    pub(crate) const fn work(&self) -> Work {
        self.work
    }

    fn add(&mut self, reference: Reference, height: u8) -> NodeIndex {
        let index = self.references.len() as NodeIndex;
        self.references.push(reference);
        self.heights.push(height);
        index
    }

    /// Adds a node that is known by its reference.
    pub(crate) fn known(&mut self, reference: Reference) -> NodeIndex {
        self.add(reference, 0)
    }

    pub(crate) fn leaf(&mut self, leaf: &Leaf<'_>) -> NodeIndex {
        let index = self.add(Reference::PENDING, 0);
        let node = Encoded { index, len: leaf.len() };
        let kept = self.kept.as_mut().map(|kept| (kept, leaf.path.prefix(leaf.from)));
        if let Some(inline) = node.place(&mut self.leaves, kept, |out| leaf.write(out)) {
            self.references[index as usize] = inline;
        }
        index
    }

    pub(crate) fn branch(
        &mut self,
        path: Path,
        mask: u16,
        children: &[NodeIndex; 16],
    ) -> NodeIndex {
        let indices = nibbles(mask).map(|nibble| children[usize::from(nibble)]);
        let child_height = indices.map(|index| self.heights[index as usize]).max();
        self.add_job(path, Kind::Branch { mask, children: *children }, child_height.unwrap_or(0))
    }

    /// Adds an extension over the nibbles of `path` from `from` on.
    pub(crate) fn extension(&mut self, path: Path, from: usize, child: NodeIndex) -> NodeIndex {
        let child_height = self.heights[child as usize];
        self.add_job(path, Kind::Extension { from: from as u8, child }, child_height)
    }

    fn add_job(&mut self, path: Path, kind: Kind, child_height: u8) -> NodeIndex {
        let index = self.add(Reference::PENDING, child_height + 1);
        let level = usize::from(child_height);
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Vec::new);
        }
        self.levels[level].push(Job { index, path, kind });
        index
    }

    /// Hashes all nodes that wait.
    pub(crate) fn hash(&mut self) {
        self.leaves.hash(&mut self.references, &mut self.hashes, &mut self.work);
        for level in &mut self.levels {
            for job in level.drain(..) {
                let inline = encode(&job, &mut self.inner, &self.references, self.kept.as_mut());
                if let Some(inline) = inline {
                    self.references[job.index as usize] = inline;
                }
            }
            self.inner.hash(&mut self.references, &mut self.hashes, &mut self.work);
        }
    }

    /// The reference of a node, once it is hashed.
    pub(crate) fn reference(&self, index: NodeIndex) -> &Reference {
        &self.references[index as usize]
    }

    /// Passes to `each` the path and RLP of the nodes that were hashed since the last call,
    /// children before parents. Nodes shorter than 32 bytes are not passed.
    pub(crate) fn take_rlp<E>(
        &mut self,
        mut each: impl FnMut(&Path, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        kept.nodes.sort_unstable_by_key(|(index, ..)| *index);
        for (_, path, range) in kept.nodes.drain(..) {
            each(&path, &kept.rlp[range])?;
        }
        kept.rlp.clear();
        Ok(())
    }

    /// Forgets all nodes; no index is valid any longer.
    pub(crate) fn reset(&mut self) {
        self.references.clear();
        self.heights.clear();
    }
}

impl Batch {
    fn hash(&mut self, references: &mut [Reference], hashes: &mut Vec<[u8; 32]>, work: &mut Work) {
        if self.indices.is_empty() {
            return;
        }
        self.messages.hash_all(hashes);
        work.hash_count += self.messages.len() as u64;
        work.permutation_count += self.messages.block_count() as u64;
        for (index, hash) in self.indices.drain(..).zip(&*hashes) {
            references[index as usize] = Reference::of_hash(&hash.into());
        }
        self.messages.clear();
    }
}

/// A node that is about to be written, with the length of its RLP.
struct Encoded {
    index: NodeIndex,
    len: usize,
}

impl Encoded {
    /// Writes a node of 32 bytes or more into `batch`, to be hashed. Returns a shorter node as a
    /// reference.
    fn place(
        &self,
        batch: &mut Batch,
        kept: Option<(&mut KeptRlp, Path)>,
        write: impl FnOnce(&mut [u8]),
    ) -> Option<Reference> {
        if self.len < 32 {
            return Some(Reference::inline_with(self.len, write));
        }
        batch.indices.push(self.index);
        batch.messages.push_with(self.len, |out| {
            write(out);
            if let Some((kept, path)) = kept {
                let start = kept.rlp.len();
                kept.rlp.extend_from_slice(out);
                kept.nodes.push((self.index, path, start..start + out.len()));
            }
        });
        None
    }
}

fn encode(
    job: &Job,
    batch: &mut Batch,
    references: &[Reference],
    kept: Option<&mut KeptRlp>,
) -> Option<Reference> {
    match &job.kind {
        Kind::Branch { mask, children } => {
            let branch =
                Branch::new(*mask, |nibble| &references[children[usize::from(nibble)] as usize]);
            let node = Encoded { index: job.index, len: branch.len() };
            node.place(batch, kept.map(|kept| (kept, job.path)), |out| branch.write(out))
        }
        Kind::Extension { from, child } => {
            let (from, child) = (usize::from(*from), &references[*child as usize]);
            let extension = Extension { path: &job.path, from, child };
            let node = Encoded { index: job.index, len: extension.len() };
            let kept = kept.map(|kept| (kept, job.path.prefix(from)));
            node.place(batch, kept, |out| extension.write(out))
        }
    }
}
