//! Who signed: transactions (EIP-2718, EIP-155) and delegations (EIP-7702).

use alloy_primitives::{Address, B256, U256, keccak256, uint};
use alloy_rlp::Encodable;
use revm::precompile::interface::crypto;

use super::rlp;

/// First byte of a delegation's signed message (EIP-7702 `MAGIC`).
const MAGIC: u8 = 0x05;
/// Half the order of secp256k1; a greater s is invalid (EIP-2).
const HALF_ORDER: U256 =
    uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// A signature on secp256k1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Signature {
    /// Parity of the point's y: 0 or 1; anything else is invalid.
    pub(super) y_parity: U256,
    /// The point's x.
    pub(super) r: U256,
    /// The proof.
    pub(super) s: U256,
}

impl Signature {
    /// Who signed the message with this hash; `None` where the signature is invalid.
    pub(super) fn signer(&self, hash: B256) -> Option<Address> {
        if self.s > HALF_ORDER || self.y_parity > U256::ONE {
            return None;
        }
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&self.r.to_be_bytes::<32>());
        signature[32..].copy_from_slice(&self.s.to_be_bytes::<32>());
        let recovery_id = u8::from(!self.y_parity.is_zero());
        let word = crypto().secp256k1_ecrecover(&signature, recovery_id, &hash.0).ok()?;
        Some(Address::from_slice(&word[12..]))
    }
}

/// A delegation as it is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delegation {
    pub(super) chain_id: U256,
    pub(super) address: Address,
    pub(super) nonce: u64,
    pub(super) signature: Signature,
}

impl Delegation {
    /// Who delegates; `None` where the signature is invalid.
    pub(super) fn authority(&self) -> Option<Address> {
        // keccak(MAGIC ‖ rlp([chain id, address, nonce])).
        let message = [&[MAGIC], rlp::list(self.fields()).as_slice()].concat();
        self.signature.signer(keccak256(message))
    }

    /// RLP of the signed fields, without the list's header.
    pub(super) fn fields(&self) -> Vec<u8> {
        let mut out = alloy_rlp::encode(self.chain_id);
        self.address.encode(&mut out);
        self.nonce.encode(&mut out);
        out
    }
}
