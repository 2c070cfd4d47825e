//! Enums that are written and read as their names.
//!
//! `#[serde(with = "named")]` is for a value, `named::option` for one that may be `null`,
//! `named::or_none` for one whose absence is written as `none`, `named::or_error` as `error`. Beside
//! the first of these three stands `#[serde(default)]`: a missing key is an absent value.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use variant::Named;

pub(crate) fn serialize<T: Named, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.name())
}

pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    of_name(&String::deserialize(from)?)
}

/// The value of this name.
fn of_name<T: Named, E: Error>(name: &str) -> Result<T, E> {
    T::from_name(name).ok_or_else(|| {
        let known: Vec<_> = T::ALL.iter().map(|value| value.name()).collect();
        E::custom(format!("unknown {} {name:?}; known: {}", T::NOUN, known.join(", ")))
    })
}

pub(crate) mod option {
    use serde::{Deserialize, Deserializer, Serializer};
    use variant::Named;

    pub(crate) fn serialize<T: Named, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_some(value.name()),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        Option::<String>::deserialize(from)?.map(|name| super::of_name(&name)).transpose()
    }
}

/// Declares the module for an absent value that is written as a word.
macro_rules! absent_as {
    ($module:ident, $word:literal) => {
        pub(crate) mod $module {
            use serde::{Deserialize, Deserializer, Serializer};
            use variant::Named;

            pub(crate) fn serialize<T: Named, S: Serializer>(
                value: &Option<T>,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                to.serialize_str(value.map_or($word, T::name))
            }

            pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(
                from: D,
            ) -> Result<Option<T>, D::Error> {
                match String::deserialize(from)?.as_str() {
                    $word => Ok(None),
                    name => super::of_name(name).map(Some),
                }
            }
        }
    };
}

absent_as!(or_none, "none");
absent_as!(or_error, "error");
