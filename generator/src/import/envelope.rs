//! Transactions as they are signed (EIP-2718): encoded and decoded as RLP, their sender found.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::{Decodable, EMPTY_STRING_CODE, Encodable, Error, Header};
use workload::{Transaction, TxType, block::Authorization};

use super::{
    rlp::list,
    signature::{Delegation, Signature},
};

/// A transaction with the fields that are signed and not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope {
    /// Without its sender, and without its authorizations.
    pub(super) tx: Transaction,
    /// The chain it is for; `None` for one of type 0 that is for any (before EIP-155).
    pub(super) chain_id: Option<u64>,
    /// Delegations with their signatures.
    pub(super) delegations: Vec<Delegation>,
    /// By whom it is sent, where it is signed.
    pub(super) signature: Option<Signature>,
}

/// The transaction type of this number.
pub(super) const fn type_of(number: u64) -> Option<TxType> {
    Some(match number {
        0 => TxType::Legacy,
        1 => TxType::AccessList,
        2 => TxType::DynamicFee,
        3 => TxType::Blob,
        4 => TxType::SetCode,
        _ => return None,
    })
}

/// A decoder of one field that gives it to the transaction.
type Field = fn(&mut Envelope, &mut &[u8]) -> alloy_rlp::Result<()>;

impl Envelope {
    /// Who signed it; `None` where nobody did, or the signature is invalid.
    pub(super) fn signer(&self) -> Option<Address> {
        let mut payload = self.fields();
        if let (TxType::Legacy, Some(chain_id)) = (self.tx.tx_type, self.chain_id) {
            chain_id.encode(&mut payload);
            payload.extend([EMPTY_STRING_CODE; 2]);
        }
        self.signature?.signer(keccak256(self.wrap(payload)))
    }

    /// Its encoding in a block, where it is signed.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let signature = self.signature?;
        let mut payload = self.fields();
        self.v(&signature).encode(&mut payload);
        signature.r.encode(&mut payload);
        signature.s.encode(&mut payload);
        Some(self.wrap(payload))
    }

    /// The transaction as a workload has it.
    pub(super) fn into_transaction(self, sender: Address) -> Transaction {
        let authorization = |from: &Delegation| Authorization {
            chain_id: from.chain_id,
            address: from.address,
            nonce: from.nonce,
            authority: from.authority(),
        };
        let authorizations = self.delegations.iter().map(authorization).collect();
        Transaction { sender, authorizations, ..self.tx }
    }

    fn v(&self, signature: &Signature) -> U256 {
        match (self.tx.tx_type, self.chain_id) {
            (TxType::Legacy, None) => signature.y_parity + U256::from(27),
            (TxType::Legacy, Some(id)) => {
                signature.y_parity + U256::from(id) * U256::from(2) + U256::from(35)
            }
            _ => signature.y_parity,
        }
    }

    fn wrap(&self, payload: Vec<u8>) -> Vec<u8> {
        let number = match self.tx.tx_type {
            TxType::Legacy => return list(payload),
            TxType::AccessList => 1,
            TxType::DynamicFee => 2,
            TxType::Blob => 3,
            TxType::SetCode => 4,
        };
        [vec![number], list(payload)].concat()
    }

    /// RLP of all fields before the signature, without the list's header.
    fn fields(&self) -> Vec<u8> {
        let (tx, mut out) = (&self.tx, Vec::new());
        if tx.tx_type != TxType::Legacy {
            self.chain_id.unwrap_or(0).encode(&mut out);
        }
        tx.nonce.encode(&mut out);
        if !matches!(tx.tx_type, TxType::Legacy | TxType::AccessList) {
            tx.max_priority_fee_per_gas.encode(&mut out);
        }
        tx.max_fee_per_gas.encode(&mut out);
        tx.gas_limit.encode(&mut out);
        match &tx.to {
            Some(to) => to.encode(&mut out),
            None => out.push(EMPTY_STRING_CODE),
        }
        tx.value.encode(&mut out);
        tx.input.encode(&mut out);
        if tx.tx_type == TxType::Legacy {
            return out;
        }
        let items = tx.access_list.iter().flat_map(|(address, keys)| {
            list([alloy_rlp::encode(address), alloy_rlp::encode(keys)].concat())
        });
        out.extend(list(items.collect()));
        if tx.tx_type == TxType::Blob {
            tx.max_fee_per_blob_gas.encode(&mut out);
            tx.blob_hashes.encode(&mut out);
        }
        if tx.tx_type == TxType::SetCode {
            let tuples = self.delegations.iter().flat_map(|delegation| {
                let Signature { y_parity, r, s } = delegation.signature;
                let signature = [y_parity, r, s].map(alloy_rlp::encode).concat();
                list([delegation.fields(), signature].concat())
            });
            out.extend(list(tuples.collect()));
        }
        out
    }

    /// Decodes the encoding that a block has of it: a list, or a byte string with the type
    /// before the list.
    pub(super) fn decode(bytes: &mut &[u8]) -> alloy_rlp::Result<Self> {
        let of_type = |number: u64, mut list: &[u8]| {
            let tx_type = type_of(number).ok_or(Error::Custom("a type that is not 0 to 4"))?;
            let mut fields = Header::decode_bytes(&mut list, true)?;
            if !list.is_empty() {
                return Err(Error::Custom("bytes after a transaction"));
            }
            let mut out = Self::default();
            out.tx.tx_type = tx_type;
            for field in fields_of(tx_type) {
                field(&mut out, &mut fields)?;
            }
            out.decode_signature(&mut fields)?;
            if fields.is_empty() {
                Ok(out)
            } else {
                Err(Error::ListLengthMismatch { expected: 0, got: fields.len() })
            }
        };
        let before = *bytes;
        let header = Header::decode(bytes)?;
        if header.payload_length > bytes.len() {
            return Err(Error::InputTooShort);
        }
        let (payload, rest) = bytes.split_at(header.payload_length);
        *bytes = rest;
        if header.list {
            return of_type(0, &before[..before.len() - rest.len()]);
        }
        let (number, list) = payload.split_first().ok_or(Error::InputTooShort)?;
        if *number == 0 {
            return Err(Error::Custom("a type of 0, which is not written out"));
        }
        of_type(u64::from(*number), list)
    }

    fn decode_signature(&mut self, from: &mut &[u8]) -> alloy_rlp::Result<()> {
        let v = U256::decode(from)?;
        let (r, s) = (U256::decode(from)?, U256::decode(from)?);
        if self.tx.tx_type == TxType::Legacy {
            let (chain_id, y_parity) = split_v(v).ok_or(Error::Custom("a v of no signature"))?;
            self.chain_id = chain_id;
            self.signature = Some(Signature { y_parity, r, s });
        } else {
            self.signature = Some(Signature { y_parity: v, r, s });
        }
        Ok(())
    }
}

