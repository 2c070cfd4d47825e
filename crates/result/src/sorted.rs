//! Parts of a file whose keys stand in alphabetical order, and not in that of their type: they
//! were JSON before they were types, and files stay as they are.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, ser::Error};

pub(crate) fn serialize<T: Serialize, S: Serializer>(part: &T, to: S) -> Result<S::Ok, S::Error> {
    serde_json::to_value(part).map_err(S::Error::custom)?.serialize(to)
}

pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    let json = serde_json::Value::deserialize(from)?;
    serde_json::from_value(json).map_err(serde::de::Error::custom)
}
