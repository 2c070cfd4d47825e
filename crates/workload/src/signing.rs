//! Hashes the messages that senders and authorities sign: the bytes of a transaction without its
//! signature (EIP-155, EIP-2930, EIP-1559, EIP-4844, EIP-7702). `signer` signs them where the
//! secret is known. Checks no signature.

mod signer;

use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_rlp::{Encodable, Header};

use crate::block::{Authorization, Transaction, TxType};

pub use signer::{SignError, Signer, TxSignatures};

/// First byte of a delegation's signed message (EIP-7702 `MAGIC`).
const MAGIC: u8 = 0x05;

/// A signature on secp256k1. The signer can be recovered from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Parity of the y coordinate of the point whose x coordinate is r: 0 or 1.
    pub y_parity: u8,
    /// r.
    pub r: U256,
    /// s.
    pub s: U256,
}

/// The hash that the sender of `tx` signs on the chain `chain_id`. A legacy transaction is valid on
/// this chain only (EIP-155). `authorities` are the signatures of the transaction's delegations, in
/// order; the signed message contains them.
pub fn signing_hash(tx: &Transaction, chain_id: u64, authorities: &[Signature]) -> B256 {
    let mut fields = Fields::default();
    let type_byte = match tx.tx_type {
        TxType::Legacy => {
            // EIP-155: the chain, and two zeros in place of r and s.
            fields.legacy(tx).item(&chain_id).item(&0_u8).item(&0_u8);
            None
        }
        TxType::AccessList => {
            fields.item(&chain_id).legacy(tx).access_list(tx);
            Some(1)
        }
        TxType::DynamicFee => {
            fields.dynamic_fee(tx, chain_id);
            Some(2)
        }
        TxType::Blob => {
            let mut hashes = Fields::default();
            for hash in &tx.blob_hashes {
                hashes.item(hash);
            }
            fields.dynamic_fee(tx, chain_id).item(&tx.max_fee_per_blob_gas).list(&hashes);
            Some(3)
        }
        TxType::SetCode => {
            fields.dynamic_fee(tx, chain_id).authorizations(tx, authorities);
            Some(4)
        }
    };
    fields.hash(type_byte)
}

/// The hash that the sender of a legacy transaction signed before EIP-155: valid on any chain.
pub fn unprotected_signing_hash(tx: &Transaction) -> B256 {
    let mut fields = Fields::default();
    fields.legacy(tx);
    fields.hash(None)
}

/// The hash that the authority of a delegation signs (EIP-7702).
pub fn authorization_hash(authorization: &Authorization) -> B256 {
    let mut fields = Fields::default();
    fields.item(&authorization.chain_id).item(&authorization.address).item(&authorization.nonce);
    fields.hash(Some(MAGIC))
}