/// Chain and parity from the v of a transaction of type 0 (EIP-155).
pub(super) fn split_v(v: U256) -> Option<(Option<u64>, U256)> {
    let rest = v.checked_sub(U256::from(27))?;
    if rest <= U256::ONE {
        return Some((None, rest));
    }
    let rest = v.checked_sub(U256::from(35))?;
    let chain_id = u64::try_from(rest >> 1_usize).ok()?;
    Some((Some(chain_id), rest & U256::ONE))
}

/// The fields of a type in their order, up to the signature.
fn fields_of(tx_type: TxType) -> Vec<Field> {
    use TxType::{AccessList, Blob, DynamicFee, SetCode};
    let since = |first: TxType, field: Field| (tx_type >= first).then_some(field);
    let only_in = |only: TxType, field: Field| (tx_type == only).then_some(field);
    let fields: [Option<Field>; 12] = [
        since(AccessList, |to, from| set(&mut to.chain_id, u64::decode(from).map(Some))),
        Some(|to, from| set(&mut to.tx.nonce, u64::decode(from))),
        since(DynamicFee, |to, from| set(&mut to.tx.max_priority_fee_per_gas, u128::decode(from))),
        Some(|to, from| set(&mut to.tx.max_fee_per_gas, u128::decode(from))),
        Some(|to, from| set(&mut to.tx.gas_limit, u64::decode(from))),
        Some(|to, from| set(&mut to.tx.to, callee(from))),
        Some(|to, from| set(&mut to.tx.value, U256::decode(from))),
        Some(|to, from| set(&mut to.tx.input, Bytes::decode(from))),
        since(AccessList, |to, from| set(&mut to.tx.access_list, access_list(from))),
        only_in(Blob, |to, from| set(&mut to.tx.max_fee_per_blob_gas, u128::decode(from))),
        only_in(Blob, |to, from| set(&mut to.tx.blob_hashes, Vec::decode(from))),
        only_in(SetCode, |to, from| set(&mut to.delegations, delegations(from))),
    ];
    fields.into_iter().flatten().collect()
}

fn set<T>(place: &mut T, value: alloy_rlp::Result<T>) -> alloy_rlp::Result<()> {
    *place = value?;
    Ok(())
}

fn callee(from: &mut &[u8]) -> alloy_rlp::Result<Option<Address>> {
    if let Some((&EMPTY_STRING_CODE, rest)) = from.split_first() {
        *from = rest;
        return Ok(None);
    }
    Address::decode(from).map(Some)
}

fn access_list(from: &mut &[u8]) -> alloy_rlp::Result<Vec<(Address, Vec<B256>)>> {
    each(from, |item| Ok((Address::decode(item)?, Vec::decode(item)?)))
}

fn delegations(from: &mut &[u8]) -> alloy_rlp::Result<Vec<Delegation>> {
    each(from, |item| {
        Ok(Delegation {
            chain_id: U256::decode(item)?,
            address: Address::decode(item)?,
            nonce: u64::decode(item)?,
            signature: Signature {
                y_parity: U256::from(u8::decode(item)?),
                r: U256::decode(item)?,
                s: U256::decode(item)?,
            },
        })
    })
}

/// The lists that are the elements of a list.
fn each<T>(
    from: &mut &[u8],
    decode: impl Fn(&mut &[u8]) -> alloy_rlp::Result<T>,
) -> alloy_rlp::Result<Vec<T>> {
    let mut items = Header::decode_bytes(from, true)?;
    let mut out = Vec::new();
    while !items.is_empty() {
        let mut item = Header::decode_bytes(&mut items, true)?;
        out.push(decode(&mut item)?);
        if !item.is_empty() {
            return Err(Error::Custom("more fields than an element has"));
        }
    }
    Ok(out)
}
