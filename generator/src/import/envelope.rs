//! Encodes and decodes signed transactions (EIP-2718) for `read.rs`, and finds their signers.
//! Transactions that break rules of blocks are decoded too; the reference rejects them.

use alloy_eips::{eip2718::Encodable2718, eip2930::AccessList, eip7702::SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, uint};
use alloy_rlp::{Decodable, EMPTY_LIST_CODE, Error, Header};
use revm::precompile::interface::crypto;
use workload::{
    Transaction, TxType,
    block::Authorization,
    signing::{
        Signature, TxSignatures, authorization_hash, signing_hash, unprotected_signing_hash,
    },
};

use crate::envelope::envelope;

/// Half the order of the curve secp256k1. A signature with a greater `s` is invalid (EIP-2).
const HALF_ORDER: U256 =
    uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// The error for an unknown transaction type.
const UNKNOWN_TYPE: Error = Error::Custom("a type that is not 0 to 4");

/// A transaction with its signatures, and with its chain id, which is signed but not executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope {
    /// The transaction, without its sender.
    pub(super) tx: Transaction,
    /// Id of the chain for which the transaction is signed; `None` for a transaction of type 0 that
    /// is valid on any chain (before EIP-155).
    pub(super) chain_id: Option<u64>,
    /// Signatures of the transaction's authorizations (EIP-7702), in order.
    pub(super) authorities: Vec<Signature>,
    /// The sender's signature; `None` for an unsigned transaction.
    pub(super) signature: Option<Signature>,
}

/// Returns the transaction type of this number.
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

impl Envelope {
    /// Returns the signer; `None` if the signature is missing or invalid.
    pub(super) fn signer(&self) -> Option<Address> {
        let hash = match (self.tx.tx_type, self.chain_id) {
            (TxType::Legacy, None) => unprotected_signing_hash(&self.tx),
            (_, chain_id) => signing_hash(&self.tx, chain_id.unwrap_or(0), &self.authorities),
        };
        signer(&self.signature?, hash)
    }

