//! Converts keys with their values to records of a fixed length, and back. A field of a message has
//! many records, as bytes. With a protobuf message for each record, their encoding would be most of
//! the cost of a result. An invalid record gives an error as text.

use alloy_primitives::{Address, B256, Bytes, U256};
use evm::AccountWrite;
use executor::shards::versions::AccountVersion;
use workload::genesis::AccountState;

use crate::{
    fields::{hash, words},
    wire::proto::NewCode,
};

/// Length in bytes of a slot's name: address and key.
const NAME_BYTES: usize = 20 + 32;
/// Length in bytes of the record of a written slot: its name and its value.
const SLOT_BYTES: usize = NAME_BYTES + 32;
/// Length in bytes of the record of a slot that may have no value: its name, a flag and its value.
/// A read has no value if no lower step wrote the key. A write has none if an earlier run of the
/// step wrote the key, and the last run did not.
const OPTIONAL_SLOT_BYTES: usize = SLOT_BYTES + 1;
/// Length in bytes of the record of an account that may have no value: address, flags, nonce,
/// balance, code hash.
const OPTIONAL_ACCOUNT_BYTES: usize = 20 + 1 + 8 + 32 + 32;
/// Length in bytes of the record of an account that may not exist: a flag, nonce, balance, code
/// hash.
const STATE_BYTES: usize = 1 + 8 + 32 + 32;
/// Length in bytes of the record of a write to an account: address, flags, balance, nonce.
const WRITE_BYTES: usize = 20 + 1 + 32 + 8;

/// Flags of an account in a record of [`OPTIONAL_ACCOUNT_BYTES`].
const HAS_VALUE: u8 = 1;
const EXISTS: u8 = 2;
const IS_BORN: u8 = 4;

/// Flags of a write to an account, in a record of [`WRITE_BYTES`].
const HAS_BALANCE: u8 = 1;
const HAS_NONCE: u8 = 2;
const HAS_CODE: u8 = 4;

/// Reads the parts of a record, one after the other.
struct Parts<'r>(&'r [u8]);

impl Parts<'_> {
    fn next<const N: usize>(&mut self) -> [u8; N] {
        let mut part = [0; N];
        let (first, rest) = self.0.split_at(N);
        part.copy_from_slice(first);
        self.0 = rest;
        part
    }

    fn address(&mut self) -> Address {
        Address::from(self.next::<20>())
    }

    fn number(&mut self) -> U256 {
        U256::from_be_bytes(self.next::<32>())
    }

    fn flags(&mut self, what: &str) -> Result<u8, String> {
        let [flags] = self.next::<1>();
        if flags > 7 { Err(format!("{what} has the flags {flags}")) } else { Ok(flags) }
    }
}

/// Returns the sum of the flags that are set.
fn flags(flags: [(bool, u8); 3]) -> u8 {
    flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |sum, (_, flag)| sum | flag)
}

