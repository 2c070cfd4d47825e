//! The settings that decide the bytes of a state's files. Each combination is a state with a name
//! of its own. Settings that only decide how a state is opened and read are in `RocksSettings`.

use variant::{FilterKind, IndexShape};

use crate::tries;

/// Default size of a data block in bytes.
const DEFAULT_BLOCK_BYTES: u32 = 4096;

/// Number of passes that rewrite rows of an aged state. After them, up to this many files of the
/// first level overlap in their keys. A get searches these files, newest first, and then the last
/// level.
pub(super) const GENERATIONS: u64 = 4;

/// One million: the value of [`RocksFormat::aged_ppm`] at which all rows are rewritten.
pub const PPM: u32 = 1_000_000;

/// The filter of a table file, which recognises most absent keys without a read of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    kind: FilterKind,
    bits: u32,
}

impl Filter {
    /// No filter.
    pub const NOTHING: Self = Self::new(FilterKind::Nothing, 0);

    /// Makes a filter with `bits` for each key; 0 if `kind` is no filter. A Ribbon filter has as
    /// few false positives as a Bloom filter with these bits, and is smaller.
    pub const fn new(kind: FilterKind, bits: u32) -> Self {
        let bits = match kind {
            FilterKind::Nothing => 0,
            FilterKind::Bloom | FilterKind::Ribbon => bits,
        };
        Self { kind, bits }
    }

    /// The kind of the filter.
    pub const fn kind(self) -> FilterKind {
        self.kind
    }

    /// Number of bits of the filter for each key.
    pub const fn bits(self) -> u32 {
        self.bits
    }
}

/// Format of states in `RocksDB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RocksFormat {
    /// Approximate maximal size of a table file, in bytes. `MultiGet` reads the keys of one file
    /// together, so few large files serve it best.
    pub file_bytes: u64,
    /// Size of a data block in bytes. A power of two is a maximal size: blocks are aligned to
    /// pages, and padded. Any other size is approximate, and blocks follow each other without gaps.
    pub block_bytes: u32,
    /// Filter of each table file.
    pub filter: Filter,
    /// Form of index and filter.
    pub index: IndexShape,
    /// Share of the accounts and slots that are overwritten after ingestion, in millionths; at most
    /// [`PPM`].
    pub aged_ppm: u32,
    /// Format of the nodes of tries that are stored beside the rows; `None` for a state without
    /// tries.
    pub tries: Option<trie::Format>,
}

impl RocksFormat {
    /// Blocks of one aligned page, a Bloom filter of ten bits, index and filter in memory, no aged
    /// rows.
    pub const DEFAULT: Self = Self {
        file_bytes: 768 << 20,
        block_bytes: DEFAULT_BLOCK_BYTES,
        filter: Filter::new(FilterKind::Bloom, 10),
        index: IndexShape::Whole,
        aged_ppm: 0,
        tries: None,
    };

    /// Whether blocks are padded to pages.
    pub const fn is_aligned(&self) -> bool {
        self.block_bytes.is_power_of_two()
    }

    /// Returns the options of table files, as text for `RocksDB`.
    ///
    /// An aligned block is a page of its file, and takes one direct read of 4,096 bytes. An
    /// unaligned block of 4 KiB lies in two pages. `block_align` can only be set by text. Aligned
    /// blocks have no delta-encoded handles in the index. So the index's keys are delta-encoded in
    /// runs of 8, which makes the index three times smaller.
    pub(super) fn table_text(&self) -> String {
        let mut text = format!(
            "block_size={};block_align={};format_version=6;checksum=kXXH3;\
             index_block_restart_interval=8;whole_key_filtering=true",
            self.block_bytes,
            self.is_aligned()
        );
        let bits = self.filter.bits;
        match self.filter.kind {
            FilterKind::Nothing => {}
            FilterKind::Bloom => text.push_str(&format!(";filter_policy=bloomfilter:{bits}:false")),
            // -1: all levels and all files of a flush have a Ribbon filter, none a Bloom filter.
            FilterKind::Ribbon => text.push_str(&format!(";filter_policy=ribbonfilter:{bits}:-1")),
        }
        if self.index == IndexShape::Partitioned {
            text.push_str(";index_type=kTwoLevelIndexSearch;metadata_block_size=4096");
            if self.filter != Filter::NOTHING {
                text.push_str(";partition_filters=true");
            }
        }
        text
    }

