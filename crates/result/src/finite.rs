//! Finds figures that JSON cannot hold, before `json.rs` writes a file. `serde_json` writes `null`
//! for a number that is not finite. A reader would take it for an unknown figure, or refuse the
//! file.

use std::{borrow::Cow, fmt};

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use crate::error::Error;

/// Refuses a value that contains a number which is not finite.
///
/// # Errors
/// [`Error::NotFinite`] for the first such number.
pub(crate) fn check(value: &impl Serialize) -> Result<(), Error> {
    value.serialize(&mut FiniteCheck::default()).map_err(|Fault(error)| error)
}

/// Wraps an error of this crate for serde.
#[derive(Debug)]
struct Fault(Error);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Fault {}

impl serde::ser::Error for Fault {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self(Error::no_json(reason))
    }
}

/// A step on the path to a value: the key in a map, or the index in an array.
#[derive(Debug)]
enum Step {
    Key(Cow<'static, str>),
    Index(usize),
}

/// A serialiser without output: visits the parts of a value, and keeps the path to the current
/// part.
#[derive(Debug, Default)]
struct FiniteCheck {
    /// The steps to the current part. The last step changes with each value of an array or a map.
    path: Vec<Step>,
}

impl FiniteCheck {
    /// Enters an array, whose values have indices.
    fn array(&mut self) -> Result<&mut Self, Fault> {
        self.path.push(Step::Index(0));
        Ok(self)
    }

    /// Enters a map, whose values have keys.
    fn map(&mut self) -> Result<&mut Self, Fault> {
        self.path.push(Step::Key(Cow::Borrowed("")));
        Ok(self)
    }

    /// Goes on to the value of `key` in the current map.
    fn at(&mut self, key: impl Into<Cow<'static, str>>) {
        if let Some(step) = self.path.last_mut() {
            *step = Step::Key(key.into());
        }
    }

    /// Checks a value of the current array, and goes on to the next one.
    fn next<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        value.serialize(&mut *self)?;
        if let Some(Step::Index(index)) = self.path.last_mut() {
            *index += 1;
        }
        Ok(())
    }

    /// Leaves the current array or map.
    fn leave(&mut self) -> Result<(), Fault> {
        self.path.pop();
        Ok(())
    }

    /// Returns the path as text: `cells[3].ms_per_batch.median`.
    fn key(&self) -> String {
        let mut key = String::new();
        for step in &self.path {
            let dot = if key.is_empty() { "" } else { "." };
            match step {
                Step::Key(name) => key.extend([dot, name]),
                Step::Index(index) => key.push_str(&format!("[{index}]")),
            }
        }
        key
    }
}

/// Declares methods of a [`Serializer`] for values that are always finite.
macro_rules! finite {
    ($($method:ident($($kind:ty),*);)*) => {
        $(fn $method(self $(, _: $kind)*) -> Result<(), Fault> {
            Ok(())
        })*
    };
}

/// Declares methods that enter an array or a map.
macro_rules! enters {
    ($($method:ident($($kind:ty),*): $enter:ident;)*) => {
        $(fn $method(self $(, _: $kind)*) -> Result<Self, Fault> {
            self.$enter()
        })*
    };
}

impl Serializer for &mut FiniteCheck {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_f64(self, value: f64) -> Result<(), Fault> {
        match value.is_finite() {
            true => Ok(()),
            false => Err(Fault(Error::NotFinite { key: self.key(), value })),
        }
    }

    fn serialize_f32(self, value: f32) -> Result<(), Fault> {
        self.serialize_f64(value.into())
    }

    finite! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        self.map()?.at(variant);
        value.serialize(&mut *self)?;
        self.leave()
    }

    enters! {
        serialize_seq(Option<usize>): array;
        serialize_tuple(usize): array;
        serialize_tuple_struct(&'static str, usize): array;
        serialize_tuple_variant(&'static str, u32, &'static str, usize): array;
        serialize_map(Option<usize>): map;
        serialize_struct(&'static str, usize): map;
        serialize_struct_variant(&'static str, u32, &'static str, usize): map;
    }
}

/// Declares serializers of arrays, whose values have an index.
macro_rules! array_serializers {
    ($($kind:ident::$method:ident;)*) => {
        $(impl $kind for &mut FiniteCheck {
            type Ok = ();
            type Error = Fault;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
                self.next(value)
            }

            fn end(self) -> Result<(), Fault> {
                self.leave()
            }
        })*
    };
}

array_serializers! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

/// Declares serializers of structs, whose values have a key.
macro_rules! struct_serializers {
    ($($kind:ident;)*) => {
        $(impl $kind for &mut FiniteCheck {
            type Ok = ();
            type Error = Fault;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Fault> {
                self.at(key);
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Fault> {
                self.leave()
            }
        })*
    };
}

struct_serializers! {
    SerializeStruct;
    SerializeStructVariant;
}

impl SerializeMap for &mut FiniteCheck {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        let text = serde_json::to_value(key).map_err(|cause| Fault(Error::no_json(cause)))?;
        self.at(text.as_str().map_or_else(|| text.to_string(), str::to_owned));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Fault> {
        self.leave()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    struct Outer {
        name: &'static str,
        rows: Vec<Row>,
        #[serde(flatten)]
        kind: Kind,
        by_name: BTreeMap<u32, (u8, f32)>,
    }

    #[derive(Clone, Serialize)]
    struct Row {
        ends: Option<[f64; 2]>,
    }

    #[derive(Serialize)]
    enum Kind {
        Share(f64),
        Part { of: f64 },
    }

    fn outer() -> Outer {
        let rows = vec![Row { ends: None }, Row { ends: Some([0.0, -1.5]) }];
        let by_name = BTreeMap::from([(7, (0, f32::MAX))]);
        Outer { name: "NaN", rows, kind: Kind::Share(f64::MIN_POSITIVE), by_name }
    }

    fn key(change: impl FnOnce(&mut Outer)) -> String {
        let mut outer = outer();
        change(&mut outer);
        match check(&outer) {
            Err(Error::NotFinite { key, .. }) => key,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_number_that_is_not_finite_is_found_wherever_it_is_and_its_key_told() {
        check(&outer()).expect("all numbers are finite");
        assert_eq!(key(|of| of.rows[1].ends = Some([0.0, f64::NAN])), "rows[1].ends[1]");
        assert_eq!(key(|of| of.rows[0].ends = Some([f64::INFINITY, 0.0])), "rows[0].ends[0]");
        assert_eq!(key(|of| of.kind = Kind::Share(f64::NEG_INFINITY)), "Share");
        assert_eq!(key(|of| of.kind = Kind::Part { of: f64::NAN }), "Part.of");
        assert_eq!(key(|of| of.by_name.extend([(9, (1, f32::NAN))])), "by_name.9[1]");
        let text = check(&f64::NAN).expect_err("no number").to_string();
        assert!(text.contains("NaN") && text.contains("please report"), "{text}");
    }
}
