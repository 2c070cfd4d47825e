//! The token of the Engine API: a JSON Web Token (HS256) with the time of the request, signed with
//! the shared secret. A client refuses a token that is more than a minute old.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use alloy_primitives::hex;
use anyhow::{Context, Result};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Header of every token. The order of the names is part of the signed text.
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
const SECRET_BYTES: usize = 32;

/// The secret that this program and the client share.
#[derive(Clone)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// Reads a secret of 32 bytes from hexadecimal digits, with or without `0x`.
    ///
    /// # Errors
    /// The file cannot be read, or has other content.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("--jwt {name}"))?;
        let bytes = hex::decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.with_context(|| {
            format!(
                "--jwt {name}: the secret of the Engine API is 64 hexadecimal digits; name the file that \
                 the client got (geth: --authrpc.jwtsecret)"
            )
        })?;
        Ok(Self(bytes))
    }

    /// Makes a secret from `seed` and the id of this process, so that each started client has its
    /// own.
    pub fn of_seed(seed: u64) -> Self {
        let text = format!("{} {seed}", std::process::id());
        Self(*blake3::hash(text.as_bytes()).as_bytes())
    }

    /// Returns the secret in hexadecimal digits, for the client's file.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }

    /// Returns the token of a request at `now`.
    pub fn token(&self, now: SystemTime) -> String {
        let now_s = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let [header, claims] =
            [HEADER, &format!(r#"{{"iat":{now_s}}}"#)].map(|part| URL_SAFE_NO_PAD.encode(part));
        let signed = format!("{header}.{claims}");
        let mac = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut mac = mac.unwrap_or_else(|_| panic!("a key of {SECRET_BYTES} bytes is no key"));
        mac.update(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_one_that_another_library_makes() {
        // Python's hmac and base64, of the key 32 × 7 and the first second of 2026.
        let expected = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE3NjcyMjU2MDB9.\
            hxFtF-K4OLDNQrIZyR1Q_LFNCPEXyo43uiYYYmYh9bs";
        let now = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        assert_eq!(Secret([7; 32]).token(now), expected);
    }

    #[test]
    fn a_secret_is_read_with_and_without_a_prefix_and_nothing_else_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jwt.hex");
        let secret = Secret([7; 32]);
        for text in [secret.hex(), format!("0x{}\n", secret.hex())] {
            fs::write(&path, text).unwrap();
            assert_eq!(Secret::read(&path).unwrap().0, secret.0);
        }
        for text in ["", "07", "0x", "secret", &"07".repeat(33)] {
            fs::write(&path, text).unwrap();
            let error = Secret::read(&path).err().unwrap().to_string();
            assert!(error.contains("64 hexadecimal digits"), "{text}: {error}");
        }
        assert!(Secret::read(&dir.path().join("none")).is_err());
        assert_ne!(Secret::of_seed(1).0, Secret::of_seed(2).0);
    }
}
