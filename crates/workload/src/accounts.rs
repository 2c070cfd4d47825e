//! Computes the accounts of an account family from their indices: addresses, rows and codes.
//! Contract code can compute the addresses too. Codes are generated on request. An existing rule
//! never changes its results: a recipe must give the same state in every build. The rows of a state
//! and the generator's storms call it.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use rayon::prelude::*;

use crate::{
    genesis::{AccountFamily, AccountState, CodeRule, Genesis},
    keccak::keccak256_many_64,
    keys::keccak_input,
};

/// Maximum number of different codes of a family: the hash of each code is held in memory.
pub const CODES_MAX: u64 = 1 << 20;
/// Minimum length of a generated code in bytes: PUSH8, the index of the code, POP.
pub const CODE_BYTES_MIN: u32 = 10;
/// Maximum length of a generated code in bytes: Amsterdam's limit (EIP-7954).
pub const CODE_BYTES_MAX: u32 = 1 << 16;

/// Number of addresses that are hashed together, in buffers on the stack.
const CHUNK: usize = 128;

const PUSH8: u8 = 0x67;
const POP: u8 = 0x50;
const JUMPDEST: u8 = 0x5b;

/// A code rule that no family can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeRuleError {
    /// The codes are too short or too long.
    #[error("codes of {0} bytes; from {CODE_BYTES_MIN} to {CODE_BYTES_MAX} are possible")]
    Bytes(u32),
    /// The number of different codes is 0 or too large.
    #[error("{0} different codes; from 1 to {CODES_MAX} are possible")]
    Count(u64),
}

impl CodeRule {
    /// Checks the length and the number of the codes.
    ///
    /// # Errors
    /// [`CodeRuleError`].
    pub fn check(&self) -> Result<(), CodeRuleError> {
        let Self::Jumpdests { bytes, distinct_count } = *self else { return Ok(()) };
        if !(CODE_BYTES_MIN..=CODE_BYTES_MAX).contains(&bytes) {
            return Err(CodeRuleError::Bytes(bytes));
        }
        if !(1..=CODES_MAX).contains(&distinct_count) {
            return Err(CodeRuleError::Count(distinct_count));
        }
        Ok(())
    }
}

impl AccountFamily {
    /// Address of account `index`. An index of `count` or more gives the address of an absent
    /// account.
    pub fn address(&self, index: u64) -> Address {
        Address::from_word(keccak256(keccak_input(&self.seed, index)))
    }

    /// Replaces `out` by the addresses of `indices`.
    pub fn addresses(&self, indices: &[u64], out: &mut Vec<Address>) {
        out.clear();
        let mut inputs = [keccak_input(&self.seed, 0); CHUNK];
        let mut hashes = [[0; 32]; CHUNK];
        for indices in indices.chunks(CHUNK) {
            for (input, index) in inputs.iter_mut().zip(indices) {
                input[56..].copy_from_slice(&index.to_be_bytes());
            }
            let hashes = &mut hashes[..indices.len()];
            keccak256_many_64(&inputs[..indices.len()], hashes);
            out.extend(hashes.iter().map(|hash| Address::from_slice(&hash[12..])));
        }
    }

    /// Number of different codes.
    pub fn code_count(&self) -> u64 {
        match self.code {
            CodeRule::Nothing => 0,
            CodeRule::Jumpdests { distinct_count, .. } => distinct_count.min(self.count),
        }
    }

    /// Total length in bytes of all different codes.
    pub fn code_bytes(&self) -> u64 {
        match self.code {
            CodeRule::Nothing => 0,
            CodeRule::Jumpdests { bytes, .. } => self.code_count().saturating_mul(bytes.into()),
        }
    }

    /// Index of account `index`'s code among the family's codes; `None` in a family without codes.
    pub fn code_index(&self, index: u64) -> Option<u64> {
        match self.code {
            CodeRule::Nothing => None,
            CodeRule::Jumpdests { distinct_count, .. } => Some(index % distinct_count.max(1)),
        }
    }

    /// The code at `index` among the family's codes; empty in a family without codes.
    pub fn code(&self, index: u64) -> Bytes {
        let CodeRule::Jumpdests { bytes, .. } = self.code else { return Bytes::new() };
        let mut code = vec![JUMPDEST; bytes.max(CODE_BYTES_MIN) as usize];
        code[0] = PUSH8;
        code[1..9].copy_from_slice(&index.to_be_bytes());
        code[9] = POP;
        code.into()
    }

    /// The row of account `index`. `code_hash` is the hash of the account's code, `None` without
    /// code.
    pub fn state(&self, index: u64, code_hash: Option<B256>) -> AccountState {
        AccountState {
            // The nonce of a contract begins at 1 (EIP-161).
            nonce: u64::from(code_hash.is_some()),
            balance: U256::from(index) + U256::ONE,
            code_hash: code_hash.unwrap_or(KECCAK256_EMPTY),
        }
    }
}

/// Hashes of the codes that families generate, by the index of the family and the index of the code
/// in the family.
#[derive(Clone, Debug, Default)]
pub struct CodeHashes(Vec<Vec<B256>>);

