//! Signs transactions and their delegations by known secrets, for exported blocks, live nodes and
//! the recovery of senders. In a sender family, the secret of sender i is `first_secret` + i.

use std::fmt;

use alloy_primitives::{Address, B256, U256, map::HashMap};
use secp256k1::{Message, Secp256k1, SecretKey, SignOnly};

use super::{Signature, authorization_hash, signing_hash};
use crate::{
    block::{Transaction, Workload},
    genesis::SenderFamily,
    senders::SenderError,
};

/// The signatures of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxSignatures {
    /// Signature of the sender.
    pub sender: Signature,
    /// Signature of each delegation (EIP-7702); all zeros where the workload says it is invalid.
    pub authorities: Vec<Signature>,
}

/// A transaction that cannot be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The secret of an account is not known.
    #[error("the secret of {0} is not known: only generated senders can sign")]
    UnknownSecret(Address),
    /// A secret that is no key of secp256k1.
    #[error("{0}")]
    Invalid(String),
}

/// Signs for the accounts whose secrets are known.
pub struct Signer {
    curve: Secp256k1<SignOnly>,
    secrets: HashMap<Address, U256>,
}

/// Leaves out the secrets.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("account_count", &self.secrets.len()).finish_non_exhaustive()
    }
}

impl Signer {
    /// Makes a signer with the secrets of all generated senders in the plans of `workload`.
    ///
    /// # Errors
    /// A sender family without valid secrets.
    pub fn new(workload: &Workload) -> Result<Self, SenderError> {
        let mut secrets = HashMap::default();
        for range in workload.batches.iter().flat_map(|batch| &batch.plan.senders) {
            let families = &workload.genesis.senders;
            let Some(family) = families.get(range.family as usize) else { continue };
            let indices = range.start..range.start.saturating_add(range.count);
            for (index, address) in indices.clone().zip(family.addresses(indices)?) {
                secrets.insert(address, family.secret(index)?);
            }
        }
        Ok(Self { curve: Secp256k1::signing_only(), secrets })
    }

    /// Adds `secret`, and returns the address of its account.
    ///
    /// # Errors
    /// The secret is 0, or not below the order of secp256k1.
    pub fn add_secret(&mut self, secret: B256) -> Result<Address, SenderError> {
        let of_one = SenderFamily { first_secret: secret, count: 1, balance: U256::ZERO };
        let address = of_one.address(0)?;
        self.secrets.insert(address, of_one.secret(0)?);
        Ok(address)
    }

    /// The first account that must sign `tx` or one of its delegations and whose secret is not
    /// known.
    pub fn unknown_signer(&self, tx: &Transaction) -> Option<Address> {
        let authorities = tx.authorizations.iter().filter_map(|tuple| tuple.authority);
        authorities.chain([tx.sender]).find(|account| !self.secrets.contains_key(account))
    }

    /// Signs `tx` and its delegations for the chain `chain_id`.
    ///
    /// # Errors
    /// [`SignError`].
    pub fn sign(&self, tx: &Transaction, chain_id: u64) -> Result<TxSignatures, SignError> {
        let authorities = tx.authorizations.iter().map(|authorization| {
            authorization.authority.map_or(Ok(Signature::default()), |authority| {
                self.sign_hash(authority, authorization_hash(authorization))
            })
        });
        let authorities = authorities.collect::<Result<Vec<_>, _>>()?;
        let sender = self.sign_hash(tx.sender, signing_hash(tx, chain_id, &authorities))?;
        Ok(TxSignatures { sender, authorities })
    }

    fn sign_hash(&self, account: Address, hash: B256) -> Result<Signature, SignError> {
        let secret = self.secrets.get(&account).ok_or(SignError::UnknownSecret(account))?;
        let key = SecretKey::from_byte_array(secret.to_be_bytes::<32>())
            .map_err(|error| SignError::Invalid(error.to_string()))?;
        let signed = self.curve.sign_ecdsa_recoverable(Message::from_digest(hash.0), &key);
        let (parity, bytes) = signed.serialize_compact();
        Ok(Signature {
            y_parity: i32::from(parity).unsigned_abs() as u8,
            r: U256::from_be_slice(&bytes[..32]),
            s: U256::from_be_slice(&bytes[32..]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown_while_debugging() {
        let mut signer = Signer::new(&Workload::default()).unwrap();
        signer.add_secret(B256::repeat_byte(0x07)).unwrap();
        assert_eq!(format!("{signer:?}"), "Signer { account_count: 1, .. }");
    }
}
