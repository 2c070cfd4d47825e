//! Signs transactions: adds nonce, fees and signature to a content, and encodes the result for the
//! node. The setup and the driving task call it.

use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use workload::{
    Transaction, TxType,
    signing::{SignError, Signer},
};

use crate::fees::Fees;

/// The content of a transaction, without nonce and fees.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) sender: Address,
    pub(crate) to: Option<Address>,
    pub(crate) value: U256,
    pub(crate) input: Bytes,
    pub(crate) gas_limit: u64,
}

/// Signs transactions for one chain.
pub(crate) struct TxSigner<'a> {
    pub(crate) signer: &'a Signer,
    pub(crate) chain_id: u64,
}

/// A signed transaction. The same content, nonce and fees give the same bytes (RFC 6979).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signed {
    pub(crate) raw: Bytes,
    pub(crate) hash: B256,
    pub(crate) nonce: u64,
}

impl TxSigner<'_> {
    /// Signs `content`.
    ///
    /// # Errors
    /// The sender's secret is not known.
    pub(crate) fn sign(
        &self,
        content: Content,
        nonce: u64,
        fees: Fees,
    ) -> Result<Signed, SignError> {
        let tx = Transaction {
            tx_type: TxType::DynamicFee,
            sender: content.sender,
            nonce,
            gas_limit: content.gas_limit,
            max_fee_per_gas: fees.max,
            max_priority_fee_per_gas: fees.tip,
            to: content.to,
            value: content.value,
            input: content.input,
            ..Transaction::default()
        };
        let signature = self.signer.sign(&tx, self.chain_id)?.sender;
        let envelope = TxEip1559 {
            chain_id: self.chain_id,
            nonce,
            gas_limit: tx.gas_limit,
            max_fee_per_gas: tx.max_fee_per_gas,
            max_priority_fee_per_gas: tx.max_priority_fee_per_gas,
            to: tx.to.map_or(TxKind::Create, TxKind::Call),
            value: tx.value,
            access_list: Default::default(),
            input: tx.input,
        };
        let signature = Signature::new(signature.r, signature.s, signature.y_parity == 1);
        let signed = envelope.into_signed(signature);
        Ok(Signed { raw: signed.encoded_2718().into(), hash: *signed.hash(), nonce })
    }
}