impl CodeHashes {
    /// Hashes the codes of all families of `genesis` on `threads` threads. Their code rules must be
    /// valid. `None` when `cancel` is set.
    ///
    /// # Panics
    /// When the operating system refuses a thread.
    pub fn new(genesis: &Genesis, threads: usize, cancel: &AtomicBool) -> Option<Self> {
        let families = &genesis.account_families;
        if families.iter().all(|family| family.code_count() == 0) {
            return (!cancel.load(Ordering::Relaxed)).then(|| Self(vec![vec![]; families.len()]));
        }
        let threads = threads.max(1);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.unwrap_or_else(|error| panic!("{threads} threads to hash codes: {error}"));
        let hashes = pool.install(|| {
            let hashes_of = families.iter().map(|family| {
                let codes = (0..family.code_count()).into_par_iter();
                codes
                    .map(|index| {
                        (!cancel.load(Ordering::Relaxed)).then(|| keccak256(family.code(index)))
                    })
                    .collect()
            });
            hashes_of.collect::<Option<_>>()
        });
        hashes.map(Self)
    }

    /// The hash of the code of account `index` of `family`, which is at `family_index` in the
    /// genesis. `None` in a family without codes.
    pub fn get(&self, family_index: usize, family: &AccountFamily, index: u64) -> Option<B256> {
        family.code_index(index).map(|code| self.0[family_index][code as usize])
    }

    /// All hashes, each with the index of its family and the index of the code in the family.
    pub fn iter(&self) -> impl Iterator<Item = (B256, usize, u64)> + '_ {
        self.0.iter().enumerate().flat_map(|(family_index, hashes)| {
            hashes.iter().zip(0..).map(move |(hash, code)| (*hash, family_index, code))
        })
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{address, b256};

    use super::*;

    fn family(code: CodeRule) -> AccountFamily {
        AccountFamily { seed: B256::with_last_byte(1), count: 300, code }
    }

    #[test]
    fn what_a_rule_gives_never_changes() {
        let plain = family(CodeRule::Nothing);
        assert_eq!(plain.address(7), address!("b36430bd138b997ecea25c1043da0c366812b828"));
        let coded = family(CodeRule::Jumpdests { bytes: 12, distinct_count: 5 });
        assert_eq!(coded.address(7), plain.address(7));
        assert_eq!(coded.code(3), Bytes::from_static(b"\x67\0\0\0\0\0\0\0\x03\x50\x5b\x5b"));
        assert_eq!(coded.code_index(13), Some(3));
        let hash = b256!("a07a770d9efd3e2233e5d14feafa171e7c1cf06f491a1b1652a277898ff22dcc");
        let state = AccountState { nonce: 1, balance: U256::from(14), code_hash: hash };
        assert_eq!(coded.state(13, Some(keccak256(coded.code(3)))), state);
        let state = AccountState { balance: U256::from(14), ..AccountState::default() };
        assert_eq!(plain.state(13, None), state);
    }

    #[test]
    fn addresses_in_bulk_equal_single_ones_and_codes_differ() {
        let coded = family(CodeRule::Jumpdests { bytes: 100, distinct_count: 40 });
        let indices: Vec<u64> = (0..300).chain([u64::MAX]).collect();
        let mut addresses = Vec::new();
        coded.addresses(&indices, &mut addresses);
        let single: Vec<_> = indices.iter().map(|index| coded.address(*index)).collect();
        assert_eq!(addresses, single);
        let genesis = Genesis {
            account_families: vec![family(CodeRule::Nothing), coded],
            ..Genesis::default()
        };
        for threads in [1, 3, 64] {
            let hashes = CodeHashes::new(&genesis, threads, &AtomicBool::new(false)).unwrap();
            let all: std::collections::BTreeSet<_> = hashes.iter().collect();
            assert_eq!(all.len(), 40);
            for index in [0, 39, 40, 299] {
                let family = &genesis.account_families[1];
                let code = family.code(index % 40);
                assert_eq!(hashes.get(1, family, index), Some(keccak256(code)));
                assert_eq!(hashes.get(0, &genesis.account_families[0], index), None);
            }
        }
        assert!(CodeHashes::new(&genesis, 2, &AtomicBool::new(true)).is_none());
    }

    #[test]
    fn codes_that_cannot_be_are_refused() {
        let rule = |bytes, distinct_count| CodeRule::Jumpdests { bytes, distinct_count }.check();
        assert_eq!(rule(10, 1), Ok(()));
        assert_eq!(rule(1 << 16, CODES_MAX), Ok(()));
        assert_eq!(rule(9, 1), Err(CodeRuleError::Bytes(9)));
        assert_eq!(rule((1 << 16) + 1, 1), Err(CodeRuleError::Bytes((1 << 16) + 1)));
        assert_eq!(rule(10, 0), Err(CodeRuleError::Count(0)));
        assert_eq!(rule(10, CODES_MAX + 1), Err(CodeRuleError::Count(CODES_MAX + 1)));
    }
}
