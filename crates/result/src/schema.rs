//! Schemas: the name and version with which a file begins. Each schema is a type, so that a value
//! read from a file has the schema that the file names.

/// Declares a schema as a type with one value, which is written as the schema's name. Files of the
/// older versions behind `or` are read, too: their keys are aliases of the present keys.
macro_rules! schema {
    ($(#[$doc:meta])* $value:ident: $kind:ident = $name:literal $(, or $older:literal)*) => {
        $(#[$doc])*
        pub const $value: $kind = $kind;

        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $kind;

        impl $kind {
            /// Name and version of the schema.
            pub const NAME: &'static str = $name;

            /// The schema names that this build reads: its own, then those of older versions.
            pub const READ: &'static [&'static str] = &[$name $(, $older)*];

            /// Returns whether this build reads files of this schema.
            pub fn reads(schema: &str) -> bool {
                Self::READ.contains(&schema)
            }
        }

        impl ::schemars::JsonSchema for $kind {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                Self::NAME.into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", "const": Self::NAME })
            }
        }

        impl ::serde::Serialize for $kind {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(Self::NAME)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $kind {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let found = <String as ::serde::Deserialize>::deserialize(from)?;
                if Self::reads(&found) {
                    return Ok(Self);
                }
                let wanted = Self::NAME;
                Err(::serde::de::Error::custom(format!("schema {found}, and not {wanted}")))
            }
        }
    };
}

pub(crate) use schema;
