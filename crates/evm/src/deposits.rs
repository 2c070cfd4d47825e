//! Collects the deposits of a block from the logs of the deposit contract (EIP-6110), for the
//! reference run and imports. All deposit logs have one layout; a block with another is invalid.

use alloy_eips::eip6110::DEPOSIT_REQUEST_TYPE;
use alloy_primitives::{Address, B256, Bytes, Log, U256, b256};

/// First topic of a deposit's log.
const DEPOSIT_EVENT: B256 =
    b256!("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");
/// The fields of a deposit in its log's data: public key, withdrawal credentials, amount,
/// signature, index. Each entry has the offset of the word with the field's length, and that length
/// in bytes. The field follows this word. The data begin with the five offsets, a word each.
const FIELDS: [(usize, usize); 5] = [(160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];
/// Length in bytes of the data of a deposit's log.
const DATA_BYTES: usize = 576;

/// A deposit's log has another layout than EIP-6110 demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DepositFault {
    /// The data are too short or too long.
    #[error("{0} bytes of data instead of {DATA_BYTES}")]
    Length(usize),
    /// An offset or length in the data has another value than EIP-6110 demands.
    #[error("the word at byte {at} of its data is {got:#x} instead of {expected}")]
    Word {
        /// Offset of the word in the data.
        at: usize,
        /// Value of the word.
        got: U256,
        /// The only valid value.
        expected: usize,
    },
}

/// Makes one request of all deposits that the deposit contract, at `contract`, has logged in `logs`:
/// type ‖ data (EIP-7685). `None` if there is no deposit.
///
/// # Errors
/// [`DepositFault`]: the block is invalid.
pub fn deposit_request<'a>(
    logs: impl IntoIterator<Item = &'a Log>,
    contract: Address,
) -> Result<Option<Bytes>, DepositFault> {
    let mut request = vec![DEPOSIT_REQUEST_TYPE];
    for log in logs {
        if log.address == contract && log.topics().first() == Some(&DEPOSIT_EVENT) {
            add_deposit(&log.data.data, &mut request)?;
        }
    }
    Ok((request.len() > 1).then(|| request.into()))
}

fn add_deposit(data: &[u8], request: &mut Vec<u8>) -> Result<(), DepositFault> {
    if data.len() != DATA_BYTES {
        return Err(DepositFault::Length(data.len()));
    }
    // The head has the start of each field, and each field begins with its length.
    let starts = FIELDS.into_iter().enumerate().map(|(index, (start, _))| (index * 32, start));
    let lengths = FIELDS;
    for (at, expected) in starts.chain(lengths) {
        let got = U256::from_be_slice(&data[at..at + 32]);
        if got != U256::from(expected) {
            return Err(DepositFault::Word { at, got, expected });
        }
    }
    for (start, length) in FIELDS {
        request.extend_from_slice(&data[start + 32..start + 32 + length]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloy_eips::eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS as CONTRACT;

    use super::*;

    /// Data of a deposit whose fields are bytes 1 to 5.
    fn data() -> Vec<u8> {
        let mut data = vec![0; DATA_BYTES];
        for (index, (start, length)) in FIELDS.into_iter().enumerate() {
            let word = |number: usize| U256::from(number).to_be_bytes::<32>();
            data[index * 32..][..32].copy_from_slice(&word(start));
            data[start..][..32].copy_from_slice(&word(length));
            data[start + 32..][..length].fill(index as u8 + 1);
        }
        data
    }

    fn log(data: Vec<u8>) -> Log {
        Log::new_unchecked(CONTRACT, vec![DEPOSIT_EVENT], data.into())
    }

    #[test]
    fn deposits_of_the_contract_are_one_request_and_other_logs_are_none() {
        let expected = [vec![0], vec![1; 48], vec![2; 32], vec![3; 8], vec![4; 96], vec![5; 8]];
        let one = expected.concat();
        let made = |logs: &[Log]| deposit_request(logs, CONTRACT);
        assert_eq!(made(&[log(data())]), Ok(Some(one.clone().into())));
        let two = [&one[..], &one[1..]].concat();
        assert_eq!(made(&[log(data()), log(data())]), Ok(Some(two.into())));
        let mut other_contract = log(vec![1]);
        other_contract.address = Address::ZERO;
        let other_event = Log::new_unchecked(CONTRACT, vec![B256::ZERO], Bytes::new());
        let no_topic = Log::new_unchecked(CONTRACT, Vec::new(), Bytes::new());
        assert_eq!(made(&[other_contract, other_event, no_topic]), Ok(None));
    }

    #[test]
    fn a_deposit_of_another_form_is_a_fault() {
        for length in [0, DATA_BYTES - 1, DATA_BYTES + 1] {
            let mut data = data();
            data.resize(length, 0);
            assert_eq!(deposit_request(&[log(data)], CONTRACT), Err(DepositFault::Length(length)));
        }
        let heads = (0..FIELDS.len()).map(|index| index * 32);
        for at in heads.chain(FIELDS.map(|(start, _)| start)) {
            let mut data = data();
            data[at + 31] ^= 1;
            let fault = deposit_request(&[log(data)], CONTRACT).unwrap_err();
            assert!(matches!(fault, DepositFault::Word { at: named, .. } if named == at));
        }
    }
}
