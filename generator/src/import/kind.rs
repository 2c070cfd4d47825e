//! Finds the kind of a file from its content alone, for `stress import`. Reads the first bytes of
//! the file, or the first keys of its first JSON value, and keeps no values.

use std::{
    fmt,
    io::{BufReader, Cursor, Read},
};

use serde::{
    Deserialize as _,
    de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::ImportError;

/// Number of first bytes in which formats are recognised. The mark `ustar` of a tar archive is the
/// last one, and ends at byte 262.
const HEAD_BYTES: u64 = 512;
/// Maximal number of an object's keys that are read.
const MAX_KEYS: usize = 64;
/// Number of nested levels of objects and arrays whose keys are read.
const LEVELS: usize = 2;
/// Maximal number of digits of a hex text that are read.
const HEX_DIGITS: usize = 64;

/// A kind of file that is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// `blockchain_test` or `blockchain_test_engine`, with one or several tests.
    Tests,
    /// A chain's configuration, and the state and the header of block 0.
    Genesis,
    /// Blocks in RLP, one behind the other.
    Chain,
    /// Payloads of the Engine API, or calls with them, as JSON.
    Payloads,
    /// A block: a node's JSON, or the hex of the block's RLP.
    Block,
    /// The part of a state that a block reads, with proofs.
    Witness,
    /// t8n: accounts by address.
    Alloc,
    /// t8n: the block's environment.
    Env,
    /// t8n: transactions.
    Transactions,
    /// t8n: all of its input in one file.
    Transition,
    /// t8n: its result, or all of its output.
    Outcome,
}

impl InputKind {
    /// Returns a name of this kind for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::Genesis => "a genesis (config and alloc)",
            Self::Chain => "a chain as RLP",
            Self::Payloads => "Engine payloads",
            Self::Block => "a block (eth_getBlockByNumber, debug_getRawBlock)",
            Self::Witness => "a witness (debug_executionWitness)",
            Self::Alloc => "alloc (accounts by address)",
            Self::Env => "env (currentNumber, currentTimestamp, …)",
            Self::Transactions => "txs (transactions)",
            Self::Transition => "the input of t8n (alloc, env and txs)",
            Self::Outcome => "a result of t8n",
        }
    }

    /// Finds the kind of a file from its `content`. `file` is the name that errors use.
    ///
    /// # Errors
    /// [`ImportError::Kind`] with the likely kind of a file that is not imported;
    /// [`ImportError::Json`]; [`ImportError::Read`].
    pub fn of(file: &str, mut content: impl Read) -> Result<Self, ImportError> {
        let unread = |source| ImportError::Read { file: file.to_owned(), source };
        let mut head = Vec::new();
        content.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(unread)?;
        let known = match binary_kind(&head).or_else(|| hex_kind(&head)) {
            Some(known) => known,
            // All other kinds are JSON.
            None => {
                let mut outline = Outline::default();
                let all = BufReader::new(Cursor::new(&head).chain(content));
                let mut json = serde_json::Deserializer::from_reader(all);
                let read = Seed { out: &mut outline, levels: LEVELS }.deserialize(&mut json);
                match (outline.kind(), read) {
                    // The parse ends with an error of serde (data) once the kind is known. After
                    // any other error the keys before it may tell the kind; the import itself
                    // reports the error later.
                    (Err(_), Err(source)) if source.is_io() => {
                        return Err(unread(source.into()));
                    }
                    (Err(_), Err(source)) if !source.is_data() => {
                        return Err(ImportError::Json { file: file.to_owned(), source });
                    }
                    (known, _) => known,
                }
            }
        };
        known.map_err(|seems| ImportError::Kind { file: file.to_owned(), seems })
    }
}

/// The kind of a file, or a description of a file that cannot be imported.
type Known = Result<InputKind, String>;

