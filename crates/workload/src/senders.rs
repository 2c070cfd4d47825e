//! Computes the addresses of a sender family. Secrets are consecutive, so each public key is the
//! key before plus the generator of the curve. A point addition replaces a multiplication. A whole
//! chunk needs one field inversion. Rows, signers and `stress send` call it.

use std::ops::Range;

use alloy_primitives::{Address, U256};
use k256::{
    AffinePoint, ProjectivePoint, Scalar,
    elliptic_curve::{BatchNormalize, PrimeField, sec1::ToEncodedPoint},
};

use crate::{genesis::SenderFamily, keccak::keccak256_many_64};

/// Number of points that share one field inversion.
const CHUNK: usize = 256;

/// Maximum number of addresses to reserve memory for: a wrong count in a file cannot reserve more.
const RESERVED_COUNT: u64 = 1 << 16;

/// A sender family with an invalid secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SenderError {
    /// Secret 0 has no public key.
    #[error("first_secret is 0, which is no secret key; choose a number of at least 1")]
    ZeroSecret,
    /// A secret is not below the order of the curve.
    #[error(
        "secret {first_secret:#x} + {index} is not below the order of secp256k1; \
         choose a smaller first_secret or fewer senders"
    )]
    BeyondOrder {
        /// Secret of sender 0.
        first_secret: U256,
        /// Index of the sender.
        index: u64,
    },
}

impl SenderFamily {
    /// Secret key k0 + `index`.
    ///
    /// # Errors
    /// When the secret is 0 or not below the order of secp256k1.
    pub fn secret(&self, index: u64) -> Result<U256, SenderError> {
        self.scalar(index).map(|(secret, _)| secret)
    }

    /// Address of sender `index`. For many, [`Self::addresses`] is far faster.
    ///
    /// # Errors
    /// When its secret is invalid.
    pub fn address(&self, index: u64) -> Result<Address, SenderError> {
        let after = index.checked_add(1).ok_or(self.beyond(index))?;
        Ok(self.addresses(index..after)?[0])
    }

    /// Addresses of the senders in `range`. Ranges are independent of each other, so threads can
    /// share them out.
    ///
    /// # Errors
    /// When a secret of the range is invalid.
    pub fn addresses(&self, range: Range<u64>) -> Result<Vec<Address>, SenderError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let (_, first) = self.scalar(range.start)?;
        self.scalar(range.end - 1)?;
        let mut next = ProjectivePoint::GENERATOR * first;
        let mut remaining = range.end - range.start;
        let mut addresses = Vec::with_capacity(remaining.min(RESERVED_COUNT) as usize);
        let mut points = Vec::with_capacity(CHUNK);
        while remaining > 0 {
            let count = remaining.min(CHUNK as u64);
            points.clear();
            for _ in 0..count {
                points.push(next);
                next += AffinePoint::GENERATOR;
            }
            append_addresses(&points, &mut addresses);
            remaining -= count;
        }
        Ok(addresses)
    }

    /// Secret key k0 + `index`, also as a number of the curve.
    fn scalar(&self, index: u64) -> Result<(U256, Scalar), SenderError> {
        let first = U256::from_be_bytes(self.first_secret.0);
        if first.is_zero() {
            return Err(SenderError::ZeroSecret);
        }
        let secret = first.checked_add(U256::from(index)).ok_or(self.beyond(index))?;
        let scalar = Scalar::from_repr(secret.to_be_bytes::<32>().into());
        Ok((secret, Option::from(scalar).ok_or(self.beyond(index))?))
    }

    fn beyond(&self, index: u64) -> SenderError {
        let first_secret = U256::from_be_bytes(self.first_secret.0);
        SenderError::BeyondOrder { first_secret, index }
    }
}

fn append_addresses(points: &[ProjectivePoint], addresses: &mut Vec<Address>) {
    let affine: Vec<AffinePoint> = ProjectivePoint::batch_normalize(points);
    let mut inputs = [[0; 64]; CHUNK];
    for (input, point) in inputs.iter_mut().zip(&affine) {
        input.copy_from_slice(&point.to_encoded_point(false).as_bytes()[1..]);
    }
    let mut hashes = [[0; 32]; CHUNK];
    keccak256_many_64(&inputs[..affine.len()], &mut hashes[..affine.len()]);
    addresses.extend(hashes[..affine.len()].iter().map(|hash| Address::from_slice(&hash[12..])));
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, address, uint};
    use k256::elliptic_curve::sec1::ToEncodedPoint;

    use super::*;

    /// Order of secp256k1 (SEC 2, 2.4.1).
    const ORDER: U256 =
        uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);

    fn family(first_secret: U256) -> SenderFamily {
        SenderFamily { first_secret: B256::from(first_secret), count: 1, balance: U256::ZERO }
    }

    fn by_multiplication(secret: U256) -> Address {
        let key = k256::SecretKey::from_slice(&secret.to_be_bytes::<32>()).unwrap();
        let point = key.public_key().to_encoded_point(false);
        Address::from_slice(&alloy_primitives::keccak256(&point.as_bytes()[1..])[12..])
    }

    #[test]
    fn addresses_are_those_of_the_secret_keys() {
        let first = U256::from(0x1234_5678_9abc_u64) << 100;
        let addresses = family(first).addresses(5..600).unwrap();
        assert_eq!(addresses.len(), 595);
        for index in [0, 1, 2, 250, 251, 255, 256, 257, 511, 512, 594] {
            let secret = first + U256::from(5 + index);
            assert_eq!(addresses[index], by_multiplication(secret), "sender {index}");
            assert_eq!(family(first).address(5 + index as u64).unwrap(), addresses[index]);
        }
    }

    #[test]
    fn secret_one_has_the_address_that_all_know() {
        let known = address!("7e5f4552091a69125d5dfcb7b8c2659029395bdf");
        assert_eq!(family(U256::ONE).address(0), Ok(known));
        let second = address!("2b5ad5c4795c026514f8317c7a215e218dccd6cf");
        assert_eq!(family(U256::ONE).addresses(0..2).unwrap(), [known, second]);
    }

    #[test]
    fn secrets_of_zero_or_beyond_the_order_are_refused() {
        assert_eq!(family(U256::ZERO).address(0), Err(SenderError::ZeroSecret));
        let last = family(ORDER - U256::ONE);
        assert_eq!(last.address(0), Ok(by_multiplication(ORDER - U256::ONE)));
        for bad in [last.address(1), last.addresses(0..2).map(|all| all[1])] {
            assert!(matches!(bad, Err(SenderError::BeyondOrder { index: 1, .. })), "{bad:?}");
        }
        let wraps = family(U256::MAX).addresses(0..9);
        assert!(matches!(wraps, Err(SenderError::BeyondOrder { .. })), "{wraps:?}");
        assert!(family(U256::ONE).address(u64::MAX).is_err());
    }
}
