//! Reads values of a JSON file, for all modules of the import. Each value has its path in the file,
//! so that errors name file, key and value. Unknown keys are ignored, as dialects differ in them.

use std::str::FromStr;

use alloy_eip7928::{
    AccountChanges, BalanceChange, BlockAccessIndex, CodeChange, NonceChange, SlotChanges,
    StorageChange,
};
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256};
use serde_json::Value;
use workload::list;

use super::ImportError;

/// Maximal number of characters of a wrong value that an error shows.
const SHOWN_CHARS: usize = 80;

/// A JSON value, with its file and its path in the file.
#[derive(Clone, Debug)]
pub(super) struct Json<'a> {
    file: &'a str,
    path: String,
    value: &'a Value,
}

/// Reads a file's text as JSON.
pub(super) fn parse(file: &str, text: &str) -> Result<Value, ImportError> {
    serde_json::from_str(text).map_err(|source| ImportError::Json { file: file.to_owned(), source })
}

impl<'a> Json<'a> {
    /// Makes the whole value of a file.
    pub(super) const fn root(file: &'a str, value: &'a Value) -> Self {
        Self { file, path: String::new(), value }
    }

    /// Makes the value at `path` of a file that has several values or is not JSON.
    pub(super) const fn at(file: &'a str, path: String, value: &'a Value) -> Self {
        Self { file, path, value }
    }