/// Fields of an RLP list, encoded one after the other.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    /// Adds a field.
    fn item(&mut self, item: &impl Encodable) -> &mut Self {
        item.encode(&mut self.0);
        self
    }

    /// Adds a list as a field.
    fn list(&mut self, fields: &Self) -> &mut Self {
        Header { list: true, payload_length: fields.0.len() }.encode(&mut self.0);
        self.0.extend_from_slice(&fields.0);
        self
    }

    /// Adds the fields that types 0 and 1 share.
    fn legacy(&mut self, tx: &Transaction) -> &mut Self {
        self.item(&tx.nonce).item(&tx.max_fee_per_gas).call(tx)
    }

    /// Adds the fields with which the lists of types 2, 3 and 4 begin.
    fn dynamic_fee(&mut self, tx: &Transaction, chain_id: u64) -> &mut Self {
        self.item(&chain_id).item(&tx.nonce).item(&tx.max_priority_fee_per_gas);
        self.item(&tx.max_fee_per_gas).call(tx).access_list(tx)
    }

    /// Adds gas limit, callee, value and input.
    fn call(&mut self, tx: &Transaction) -> &mut Self {
        self.item(&tx.gas_limit);
        match &tx.to {
            Some(to) => self.item(to),
            None => self.item(&Bytes::new()),
        };
        self.item(&tx.value).item(&tx.input)
    }

    fn access_list(&mut self, tx: &Transaction) -> &mut Self {
        let mut items = Self::default();
        for (address, keys) in &tx.access_list {
            let (mut item, mut slots) = (Self::default(), Self::default());
            for key in keys {
                slots.item(key);
            }
            items.list(item.item(address).list(&slots));
        }
        self.list(&items)
    }

    fn authorizations(&mut self, tx: &Transaction, signatures: &[Signature]) {
        let mut items = Self::default();
        for (authorization, signature) in tx.authorizations.iter().zip(signatures) {
            let mut item = Self::default();
            item.item(&authorization.chain_id).item(&authorization.address);
            item.item(&authorization.nonce).item(&signature.y_parity);
            items.list(item.item(&signature.r).item(&signature.s));
        }
        self.list(&items);
    }

    /// Keccak-256 of the list, with `prefix` before it.
    fn hash(&self, prefix: Option<u8>) -> B256 {
        let mut out = Vec::with_capacity(self.0.len() + 10);
        out.extend(prefix);
        Header { list: true, payload_length: self.0.len() }.encode(&mut out);
        out.extend_from_slice(&self.0);
        keccak256(out)
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, address, b256, uint};

    use super::*;

    /// The example of EIP-155.
    #[test]
    fn the_example_of_eip_155_has_its_hash() {
        let tx = Transaction {
            tx_type: TxType::Legacy,
            nonce: 9,
            max_fee_per_gas: 20_000_000_000,
            gas_limit: 21_000,
            to: Some(address!("3535353535353535353535353535353535353535")),
            value: uint!(1_000_000_000_000_000_000_U256),
            ..Transaction::default()
        };
        let expected = b256!("daf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53");
        assert_eq!(signing_hash(&tx, 1, &[]), expected);
        assert_ne!(signing_hash(&tx, 2, &[]), expected);
        assert_ne!(unprotected_signing_hash(&tx), expected);
    }

    #[test]
    fn every_field_of_every_kind_is_signed() {
        let base = Transaction { nonce: 1, gas_limit: 2, ..Transaction::default() };
        let changed = [
            Transaction { nonce: 9, ..base.clone() },
            Transaction { gas_limit: 9, ..base.clone() },
            Transaction { max_fee_per_gas: 9, ..base.clone() },
            Transaction { to: Some(Address::ZERO), ..base.clone() },
            Transaction { value: U256::from(9), ..base.clone() },
            Transaction { input: Bytes::from_static(&[0]), ..base.clone() },
            Transaction { max_priority_fee_per_gas: 9, ..base.clone() },
            Transaction { access_list: vec![(Address::ZERO, vec![])], ..base.clone() },
            Transaction { blob_hashes: vec![B256::ZERO], ..base.clone() },
            Transaction { max_fee_per_blob_gas: 9, ..base.clone() },
            Transaction { authorizations: vec![Authorization::default()], ..base },
        ];
        let kinds = [
            (TxType::Legacy, 6),
            (TxType::AccessList, 7),
            (TxType::DynamicFee, 8),
            (TxType::Blob, 10),
            (TxType::SetCode, 9),
        ];
        let mut all = std::collections::BTreeSet::new();
        let mut count = 0;
        for (tx_type, distinct_count) in kinds {
            let of_kind: std::collections::BTreeSet<_> = changed
                .iter()
                .map(|tx| Transaction { tx_type, ..tx.clone() })
                .map(|tx| signing_hash(&tx, 1, &[Signature::default()]))
                .collect();
            // Fields that the kind does not have leave the hash of the transaction without them.
            let base = usize::from(distinct_count < changed.len());
            assert_eq!(of_kind.len(), distinct_count + base, "{tx_type:?}");
            count += of_kind.len();
            all.extend(of_kind);
        }
        assert_eq!(all.len(), count, "no two kinds share a hash");
    }
}