/// Encodes written slots.
pub(crate) fn slots_to_wire(slots: &[(Address, U256, U256)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(slots.len() * SLOT_BYTES);
    for (address, key, value) in slots {
        bytes.extend_from_slice(address.as_slice());
        bytes.extend_from_slice(&key.to_be_bytes::<32>());
        bytes.extend_from_slice(&value.to_be_bytes::<32>());
    }
    bytes
}

pub(crate) fn slots_of_wire(bytes: &[u8]) -> Result<Vec<(Address, U256, U256)>, String> {
    let slots = words::<SLOT_BYTES>(bytes, "slots")?.map(|slot| {
        let mut parts = Parts(&slot);
        (parts.address(), parts.number(), parts.number())
    });
    Ok(slots.collect())
}

/// Encodes slots that may have no value.
pub(crate) fn optional_slots_to_wire(slots: &[(Address, U256, Option<U256>)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(slots.len() * OPTIONAL_SLOT_BYTES);
    for (address, key, value) in slots {
        bytes.extend_from_slice(address.as_slice());
        bytes.extend_from_slice(&key.to_be_bytes::<32>());
        bytes.push(value.is_some().into());
        bytes.extend_from_slice(&value.unwrap_or_default().to_be_bytes::<32>());
    }
    bytes
}

pub(crate) fn optional_slots_of_wire(
    bytes: &[u8],
) -> Result<Vec<(Address, U256, Option<U256>)>, String> {
    let slots = words::<OPTIONAL_SLOT_BYTES>(bytes, "slots with flags")?.map(|slot| {
        let mut parts = Parts(&slot);
        let (address, key) = (parts.address(), parts.number());
        let [has_value] = parts.next::<1>();
        let value = parts.number();
        match has_value {
            0 => Ok((address, key, None)),
            1 => Ok((address, key, Some(value))),
            other => Err(format!("a slot has the flag {other}, and not 0 or 1")),
        }
    });
    slots.collect()
}

/// Encodes accounts that may have no value.
pub(crate) fn optional_accounts_to_wire(accounts: &[(Address, Option<AccountVersion>)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(accounts.len() * OPTIONAL_ACCOUNT_BYTES);
    for (address, value) in accounts {
        add_account(&mut bytes, address, value.as_ref());
    }
    bytes
}

pub(crate) fn accounts_to_wire(accounts: &[(Address, AccountVersion)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(accounts.len() * OPTIONAL_ACCOUNT_BYTES);
    for (address, value) in accounts {
        add_account(&mut bytes, address, Some(value));
    }
    bytes
}

fn add_account(bytes: &mut Vec<u8>, address: &Address, value: Option<&AccountVersion>) {
    let state = value.and_then(|value| value.state);
    let is_born = value.is_some_and(|value| value.is_born);
    let AccountState { nonce, balance, code_hash } = state.unwrap_or_default();
    bytes.extend_from_slice(address.as_slice());
    bytes.push(flags([
        (value.is_some(), HAS_VALUE),
        (state.is_some(), EXISTS),
        (is_born, IS_BORN),
    ]));
    bytes.extend_from_slice(&nonce.to_be_bytes());
    bytes.extend_from_slice(&balance.to_be_bytes::<32>());
    bytes.extend_from_slice(code_hash.as_slice());
}

pub(crate) fn optional_accounts_of_wire(
    bytes: &[u8],
) -> Result<Vec<(Address, Option<AccountVersion>)>, String> {
    let accounts = words::<OPTIONAL_ACCOUNT_BYTES>(bytes, "accounts")?.map(|account| {
        let mut parts = Parts(&account);
        let (address, flags) = (parts.address(), parts.flags("an account")?);
        let nonce = u64::from_be_bytes(parts.next::<8>());
        let (balance, code_hash) = (parts.number(), B256::from(parts.next::<32>()));
        let state = AccountState { nonce, balance, code_hash };
        let value = AccountVersion {
            state: (flags & EXISTS > 0).then_some(state),
            is_born: flags & IS_BORN > 0,
        };
        Ok((address, (flags & HAS_VALUE > 0).then_some(value)))
    });
    accounts.collect()
}

/// Decodes accounts, which must all have a value.
pub(crate) fn accounts_of_wire(bytes: &[u8]) -> Result<Vec<(Address, AccountVersion)>, String> {
    let accounts = optional_accounts_of_wire(bytes)?.into_iter();
    accounts
        .map(|(address, value)| Ok((address, value.ok_or("an account without a value")?)))
        .collect()
}

/// Encodes the states of accounts, which may not exist.
pub(crate) fn states_to_wire(states: &[Option<AccountState>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(states.len() * STATE_BYTES);
    for state in states {
        let AccountState { nonce, balance, code_hash } = state.unwrap_or_default();
        bytes.push(state.is_some().into());
        bytes.extend_from_slice(&nonce.to_be_bytes());
        bytes.extend_from_slice(&balance.to_be_bytes::<32>());
        bytes.extend_from_slice(code_hash.as_slice());
    }
    bytes
}

pub(crate) fn states_of_wire(bytes: &[u8]) -> Result<Vec<Option<AccountState>>, String> {
    let states = words::<STATE_BYTES>(bytes, "accounts")?.map(|state| {
        let mut parts = Parts(&state);
        let [exists] = parts.next::<1>();
        let nonce = u64::from_be_bytes(parts.next::<8>());
        let (balance, code_hash) = (parts.number(), B256::from(parts.next::<32>()));
        match exists {
            0 => Ok(None),
            1 => Ok(Some(AccountState { nonce, balance, code_hash })),
            other => Err(format!("an account has the flag {other}, and not 0 or 1")),
        }
    });
    states.collect()
}

/// Encodes writes to accounts. Returns the records, and the new codes in the order of their writes.
pub(crate) fn writes_to_wire(writes: Vec<AccountWrite>) -> (Vec<u8>, Vec<NewCode>) {
    let mut bytes = Vec::with_capacity(writes.len() * WRITE_BYTES);
    let mut codes = Vec::new();
    for AccountWrite { address, balance, nonce, code } in writes {
        bytes.extend_from_slice(address.as_slice());
        bytes.push(flags([
            (balance.is_some(), HAS_BALANCE),
            (nonce.is_some(), HAS_NONCE),
            (code.is_some(), HAS_CODE),
        ]));
        bytes.extend_from_slice(&balance.unwrap_or_default().to_be_bytes::<32>());
        bytes.extend_from_slice(&nonce.unwrap_or_default().to_be_bytes());
        codes.extend(code.map(|(hash, code)| new_code_to_wire(hash, code)));
    }
    (bytes, codes)
}

pub(crate) fn writes_of_wire(
    bytes: &[u8],
    codes: Vec<NewCode>,
) -> Result<Vec<AccountWrite>, String> {
    let mut codes = codes.into_iter();
    let writes = words::<WRITE_BYTES>(bytes, "writes to accounts")?.map(|write| {
        let mut parts = Parts(&write);
        let (address, flags) = (parts.address(), parts.flags("a write to an account")?);
        let (balance, nonce) = (parts.number(), u64::from_be_bytes(parts.next::<8>()));
        let mut code = None;
        if flags & HAS_CODE > 0 {
            code =
                Some(new_code_of_wire(codes.next().ok_or("a write has a code that is missing")?)?);
        }
        Ok(AccountWrite {
            address,
            balance: (flags & HAS_BALANCE > 0).then_some(balance),
            nonce: (flags & HAS_NONCE > 0).then_some(nonce),
            code,
        })
    });
    let writes: Vec<_> = writes.collect::<Result<_, String>>()?;
    match codes.next() {
        Some(_) => Err("there are more codes than writes that have one".to_owned()),
        None => Ok(writes),
    }
}

pub(crate) fn new_code_to_wire(hash: B256, code: Bytes) -> NewCode {
    NewCode { hash: hash.to_vec(), bytes: code.0 }
}

/// Decodes a new code. Copies its bytes, so that it does not keep the memory of its whole message.
pub(crate) fn new_code_of_wire(code: NewCode) -> Result<(B256, Bytes), String> {
    Ok((hash(&code.hash, "a code's hash")?, Bytes::copy_from_slice(&code.bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(byte: u8) -> U256 {
        U256::from_be_bytes([byte; 32])
    }

    #[test]
    fn records_arrive_as_they_were_sent() {
        let (first, second) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let slots = vec![(first, word(3), word(4)), (second, U256::ZERO, U256::MAX)];
        assert_eq!(slots_of_wire(&slots_to_wire(&slots)), Ok(slots));
        let slots = vec![(first, word(3), None), (second, word(1), Some(U256::ZERO))];
        assert_eq!(optional_slots_of_wire(&optional_slots_to_wire(&slots)), Ok(slots));
        let state = AccountState { nonce: 7, balance: word(9), code_hash: B256::repeat_byte(8) };
        let states = [None, Some(state), Some(AccountState::default())];
        assert_eq!(states_of_wire(&states_to_wire(&states)), Ok(states.to_vec()));
        let versions =
            states.map(|state| [true, false].map(|is_born| AccountVersion { state, is_born }));
        let accounts: Vec<_> =
            versions.into_iter().flatten().map(|version| (first, version)).collect();
        assert_eq!(accounts_of_wire(&accounts_to_wire(&accounts)), Ok(accounts.clone()));
        let mut optional: Vec<_> =
            accounts.into_iter().map(|(address, value)| (address, Some(value))).collect();
        optional.push((second, None));
        assert_eq!(optional_accounts_of_wire(&optional_accounts_to_wire(&optional)), Ok(optional));
    }

    #[test]
    fn records_that_cannot_be_are_told_in_words() {
        let account = optional_accounts_to_wire(&[(Address::ZERO, None)]);
        assert_eq!(accounts_of_wire(&account).unwrap_err(), "an account without a value");
        assert!(accounts_of_wire(&account[1..]).unwrap_err().contains("no multiple of 93"));
        let with_flag = |mut bytes: Vec<u8>, index: usize, flags| {
            bytes[index] = flags;
            bytes
        };
        let flagged = with_flag(account, 20, 8);
        assert_eq!(optional_accounts_of_wire(&flagged).unwrap_err(), "an account has the flags 8");
        let slot = optional_slots_to_wire(&[(Address::ZERO, U256::ZERO, None)]);
        let flagged = with_flag(states_to_wire(&[None]), 0, 3);
        assert!(states_of_wire(&flagged).unwrap_err().contains("the flag 3"));
        let flagged = with_flag(slot, 52, 2);
        assert!(optional_slots_of_wire(&flagged).unwrap_err().contains("the flag 2"));
        let write = AccountWrite { nonce: Some(0), ..AccountWrite::default() };
        let (bytes, codes) = writes_to_wire(vec![write]);
        let with_code = with_flag(bytes.clone(), 20, HAS_CODE);
        let missing = writes_of_wire(&with_code, codes).unwrap_err();
        assert_eq!(missing, "a write has a code that is missing");
        let surplus = new_code_to_wire(B256::ZERO, Bytes::new());
        assert!(writes_of_wire(&bytes, vec![surplus]).unwrap_err().contains("more codes"));
    }
}