    /// Returns the name of the file.
    pub(super) const fn file(&self) -> &'a str {
        self.file
    }

    /// Makes the value at `path` below this one.
    fn child(&self, path: &str, value: &'a Value) -> Self {
        let path = match self.path.as_str() {
            "" => path.to_owned(),
            before if path.starts_with('[') => format!("{before}{path}"),
            before => format!("{before}.{path}"),
        };
        Self { file: self.file, path, value }
    }

    /// Makes the error for this value, which is not one of `allowed`.
    pub(super) fn fault(&self, allowed: impl Into<String>) -> ImportError {
        let shown = self.to_text();
        let mut got: String = shown.chars().take(SHOWN_CHARS).collect();
        if got.len() < shown.len() {
            got.push('…');
        }
        let path = if self.path.is_empty() { "the whole" } else { &self.path };
        ImportError::Field {
            file: self.file.to_owned(),
            path: path.to_owned(),
            got,
            allowed: allowed.into(),
        }
    }

    /// Makes the error for a missing key.
    pub(super) fn missing(&self, key: &str, allowed: impl Into<String>) -> ImportError {
        let path = self.child(key, self.value).path;
        let (file, got) = (self.file.to_owned(), "missing".to_owned());
        ImportError::Field { file, path, got, allowed: allowed.into() }
    }

    /// Makes the error for a file that lacks something else than a key.
    pub(super) fn lacks(&self, missing: String) -> ImportError {
        ImportError::State { file: self.file.to_owned(), missing }
    }

    /// Returns the value of the first of these keys that exists and is not `null`.
    pub(super) fn find(&self, keys: &[&str]) -> Result<Option<Self>, ImportError> {
        let object = self.value.as_object().ok_or_else(|| self.fault("an object"))?;
        let found = keys.iter().find_map(|key| {
            object.get(*key).filter(|value| !value.is_null()).map(|value| (key, value))
        });
        Ok(found.map(|(key, value)| self.child(key, value)))
    }

    /// Returns the value of the first of these keys that exists. If none exists, the error names
    /// `allowed` as the wanted values.
    pub(super) fn get(&self, keys: &[&str], allowed: &str) -> Result<Self, ImportError> {
        self.find(keys)?.ok_or_else(|| self.missing(keys[0], allowed))
    }

    /// Returns the elements of an array.
    pub(super) fn items(&self) -> Result<Vec<Self>, ImportError> {
        let items = self.value.as_array().ok_or_else(|| self.fault("an array"))?;
        let items = items.iter().enumerate();
        Ok(items.map(|(index, value)| self.child(&format!("[{index}]"), value)).collect())
    }

    /// Returns the elements of the array at `key`; no element if there is no such key.
    pub(super) fn items_at(&self, key: &str) -> Result<Vec<Self>, ImportError> {
        self.find(&[key])?.map_or(Ok(Vec::new()), |list| list.items())
    }

    /// Returns the entries of an object.
    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Self)>, ImportError> {
        let object = self.value.as_object().ok_or_else(|| self.fault("an object"))?;
        Ok(object.iter().map(|(key, value)| (key.as_str(), self.child(key, value))).collect())
    }

    /// Reads a text.
    pub(super) fn text(&self) -> Result<&'a str, ImportError> {
        self.value.as_str().ok_or_else(|| self.fault("a text"))
    }

    /// Whether the value is `null`.
    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// Formats the value as JSON text.
    pub(super) fn to_text(&self) -> String {
        self.value.to_string()
    }

    /// Reads true or false.
    pub(super) fn bool(&self) -> Result<bool, ImportError> {
        self.value.as_bool().ok_or_else(|| self.fault("true or false"))
    }

    /// Parses a text.
    fn parsed<T: FromStr>(&self, allowed: &str) -> Result<T, ImportError> {
        self.text()?.parse().map_err(|_| self.fault(allowed))
    }

    /// Reads an address.
    pub(super) fn address(&self) -> Result<Address, ImportError> {
        self.parsed(ADDRESS)
    }

    /// Reads an address that is an object's key.
    pub(super) fn address_of_key(&self, key: &str) -> Result<Address, ImportError> {
        key.parse().map_err(|_| self.key_fault(key, ADDRESS))
    }

    /// Reads 32 bytes.
    pub(super) fn b256(&self) -> Result<B256, ImportError> {
        self.parsed("32 bytes: 0x and 64 hex digits")
    }

    /// Checks that the value is `made`. `what` describes `made` in the error.
    pub(super) fn check_b256(&self, made: B256, what: &str) -> Result<(), ImportError> {
        match self.b256()? == made {
            true => Ok(()),
            false => Err(self.fault(format!("{made}, {what}"))),
        }
    }

    /// Reads 8 bytes.
    pub(super) fn b64(&self) -> Result<B64, ImportError> {
        self.parsed("8 bytes: 0x and 16 hex digits")
    }

    /// Reads a bloom filter.
    pub(super) fn bloom(&self) -> Result<Bloom, ImportError> {
        self.parsed("256 bytes: 0x and 512 hex digits")
    }

    /// Reads any number of bytes.
    pub(super) fn bytes(&self) -> Result<Bytes, ImportError> {
        self.parsed("bytes: 0x and an even number of hex digits")
    }

    /// Returns the RLP of a block-level access list, which is its RLP in hex or an array of
    /// accounts. The order of the accounts is kept.
    pub(super) fn block_access_list(&self) -> Result<Bytes, ImportError> {
        if self.text().is_ok() {
            return self.bytes();
        }
        let accounts =
            self.items()?.iter().map(Self::account_changes).collect::<Result<Vec<_>, _>>()?;
        Ok(list::encode(&accounts))
    }

    /// Reads an account of a block-level access list. Its empty arrays may be missing.
    fn account_changes(&self) -> Result<AccountChanges, ImportError> {
        let mut out = AccountChanges::new(self.get(&["address"], ADDRESS)?.address()?);
        for slot in self.list_entries("storageChanges")? {
            let key = slot.get(&["key", "slot"], "the slot's key")?.u256()?;
            let changes = slot.get(&["changes", "slotChanges"], "the slot's changes")?.items()?;
            let changes = changes.iter().map(|change| {
                let value = change.get(&["value", "newValue", "postValue"], "the slot's value")?;
                Ok(StorageChange::new(change.access_index()?, value.u256()?))
            });
            let changes = changes.collect::<Result<_, ImportError>>()?;
            out.storage_changes.push(SlotChanges::new(key, changes));
        }
        for read in self.list_entries("storageReads")? {
            out.storage_reads.push(read.u256()?);
        }
        for change in self.list_entries("balanceChanges")? {
            let balance = change.get(&["value", "postBalance"], "the balance")?.u256()?;
            out.balance_changes.push(BalanceChange::new(change.access_index()?, balance));
        }
        for change in self.list_entries("nonceChanges")? {
            let nonce = change.get(&["value", "newNonce", "postNonce"], "the nonce")?.u64()?;
            out.nonce_changes.push(NonceChange::new(change.access_index()?, nonce));
        }
        for change in self.list_entries("codeChanges")? {
            let code = change.get(&["code", "newCode"], "the code")?.bytes()?;
            out.code_changes.push(CodeChange::new(change.access_index()?, code));
        }
        Ok(out)
    }

    /// Returns the entries of an account's array at `key`; no entry if there is no such key.
    fn list_entries(&self, key: &str) -> Result<Vec<Self>, ImportError> {
        let Some(entries) = self.find(&[key])? else { return Ok(Vec::new()) };
        let count = entries.value.as_array().map_or(0, Vec::len) as u64;
        match count > list::MAX_ENTRIES {
            true => Err(entries.fault(format!("{} entries at most", list::MAX_ENTRIES))),
            false => entries.items(),
        }
    }

    /// Reads the block access index of a change.
    fn access_index(&self) -> Result<BlockAccessIndex, ImportError> {
        let index = self.get(&["index", "blockAccessIndex", "txIndex"], "the change's index")?;
        Ok(BlockAccessIndex::new(index.u64()?))
    }

    /// Reads a number of up to 256 bits.
    pub(super) fn u256(&self) -> Result<U256, ImportError> {
        self.number().ok_or_else(|| self.fault("a number of 256 bits: 0x and hex digits"))
    }

    /// Reads a number of up to 256 bits that is an object's key.
    pub(super) fn u256_of_key(&self, key: &str) -> Result<U256, ImportError> {
        number_of(key)
            .ok_or_else(|| self.key_fault(key, "a key of 256 bits at most: 0x and hex digits"))
    }

    /// Makes the error for `key`, the key of this value.
    fn key_fault(&self, key: &str, allowed: &str) -> ImportError {
        let key = Value::String(key.to_owned());
        let path = format!("the key of {}", self.path);
        Json { file: self.file, path, value: &key }.fault(allowed)
    }

    /// Reads a number of up to 128 bits.
    pub(super) fn u128(&self) -> Result<u128, ImportError> {
        let number = self.number().and_then(|number| u128::try_from(number).ok());
        number.ok_or_else(|| self.fault("a number of 128 bits: 0x and hex digits"))
    }

    /// Reads a number of up to 64 bits.
    pub(super) fn u64(&self) -> Result<u64, ImportError> {
        let number = self.number().and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| self.fault("a number of 64 bits: 0x and hex digits"))
    }

    /// Returns a number, which is a JSON number or a text.
    fn number(&self) -> Option<U256> {
        match self.value {
            Value::Number(number) => number.as_u64().map(U256::from),
            Value::String(text) => number_of(text),
            _ => None,
        }
    }

    /// Reads the number of up to 64 bits at `key`, if there is one.
    pub(super) fn u64_at(&self, key: &str) -> Result<Option<u64>, ImportError> {
        self.find(&[key])?.map(|value| value.u64()).transpose()
    }

    /// Reads the number of up to 256 bits at `key`, if there is one.
    pub(super) fn u256_at(&self, key: &str) -> Result<Option<U256>, ImportError> {
        self.find(&[key])?.map(|value| value.u256()).transpose()
    }

    /// Reads the 32 bytes at `key`, if there are any.
    pub(super) fn b256_at(&self, key: &str) -> Result<Option<B256>, ImportError> {
        self.find(&[key])?.map(|value| value.b256()).transpose()
    }
}

