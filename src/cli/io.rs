//! Arguments of `stress io`, and those of its options that are a scenario's keys under other
//! names.

use std::path::PathBuf;

use clap::Args;
use spec::Override;

use super::{DATA_DIR_HELP, Format, of_flags};

/// Arguments of `stress io`.
#[derive(Debug, Default, Args)]
pub struct IoArgs {
    /// Stores to read, separated by commas: rocksdb, mdbx, flat, memory [default: rocksdb]
    #[arg(long, value_name = "LIST")]
    pub store: Option<String>,
    /// get: a thread asks for one key after the other; multi-get: for many in a call [default: get]
    #[arg(long, value_name = "METHOD")]
    pub read: Option<String>,
    /// Reads under way: with get as many threads, with multi-get keys in a call
    /// [default: 1,4,16,64,256]
    #[arg(long, value_name = "LIST")]
    pub depth: Option<String>,
    /// Threads; with get the same as --depth, with multi-get [default: 1]
    #[arg(long, value_name = "LIST")]
    pub threads: Option<String>,
    /// Keys asked for: present, absent, or the share that exists, as 0.5
    #[arg(long, value_name = "KEYS", default_value = "present")]
    pub keys: String,
    /// Rows of the state: 32M
    #[arg(long, value_name = "COUNT", default_value = "32M")]
    pub rows: String,
    /// Keys of rows: hashed (64 bytes) or plain (52 bytes) [default: hashed]
    #[arg(long, value_name = "LAYOUT")]
    pub key_layout: Option<String>,
    /// The same by the length of a key: 64 or 52
    #[arg(long, value_name = "BYTES", conflicts_with = "key_layout")]
    pub key_bytes: Option<String>,
    /// Length of a value: 32
    #[arg(long, value_name = "BYTES", default_value = "32")]
    pub value_bytes: String,
    /// Seconds of each point
    #[arg(long, value_name = "SECONDS", default_value = "3")]
    pub seconds: String,
    /// Seed of the draw of keys; the state stays the same
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<String>,
    /// A setting of the store: --set run.rocksdb.block=8KiB
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where state databases are kept.
    #[arg(long, value_name = "DIR", env = "STRESS_DATA_DIR", help = DATA_DIR_HELP)]
    pub data_dir: Option<PathBuf>,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Also write the result as JSON into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Layouts by the length of their keys.
const KEY_BYTES: [(&str, &str); 2] = [("64", "hashed"), ("52", "plain")];
/// Values are slots.
const VALUE_BYTES: &str = "32";

impl IoArgs {
    /// The options that are keys of a scenario.
    ///
    /// # Errors
    /// A key or value size that the rows cannot have, `--keys` that is no share, a `--set` that is
    /// no setting of a store.
    pub fn overrides(&self) -> Result<Vec<Override>, anyhow::Error> {
        let mut all = of_flags(&[
            ("store", "run.stores", &self.store),
            ("read", "run.read", &self.read),
            ("threads", "run.threads", &self.threads),
            ("key-layout", "state.layout", &self.key_layout),
            ("seed", "seed", &self.seed),
            ("rows", "state.slots", &Some(self.rows.clone())),
        ]);
        all.extend(self.layout_of_key_bytes()?);
        if self.value_bytes != VALUE_BYTES {
            anyhow::bail!(
                "--value-bytes {}: rows are storage slots, and a slot has 32 bytes; leave it out",
                self.value_bytes
            );
        }
        let share = match self.keys.as_str() {
            "present" => "1",
            "absent" => "0",
            share => share,
        };
        if share.parse::<f64>().is_err() {
            anyhow::bail!(
                "--keys {share}: present, absent, or a share from 0 to 1 is wanted, as in --keys 0.5"
            );
        }
        all.push(Override {
            key: "state.present".to_owned(),
            value: share.to_owned(),
            origin: format!("--keys {}", self.keys),
        });
        for set in &self.set {
            let Some((key, value)) = set.split_once('=') else {
                anyhow::bail!(
                    "--set {set}: a key and a value are wanted, as in --set run.rocksdb.block=8KiB"
                );
            };
            if !key.starts_with("run.rocksdb.") {
                anyhow::bail!(
                    "--set {set}: only a store's settings matter to raw reads, such as \
                     --set run.rocksdb.block=8KiB"
                );
            }
            let (key, value) = (key.to_owned(), value.to_owned());
            all.push(Override { key, value, origin: format!("--set {set}") });
        }
        Ok(all)
    }

    fn layout_of_key_bytes(&self) -> Result<Option<Override>, anyhow::Error> {
        let Some(bytes) = &self.key_bytes else { return Ok(None) };
        let Some((_, layout)) = KEY_BYTES.iter().find(|(length, _)| length == bytes) else {
            anyhow::bail!(
                "--key-bytes {bytes}: rows are keyed by account and slot, in 64 bytes (two hashes) or \
                 52 (address and slot); other lengths, such as the 16 bytes of common key-value \
                 benchmarks, are no state of a client and cannot be built from a recipe: use 64 or 52"
            );
        };
        Ok(Some(Override {
            key: "state.layout".to_owned(),
            value: (*layout).to_owned(),
            origin: format!("--key-bytes {bytes}"),
        }))
    }
}