/// Recognises binary files, pages of HTML or XML, and empty files by their first bytes; `None` for
/// any other file.
fn binary_kind(head: &[u8]) -> Option<Known> {
    const MARKS: [(&[u8], &str); 11] = [
        (&[0x1f, 0x8b], "compressed by gzip; unpack it by gunzip"),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "compressed by xz; unpack it by unxz"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd; unpack it by unzstd"),
        (b"BZh", "compressed by bzip2; unpack it by bunzip2"),
        (b"PK\x03\x04", "a zip archive; unpack it"),
        (b"\x7fELF", "a program (ELF)"),
        (&[b'e', b'2', 0, 0, 0, 0, 0, 0], "an era or era1 archive; export its blocks as RLP"),
        (b"stresswl", "a workload file, which is run as it is (--workload FILE)"),
        (b"<", "a page of HTML or XML"),
        (&[0xef, 0xbb, 0xbf], "text with a byte order mark; remove its first three bytes"),
        (&[0xff, 0xfe], "text in UTF-16; convert it to UTF-8"),
    ];
    if head.iter().all(u8::is_ascii_whitespace) {
        return Some(Err("empty".to_owned()));
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some(Err("a tar archive; unpack it".to_owned()));
    }
    let text = head.trim_ascii_start();
    if let Some((_, format)) = MARKS.iter().find(|(mark, _)| text.starts_with(mark)) {
        return Some(Err((*format).to_owned()));
    }
    if head[0] >= alloy_rlp::EMPTY_LIST_CODE {
        return Some(match rlp_kind(head) {
            Some(InputKind::Chain) => Ok(InputKind::Chain),
            Some(_) => Err("transactions as binary RLP; write them as hex".to_owned()),
            None => Err("binary, and no RLP of blocks".to_owned()),
        });
    }
    let is_binary = head.iter().any(|byte| *byte < b' ' && !byte.is_ascii_whitespace());
    is_binary.then(|| Err("binary, and no RLP of blocks".to_owned()))
}

/// Recognises RLP in hex, with or without quotation marks; `None` for any other file.
fn hex_kind(head: &[u8]) -> Option<Known> {
    let text = head.trim_ascii_start();
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let digits = text.strip_prefix(b"0x")?;
    let count = digits.iter().take(HEX_DIGITS).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let bytes = alloy_primitives::hex::decode(&digits[..count & !1]).unwrap_or_default();
    Some(match rlp_kind(&bytes) {
        // Hex is read as one block.
        Some(InputKind::Chain) => Ok(InputKind::Block),
        Some(kind) => Ok(kind),
        None => Err("hex, and no RLP of transactions".to_owned()),
    })
}

/// Tells the RLP of blocks from that of transactions by the first items of the lists; `None` if it
/// is neither.
fn rlp_kind(head: &[u8]) -> Option<InputKind> {
    let (items, _) = list_items(head)?;
    match list_items(items) {
        // A block's first item is its header, which begins with a hash of 32 bytes.
        Some(([0xa0, ..], is_long)) => is_long.then_some(InputKind::Chain),
        // An address of 20 bytes comes first in a block-level access list.
        Some(([0x94, ..], _)) => None,
        Some(_) => Some(InputKind::Transactions),
        // Transactions of types 1 to 4 are byte strings in the list.
        None => match items.first() {
            None | Some(0xb8..=0xbf) => Some(InputKind::Transactions),
            Some(_) => None,
        },
    }
}

/// Returns the start of the items of the RLP list in `bytes`, and whether the items have 56 bytes
/// or more.
fn list_items(bytes: &[u8]) -> Option<(&[u8], bool)> {
    match *bytes.first()? {
        code @ 0xf8.. => Some((bytes.get(1 + usize::from(code - 0xf7)..)?, true)),
        0xc0.. => Some((&bytes[1..], false)),
        _ => None,
    }
}

/// The first keys of a JSON object, and of the objects in it. An array has its first element alone,
/// with an empty key.
#[derive(Debug, Default)]
struct Outline {
    shape: Shape,
    entries: Vec<(String, Self)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shape {
    Object,
    Array,
    #[default]
    Other,
}

impl Outline {
    /// Whether this is an object with all of `keys`.
    fn has(&self, keys: &[&str]) -> bool {
        self.shape == Shape::Object && keys.iter().all(|key| self.at(key).is_some())
    }