    /// Returns the format as text. The text is a part of a state's name, so the text of an existing
    /// format never changes.
    pub(super) fn shape(&self) -> String {
        let mut text =
            format!("{};no compression;files of {} bytes", self.table_text(), self.file_bytes);
        if self.aged_ppm > 0 {
            text.push_str(&format!(";{AGED}{} ppm in {} generations", self.aged_ppm, GENERATIONS));
        }
        text.push_str(&tries::shape_part(self.tries));
        text
    }

    /// Returns the format whose [`Self::shape`] is `shape`; `None` if no format has it.
    pub fn of_shape(shape: &str) -> Option<Self> {
        let policy = between(shape, "filter_policy=", "");
        let policy = policy.map(|text| text.split(':').collect::<Vec<_>>());
        let filter = match policy.as_deref() {
            None => Filter::NOTHING,
            Some(["bloomfilter", bits, ..]) => Filter::new(FilterKind::Bloom, bits.parse().ok()?),
            Some(["ribbonfilter", bits, ..]) => Filter::new(FilterKind::Ribbon, bits.parse().ok()?),
            Some(_) => return None,
        };
        let format = Self {
            file_bytes: between(shape, "files of ", " bytes")?.parse().ok()?,
            block_bytes: between(shape, "block_size=", "")?.parse().ok()?,
            filter,
            index: match between(shape, "index_type=", "") {
                None => IndexShape::Whole,
                Some(_) => IndexShape::Partitioned,
            },
            aged_ppm: aged_ppm(shape),
            tries: tries::name_in_shape(shape).and_then(tries::format_by_name),
        };
        (format.shape() == shape).then_some(format)
    }
}

impl Default for RocksFormat {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Returns the text between `before` and `after`, in the part of a shape that begins and ends with
/// them.
fn between<'s>(shape: &'s str, before: &str, after: &str) -> Option<&'s str> {
    shape.split(';').find_map(|part| part.strip_prefix(before)?.strip_suffix(after))
}

/// Text before the aged share in a shape.
const AGED: &str = "aged ";

/// Returns the share of the rows that were rewritten in a state of this shape, in millionths; 0 for
/// a state without ageing.
pub fn aged_ppm(shape: &str) -> u32 {
    between(shape, AGED, "").and_then(|part| part.split(' ').next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use variant::TrieForm;

    use super::*;

    #[test]
    fn states_of_the_default_shape_keep_their_name() {
        let expected = "block_size=4096;block_align=true;format_version=6;checksum=kXXH3;\
                        index_block_restart_interval=8;whole_key_filtering=true;\
                        filter_policy=bloomfilter:10:false;no compression;\
                        files of 805306368 bytes";
        assert_eq!(RocksFormat::DEFAULT.shape(), expected);
    }

    #[test]
    fn formats_have_different_shapes_and_each_reads_back_from_its_own() {
        let filters = FilterKind::ALL.iter().map(|kind| Filter::new(*kind, 12));
        let mut shapes = Vec::new();
        for (block_bytes, file_bytes) in [(4096, 1), (3_900, 1 << 40)] {
            for filter in filters.clone() {
                for index in [IndexShape::Whole, IndexShape::Partitioned] {
                    for (aged_ppm, tries) in [
                        (0, None),
                        (1, None),
                        (PPM, Some(trie::Format::All)),
                        (0, tries::trie_format(TrieForm::Cut)),
                    ] {
                        let format =
                            RocksFormat { file_bytes, block_bytes, filter, index, aged_ppm, tries };
                        let shape = format.shape();
                        assert_eq!(RocksFormat::of_shape(&shape), Some(format), "{shape}");
                        assert_eq!(super::aged_ppm(&shape), aged_ppm);
                        assert!(!shapes.contains(&shape), "{shape}");
                        shapes.push(shape);
                    }
                }
            }
        }
        assert_eq!(RocksFormat::of_shape("something else"), None);
    }
}
