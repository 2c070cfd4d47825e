//! Makes signed transactions as blocks carry them (EIP-2718). Exports and imports of blocks use it.

use alloy_consensus::{
    EthereumTxEnvelope, SignableTransaction, Signed, TxEip1559, TxEip2930, TxEip4844, TxEip7702,
    TxLegacy,
};
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Signature, TxKind};
use workload::{Transaction, TxType, signing::TxSignatures};

/// A transaction of a block; a blob transaction without its sidecar.
pub(crate) type Envelope = EthereumTxEnvelope<TxEip4844>;

/// The envelope of `tx` with its signatures. `chain_id` is `None` only for a transaction of type 0
/// that is valid on any chain (before EIP-155).
pub(crate) fn envelope(
    tx: &Transaction,
    chain_id: Option<u64>,
    signatures: &TxSignatures,
) -> Envelope {
    let to = tx.to.map_or(TxKind::Create, TxKind::Call);
    // A type that cannot create has a callee: the reference refuses a transaction without one.
    let callee = tx.to.unwrap_or_default();
    let Transaction { nonce, gas_limit, value, max_fee_per_gas, .. } = *tx;
    let (gas_price, max_priority_fee_per_gas) = (max_fee_per_gas, tx.max_priority_fee_per_gas);
    let (input, access_list) = (tx.input.clone(), access_list(tx));
    let (legacy_chain_id, chain_id) = (chain_id, chain_id.unwrap_or_default());
    match tx.tx_type {
        TxType::Legacy => {
            let chain_id = legacy_chain_id;
            let fields = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
            signed(fields, signatures).into()
        }
        TxType::AccessList => {
            let fields =
                TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input };
            signed(fields, signatures).into()
        }
        TxType::DynamicFee => {
            let fields = TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to,
                value,
                access_list,
                input,
            };
            signed(fields, signatures).into()
        }
        TxType::Blob => {
            let fields = TxEip4844 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to: callee,
                value,
                access_list,
                blob_versioned_hashes: tx.blob_hashes.clone(),
                max_fee_per_blob_gas: tx.max_fee_per_blob_gas,
                input,
            };
            Envelope::Eip4844(signed(fields, signatures))
        }
        TxType::SetCode => {
            let fields = TxEip7702 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to: callee,
                value,
                access_list,
                authorization_list: authorizations(tx, signatures),
                input,
            };
            signed(fields, signatures).into()
        }
    }
}

fn signed<T: SignableTransaction<Signature>>(tx: T, signatures: &TxSignatures) -> Signed<T> {
    let sender = &signatures.sender;
    tx.into_signed(Signature::new(sender.r, sender.s, sender.y_parity == 1))
}

fn access_list(tx: &Transaction) -> AccessList {
    let items = tx.access_list.iter().cloned();
    AccessList(
        items.map(|(address, storage_keys)| AccessListItem { address, storage_keys }).collect(),
    )
}

fn authorizations(tx: &Transaction, signatures: &TxSignatures) -> Vec<SignedAuthorization> {
    let all = tx.authorizations.iter().zip(&signatures.authorities);
    let signed = all.map(|(tuple, signature)| {
        let inner =
            Authorization { chain_id: tuple.chain_id, address: tuple.address, nonce: tuple.nonce };
        SignedAuthorization::new_unchecked(inner, signature.y_parity, signature.r, signature.s)
    });
    signed.collect()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, B256, Bytes, U256};
    use workload::{
        Workload, block,
        signing::{Signer, signing_hash},
    };

    use super::*;

    fn transaction(tx_type: TxType, sender: Address) -> Transaction {
        let has_list = tx_type != TxType::Legacy;
        let tuple = |authority| block::Authorization {
            chain_id: U256::from(9),
            address: Address::repeat_byte(4),
            nonce: 7,
            authority,
        };
        let has_authorizations = tx_type == TxType::SetCode;
        Transaction {
            tx_type,
            sender,
            nonce: 300,
            gas_limit: 1 << 24,
            max_fee_per_gas: 3_000_000_000,
            max_priority_fee_per_gas: 1_000_000_000,
            to: Some(Address::repeat_byte(2)),
            value: U256::from(1_000_000_007_u64),
            input: Bytes::from(vec![0xab; 70]),
            access_list: if has_list {
                vec![(Address::repeat_byte(8), vec![B256::repeat_byte(9), B256::ZERO])]
            } else {
                Vec::new()
            },
            blob_hashes: if tx_type == TxType::Blob { vec![B256::repeat_byte(1)] } else { vec![] },
            max_fee_per_blob_gas: if tx_type == TxType::Blob { 5 } else { 0 },
            authorizations: if has_authorizations {
                vec![tuple(Some(sender)), tuple(None)]
            } else {
                vec![]
            },
        }
    }

    /// The library hashes by its own code.
    #[test]
    fn a_library_agrees_on_what_is_signed() {
        let mut signer = Signer::new(&Workload::default()).unwrap();
        signer.add_secret(B256::with_last_byte(1)).unwrap();
        let sender = alloy_primitives::address!("7e5f4552091a69125d5dfcb7b8c2659029395bdf");
        for tx_type in
            [TxType::Legacy, TxType::AccessList, TxType::DynamicFee, TxType::Blob, TxType::SetCode]
        {
            let creates = matches!(tx_type, TxType::Legacy | TxType::DynamicFee);
            for to in [Some(Address::repeat_byte(2)), None].into_iter().take(1 + creates as usize) {
                let tx = Transaction { to, ..transaction(tx_type, sender) };
                let signatures = signer.sign(&tx, 9).unwrap();
                let made = envelope(&tx, Some(9), &signatures);
                let hash = signing_hash(&tx, 9, &signatures.authorities);
                assert_eq!(made.signature_hash(), hash, "{tx_type:?}");
            }
        }
    }
}
