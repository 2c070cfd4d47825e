//! Writes and reads enums of [`Named`] as their names.
//!
//! `#[serde(with = "Name::<Design>")]` is for a field with a value, [`NameOrNull`] for a value or
//! `null`. [`NameOrNone`] writes the word `none` for an absent value, [`NameOrError`] the word
//! `error`. With `default` beside [`NameOrNull`], a missing key is read as an absent value. These
//! types also give the JSON Schema its lists of names.

use std::{borrow::Cow, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serializer, de::Error};
use variant::Named;

/// A value, written as its name.
pub(crate) struct Name<T>(PhantomData<T>);

/// A value, written as its name, or `null` if it is absent.
pub(crate) struct NameOrNull<T>(PhantomData<T>);

impl<T: Named> Name<T> {
    pub(crate) fn serialize<S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(value.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        parse_name(&String::deserialize(from)?)
    }
}

impl<T: Named> NameOrNull<T> {
    pub(crate) fn serialize<S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_some(value.name()),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
        Option::<String>::deserialize(from)?.map(|name| parse_name(&name)).transpose()
    }
}

/// Parses a name; the error lists all known names.
fn parse_name<T: Named, E: Error>(name: &str) -> Result<T, E> {
    T::from_name(name).ok_or_else(|| {
        E::custom(format!("unknown {} {name:?}; known: {}", T::NOUN, T::names().join(", ")))
    })
}

impl<T: Named> JsonSchema for Name<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::NOUN.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": T::names() })
    }
}

impl<T: Named> JsonSchema for NameOrNull<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{} or null", T::NOUN).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [Name::<T>::json_schema(generator), { "type": "null" }] })
    }
}

/// Declares a type like [`NameOrNull`] that writes a word for an absent value.
macro_rules! absent_as {
    ($(#[$doc:meta])* $kind:ident, $word:literal) => {
        $(#[$doc])*
        pub(crate) struct $kind<T>(PhantomData<T>);

        impl<T: Named> $kind<T> {
            pub(crate) fn serialize<S: Serializer>(
                value: &Option<T>,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                to.serialize_str(value.map_or($word, T::name))
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<Option<T>, D::Error> {
                match String::deserialize(from)?.as_str() {
                    $word => Ok(None),
                    name => parse_name(name).map(Some),
                }
            }
        }

        impl<T: Named> JsonSchema for $kind<T> {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                format!("{} or {}", T::NOUN, $word).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let names = [&T::names()[..], &[$word]].concat();
                json_schema!({ "type": "string", "enum": names })
            }
        }
    };
}

absent_as! {
    /// A value, written as its name, or the word `none` if it is absent.
    NameOrNone, "none"
}
absent_as! {
    /// A value, written as its name, or the word `error` if it is absent.
    NameOrError, "error"
}
