//! Chains on which a load is nobody's wish: all that a registry of chains names, but for those of
//! developers.

use alloy_chains::NamedChain;

use crate::error::SendError;

/// Chains of developer nodes that the registry names.
const DEVELOPERS: [NamedChain; 3] = [NamedChain::Dev, NamedChain::AnvilHardhat, NamedChain::Cannon];

/// Whether chain `id` is a public one that the registry names.
pub(crate) fn is_public(id: u64) -> bool {
    NamedChain::try_from(id).is_ok_and(|chain| !DEVELOPERS.contains(&chain))
}

/// Checks that a load on chain `id` is meant; `named` is the chain that the user named.
///
/// # Errors
/// It is a public chain that was not named, or another one than the named one.
pub(crate) fn check(id: u64, named: Option<u64>) -> Result<(), SendError> {
    match (named, NamedChain::try_from(id)) {
        (Some(asked), _) if asked != id => Err(SendError::OtherChain { id, asked }),
        (None, Ok(chain)) if !DEVELOPERS.contains(&chain) => {
            Err(SendError::PublicChain { id, name: chain.to_string() })
        }
        (Some(_), _) | (None, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_chains_are_refused_unless_named() {
        for id in [1, 10, 137, 8_453, 42_161, 11_155_111, 17_000, 560_048] {
            assert!(matches!(check(id, None), Err(SendError::PublicChain { .. })), "{id}");
            assert!(check(id, Some(id)).is_ok() && is_public(id));
        }
        for id in [1_337, 31_337, 7_777_778] {
            assert!(check(id, None).is_ok() && !is_public(id), "{id}");
            assert!(matches!(check(id, Some(1)), Err(SendError::OtherChain { .. })), "{id}");
        }
    }
}
