//! Limits that a control group sets to the process.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// How a limit that there is not is written.
const UNLIMITED: &str = "unlimited";

/// Limits of versions 1 and 2; `null` where no group was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cgroup {
    /// CPU time a second, in thousandths of a CPU.
    pub cpu_limit_millicpus: Option<Limit>,
    /// Memory.
    pub memory_limit_bytes: Option<Limit>,
}

/// A limit that is known; written as a number or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Up to this.
    At(u64),
    /// There is none.
    Unlimited,
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": UNLIMITED }] })
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(limit) => serializer.serialize_u64(*limit),
            Self::Unlimited => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(limit) => Ok(Self::At(limit)),
            Written::Word(word) if word == UNLIMITED => Ok(Self::Unlimited),
            Written::Word(word) => {
                Err(D::Error::custom(format!("{word:?} is no limit: a number or {UNLIMITED:?}")))
            }
        }
    }
}