/// Allowed value of an address, for errors.
const ADDRESS: &str = "an address: 0x and 40 hex digits";

/// Parses a number as go-ethereum writes it: `0x` and hex digits, or decimal digits.
fn number_of(text: &str) -> Option<U256> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    is_number.then(|| U256::from_str_radix(digits, u64::from(radix)).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_hex_or_decimal_and_nothing_else() {
        for (text, number) in [("0x0", 0), ("0x00ff", 255), ("12", 12), ("0", 0)] {
            assert_eq!(number_of(text), Some(U256::from(number)), "{text}");
        }
        let long = format!("0x1{}", "0".repeat(64));
        for text in ["", "0x", "0xg", "1_0", "0x1_0", "-1", "+1", " 1", "0X1", "1.0", &long] {
            assert_eq!(number_of(text), None, "{text}");
        }
    }

    #[test]
    fn an_error_names_file_place_value_and_what_is_allowed() {
        let value = parse("a.json", r#"{"a": [{"b": "0xzz"}], "long": 1e300}"#).unwrap();
        let root = Json::root("a.json", &value);
        let item = root.get(&["a"], "").unwrap().items().unwrap().remove(0);
        let error = item.get(&["b"], "").unwrap().u64().unwrap_err().to_string();
        assert_eq!(
            error,
            "a.json: a[0].b is \"0xzz\"; allowed is a number of 64 bits: 0x and hex digits"
        );
        let error = item.get(&["c", "d"], "a text").unwrap_err().to_string();
        assert_eq!(error, "a.json: a[0].c is missing; allowed is a text");
        let error = parse("a.json", "{\"a\": [").unwrap_err().to_string();
        assert!(error.contains("a.json") && error.contains("line 1"), "{error}");
    }
}
