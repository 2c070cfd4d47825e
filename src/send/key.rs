//! The secret of the account that pays, from a file: on a command line every user of the machine would see
//! it.

use std::{fs, path::Path};

use alloy_primitives::{B256, hex};
use anyhow::{Context, anyhow};

use crate::terminal::exit::{Code, Failure, OrExit};

/// Reads a secret of 32 bytes in hex, with or without 0x.
///
/// # Errors
/// The file cannot be read, or has something else. The error does not show it.
pub fn read(path: &Path) -> Result<B256, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read --key-file {shown}")).or_exit(Code::Io)?;
    let bytes = hex::decode(text.trim()).ok();
    let secret = bytes.and_then(|bytes| B256::try_from(bytes.as_slice()).ok());
    secret
        .ok_or_else(|| {
            anyhow!("--key-file {shown}: a secret key of 64 hex digits is wanted, and nothing else")
        })
        .or_exit(Code::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_and_a_wrong_one_is_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        for text in ["0x{}\n", "{}"] {
            fs::write(&path, text.replace("{}", &"07".repeat(32))).unwrap();
            assert_eq!(read(&path).unwrap(), B256::repeat_byte(7));
        }
        for text in ["", "0x07", "KEYKEYKEY"] {
            fs::write(&path, text).unwrap();
            let failure = read(&path).unwrap_err();
            assert_eq!(failure.code, Code::Usage);
            assert!(!failure.to_string().contains("KEYKEY"), "{failure}");
        }
        assert_eq!(read(&dir.path().join("none")).unwrap_err().code, Code::Io);
    }
}