    /// Returns the outline of the value at `key`.
    fn at(&self, key: &str) -> Option<&Self> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Finds the kind of the file that has this outline.
    fn kind(&self) -> Known {
        if self.shape != Shape::Object {
            return match self.entries.first().map(|(_, first)| first) {
                None if self.shape == Shape::Other => Err("no JSON object or array".to_owned()),
                None => Ok(InputKind::Transactions),
                Some(first) if first.is_call_or_payload() => Ok(InputKind::Payloads),
                Some(first) if first.has(&["nonce"]) && !first.has(&["parentHash"]) => {
                    Ok(InputKind::Transactions)
                }
                Some(first) if first.has(&["address"]) => Err(ACCESS_LIST.to_owned()),
                Some(_) => Err("a JSON array of something else than transactions".to_owned()),
            };
        }
        if self.is_call_or_payload() {
            return Ok(InputKind::Payloads);
        }
        match self.at("result") {
            // If the result is a text, it is the RLP of a block (debug_getRawBlock).
            Some(result) if result.shape == Shape::Other && self.has(&["jsonrpc"]) => {
                return Ok(InputKind::Block);
            }
            Some(result) => {
                if let Ok(kind) = result.kind() {
                    return Ok(kind);
                }
            }
            None => {}
        }
        for (keys, kind) in [
            (&["config", "alloc"][..], InputKind::Genesis),
            (&["alloc", "env"], InputKind::Transition),
            (&["alloc", "result"], InputKind::Outcome),
            (&["state", "codes"], InputKind::Witness),
            (&["parentHash", "stateRoot"], InputKind::Block),
            (&["currentNumber"], InputKind::Env),
            (&["currentTimestamp"], InputKind::Env),
            (&["currentCoinbase"], InputKind::Env),
            (&["stateRoot", "txRoot"], InputKind::Outcome),
            (&["stateRoot", "logsHash"], InputKind::Outcome),
            (&["gasUsed", "receipts"], InputKind::Outcome),
        ] {
            if self.has(keys) {
                return Ok(kind);
            }
        }
        let has_addresses = self.entries.iter().all(|(key, _)| is_address(key));
        if has_addresses && !self.entries.is_empty() {
            return Ok(InputKind::Alloc);
        }
        let test_keys = ["engineNewPayloads", "genesisBlockHeader", "network", "blocks"];
        let mut cases = self.entries.iter().map(|(_, case)| case);
        if cases.any(|case| test_keys.iter().any(|key| case.has(&[key])) && !case.has(&["expect"]))
        {
            return Ok(InputKind::Tests);
        }
        Err(self.describe_other())
    }

    fn is_call_or_payload(&self) -> bool {
        self.has(&["method"])
            || self.has(&["params"])
            || self.has(&["feeRecipient"])
            || self.has(&["executionPayload"])
    }

    /// Describes an object that cannot be imported, by its likely kind.
    fn describe_other(&self) -> String {
        for (keys, description) in [
            (&["jsonrpc"][..], "another answer of a node; blocks of a node: stress import rpc"),
            (&["blockAccessList"], ACCESS_LIST),
            (&["alloc"], "a genesis without config"),
        ] {
            if self.has(keys) {
                return description.to_owned();
            }
        }
        for (key, description) in [
            ("expect", "a filler, which a test is made of: fill it first"),
            ("preHash", "blockchain_test_engine_x, whose states are in other files"),
            ("transaction", "a state test, which has no block: fill it as blockchain_test"),
            ("txbytes", "a transaction test, which has no block"),
        ] {
            if self.entries.iter().any(|(_, case)| case.has(&[key])) {
                return description.to_owned();
            }
        }
        let keys = self.entries.iter().take(3).map(|(key, _)| key.chars().take(24).collect());
        match keys.collect::<Vec<String>>().join(", ") {
            keys if keys.is_empty() => "an empty JSON object".to_owned(),
            keys => format!("JSON of another kind, with the keys {keys}"),
        }
    }
}

const ACCESS_LIST: &str = "a block-level access list; print it by stress show --bal";

fn is_address(key: &str) -> bool {
    let digits = key.strip_prefix("0x").unwrap_or(key);
    digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads JSON into an outline. Ends with an error once the kind is known, so the rest of a large
/// file is not read. Keys that come before an error stay in `out`.
struct Seed<'o> {
    out: &'o mut Outline,
    /// Number of nested levels that are still read.
    levels: usize,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.levels {
            0 => IgnoredAny::deserialize(from).map(drop),
            _ => from.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.out.shape = Shape::Object;
        while self.out.entries.len() < MAX_KEYS
            && let Some(key) = map.next_key::<String>()?
        {
            self.out.entries.push((key, Outline::default()));
            let (_, out) = self.out.entries.last_mut().expect("an entry was pushed");
            map.next_value_seed(Seed { out, levels: self.levels - 1 })?;
            // The outermost object decides the kind.
            if self.levels == LEVELS && self.out.kind().is_ok() {
                return Err(A::Error::custom("its kind is known"));
            }
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.out.shape = Shape::Array;
        self.out.entries.push((String::new(), Outline::default()));
        let (_, out) = self.out.entries.last_mut().expect("an entry was pushed");
        if items.next_element_seed(Seed { out, levels: self.levels - 1 })?.is_none() {
            self.out.entries.clear();
        }
        if self.levels == LEVELS {
            return Err(A::Error::custom("its kind is known"));
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
