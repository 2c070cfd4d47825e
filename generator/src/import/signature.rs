//! Who signed a delegation (EIP-7702): the one signature that an imported block needs checked.

use alloy_primitives::{Address, B256, U256, keccak256, uint};
use alloy_rlp::{Encodable, Header};
use revm::precompile::interface::crypto;

use super::json::Authorization;

/// What a delegation's signed message begins with (EIP-7702 `MAGIC`).
const MAGIC: u8 = 0x05;
/// Half the order of secp256k1; a greater s is invalid (EIP-2).
const HALF_ORDER: U256 =
    uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// The signer of a delegation; `None` where the signature is invalid.
pub(super) fn recover(tuple: &Authorization) -> Option<Address> {
    if tuple.s > HALF_ORDER || tuple.y_parity > U256::ONE {
        return None;
    }
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&tuple.r.to_be_bytes::<32>());
    signature[32..].copy_from_slice(&tuple.s.to_be_bytes::<32>());
    let recovery_id = u8::from(!tuple.y_parity.is_zero());
    let word = crypto().secp256k1_ecrecover(&signature, recovery_id, &message(tuple).0).ok()?;
    Some(Address::from_slice(&word[12..]))
}

/// keccak(MAGIC ‖ rlp([chain id, address, nonce])).
fn message(tuple: &Authorization) -> B256 {
    let nonce = tuple.nonce.to::<u64>();
    let payload_length = tuple.chain_id.length() + tuple.address.length() + nonce.length();
    let mut out = vec![MAGIC];
    Header { list: true, payload_length }.encode(&mut out);
    tuple.chain_id.encode(&mut out);
    tuple.address.encode(&mut out);
    nonce.encode(&mut out);
    keccak256(out)
}