    /// Returns the transaction's encoding of EIP-2718; `None` if it is not signed.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let (sender, authorities) = (self.signature?, self.authorities.clone());
        let signatures = TxSignatures { sender, authorities };
        Some(envelope(&self.tx, self.chain_id, &signatures).encoded_2718())
    }

    /// Decodes the first transaction in `bytes`, the transactions of a block: an RLP list, or an
    /// RLP byte string of the type and a list. Advances `bytes` to the next transaction.
    pub(super) fn decode(bytes: &mut &[u8]) -> alloy_rlp::Result<Self> {
        let before = *bytes;
        let header = Header::decode(bytes)?;
        if header.payload_length > bytes.len() {
            return Err(Error::InputTooShort);
        }
        let (payload, rest) = bytes.split_at(header.payload_length);
        *bytes = rest;
        if header.list {
            return Self::decode_list(0, &before[..before.len() - rest.len()]);
        }
        match payload.first() {
            Some(first) if *first >= EMPTY_LIST_CODE => Err(UNKNOWN_TYPE),
            _ => Self::decode_2718(payload),
        }
    }

    /// Decodes the encoding of EIP-2718: an RLP list, or the type and a list.
    pub(super) fn decode_2718(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let (first, list) = bytes.split_first().ok_or(Error::InputTooShort)?;
        match *first {
            0 => Err(Error::Custom("a type of 0, which is not written out")),
            EMPTY_LIST_CODE.. => Self::decode_list(0, bytes),
            number => Self::decode_list(u64::from(number), list),
        }
    }

    /// Decodes a transaction of the type `number` from `list`, which must end with it.
    fn decode_list(number: u64, mut list: &[u8]) -> alloy_rlp::Result<Self> {
        let tx_type = type_of(number).ok_or(UNKNOWN_TYPE)?;
        let mut fields = Header::decode_bytes(&mut list, true)?;
        if !list.is_empty() {
            return Err(Error::Custom("bytes after a transaction"));
        }
        let out = Self::decode_fields(tx_type, &mut fields)?;
        match fields {
            [] => Ok(out),
            _ => Err(Error::ListLengthMismatch { expected: 0, got: fields.len() }),
        }
    }

    /// Decodes the fields of a transaction, in the order of their type's EIP.
    fn decode_fields(tx_type: TxType, from: &mut &[u8]) -> alloy_rlp::Result<Self> {
        use TxType::{AccessList as WithList, Blob, DynamicFee, Legacy, SetCode};
        let mut out = Self::default();
        let tx = &mut out.tx;
        tx.tx_type = tx_type;
        if tx_type >= WithList {
            out.chain_id = Some(u64::decode(from)?);
        }
        tx.nonce = u64::decode(from)?;
        if tx_type >= DynamicFee {
            tx.max_priority_fee_per_gas = u128::decode(from)?;
        }
        tx.max_fee_per_gas = u128::decode(from)?;
        tx.gas_limit = u64::decode(from)?;
        tx.to = TxKind::decode(from)?.into_to();
        tx.value = U256::decode(from)?;
        tx.input = Bytes::decode(from)?;
        if tx_type >= WithList {
            let list = AccessList::decode(from)?.0.into_iter();
            tx.access_list = list.map(|item| (item.address, item.storage_keys)).collect();
        }
        if tx_type == Blob {
            tx.max_fee_per_blob_gas = u128::decode(from)?;
            tx.blob_hashes = Vec::decode(from)?;
        }
        if tx_type == SetCode {
            let signed = Vec::<SignedAuthorization>::decode(from)?.into_iter();
            (tx.authorizations, out.authorities) = signed
                .map(|auth| {
                    let signature =
                        Signature { y_parity: auth.y_parity(), r: auth.r(), s: auth.s() };
                    (authorization(auth.chain_id, auth.address, auth.nonce, &signature), signature)
                })
                .unzip();
        }
        let (v, r, s) = (U256::decode(from)?, U256::decode(from)?, U256::decode(from)?);
        let y_parity = if tx_type == Legacy {
            let (chain_id, y_parity) = split_v(v).ok_or(Error::Custom("a v of no signature"))?;
            out.chain_id = chain_id;
            y_parity
        } else {
            parity(v)
        };
        out.signature = Some(Signature { y_parity, r, s });
        Ok(out)
    }
}

/// Returns `number` as the y parity of a signature. [`signer`] refuses a y parity above 1.
pub(super) fn parity(number: U256) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// Splits the `v` of a transaction of type 0 into the chain id, if it has one, and the y parity
/// (EIP-155). `None` if no signature has this `v`.
pub(super) fn split_v(v: U256) -> Option<(Option<u64>, u8)> {
    let rest = v.checked_sub(U256::from(27))?;
    if rest <= U256::ONE {
        return Some((None, parity(rest)));
    }
    let rest = v.checked_sub(U256::from(35))?;
    let chain_id = u64::try_from(rest >> 1_usize).ok()?;
    Some((Some(chain_id), parity(rest & U256::ONE)))
}

/// Makes an authorization (EIP-7702) by the signer of `signature`.
pub(super) fn authorization(
    chain_id: U256,
    address: Address,
    nonce: u64,
    signature: &Signature,
) -> Authorization {
    let unsigned = Authorization { chain_id, address, nonce, authority: None };
    Authorization { authority: signer(signature, authorization_hash(&unsigned)), ..unsigned }
}

/// Recovers the signer of the message with this hash; `None` if the signature is invalid.
fn signer(signature: &Signature, hash: B256) -> Option<Address> {
    let Signature { y_parity, r, s } = signature;
    if *s > HALF_ORDER || *y_parity > 1 {
        return None;
    }
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&r.to_be_bytes::<32>());
    bytes[32..].copy_from_slice(&s.to_be_bytes::<32>());
    let word = crypto().secp256k1_ecrecover(&bytes, *y_parity, &hash.0).ok()?;
    Some(Address::from_slice(&word[12..]))
}
