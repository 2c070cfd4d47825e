//! Decides on which chains a load is allowed. Chains of developer nodes need no `--chain-id`. The
//! user must name any other chain, also a chain that is in no registry of public chains, as most
//! are not. The chain id decides, not genesis or peers, since a signature is valid on every chain
//! with its id (EIP-155).

use alloy_chains::NamedChain;

use crate::error::SendError;

/// Chains of developer nodes. Ids next to these may be public, such as 13371.
const DEVELOPERS: [NamedChain; 3] = [NamedChain::Dev, NamedChain::Cannon, NamedChain::AnvilHardhat];

/// Whether chain `id` is a chain of developer nodes, where money is worthless.
pub(crate) fn is_developers(id: u64) -> bool {
    DEVELOPERS.iter().any(|chain| u64::from(*chain) == id)
}

/// Chain ids of developer nodes, as an error lists them.
fn developer_ids() -> String {
    DEVELOPERS.map(|chain| u64::from(chain).to_string()).join(", ")
}

/// Checks that the user means a load on chain `id`; `named` is the chain that the user named.
///
/// # Errors
/// The chain is not the named chain, or the user named no chain and `id` is not one of developer
/// nodes.
pub(crate) fn check(id: u64, named: Option<u64>) -> Result<(), SendError> {
    match (named, NamedChain::try_from(id)) {
        (Some(asked), _) if asked != id => Err(SendError::OtherChain { id, asked }),
        (Some(_), _) => Ok(()),
        (None, _) if is_developers(id) => Ok(()),
        (None, Ok(chain)) => Err(SendError::PublicChain { id, name: chain.to_string() }),
        (None, Err(_)) => Err(SendError::UnknownChain { id, developers: developer_ids() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chains_of_developer_nodes_need_no_name() {
        for id in [1_337, 13_370, 31_337] {
            assert!(check(id, None).is_ok() && is_developers(id), "{id}");
        }
        for id in [1, 10, 137, 8_453, 13_371, 42_161, 11_155_111, 17_000, 560_048] {
            assert!(matches!(check(id, None), Err(SendError::PublicChain { .. })), "{id}");
        }
        for id in [0, 1_336, 31_338, 7_777_778, u64::MAX] {
            assert!(matches!(check(id, None), Err(SendError::UnknownChain { .. })), "{id}");
        }
    }

    #[test]
    fn a_named_chain_is_taken_and_no_other() {
        for id in [1, 1_337, 7_777_778] {
            assert!(check(id, Some(id)).is_ok(), "{id}");
            assert!(matches!(check(id, Some(id + 1)), Err(SendError::OtherChain { .. })), "{id}");
        }
    }

    #[test]
    fn an_error_says_the_id_and_the_option_to_add() {
        for id in [10, 7_777_778] {
            let error = check(id, None).unwrap_err().to_string();
            assert!(error.contains(&format!("--chain-id {id} ")), "{error}");
            assert!(error.contains("--seed"), "{error}");
        }
        let error = check(7_777_778, None).unwrap_err().to_string();
        assert!(error.contains("1337, 13370, 31337"), "{error}");
    }
}
