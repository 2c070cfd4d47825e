//! Numbers of a result that remember their place in it.
//!
//! [`figure!`], [`interval!`] and [`part!`] take one path for both the value and its place. So a
//! renamed field is an error here, and the place that a page names is the field's.

use std::ops::Deref;

use serde_json::Number;

use crate::units::Exact;

/// A number of a result, and its place there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// Index of its result among those of the page.
    pub(super) result: usize,
    /// Path in the result: `/cells/3/mgas_per_s/median`. With `*` in it: the median over all values
    /// there, see [`super::data::Row::median`].
    pub(super) at: String,
    pub(super) value: f64,
    /// The number as the result writes it.
    pub(super) text: String,
}

impl Figure {
    /// A number of the result at `result`; `None` where it is not finite.
    pub(super) fn new(result: usize, at: String, number: &Number) -> Option<Self> {
        let value = number.as_f64().filter(|value| value.is_finite())?;
        Some(Self { result, at, value, text: number.to_string() })
    }
}

/// A part of a result, and its place there.
#[derive(Clone, Debug)]
pub(super) struct Part<'a, T> {
    /// Index of its result among those of the page.
    pub(super) result: usize,
    /// Path in the result; empty for all of it.
    pub(super) at: String,
    pub(super) value: &'a T,
}

impl<T> Deref for Part<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<'a, T> Part<'a, T> {
    /// All of the result at `result`.
    pub(super) const fn whole(result: usize, value: &'a T) -> Self {
        Self { result, at: String::new(), value }
    }

    /// The value of [`part!`]: the part at `path` below this one.
    pub(super) fn below<U>(
        &self,
        path: &str,
        find: impl Fn(&'a T) -> Option<&'a U>,
    ) -> Option<Part<'a, U>> {
        let value = find(self.value)?;
        Some(Part { result: self.result, at: format!("{}/{path}", self.at), value })
    }

    /// The value of [`figure!`]: the number at `path` below this part.
    pub(super) fn figure<N: Exact>(
        &self,
        path: &str,
        read: impl Fn(&'a T) -> Option<N>,
    ) -> Option<Figure> {
        let number = read(self.value)?.number()?;
        Figure::new(self.result, format!("{}/{path}", self.at), &number)
    }

    /// The value of [`interval!`]: both ends of the interval at `path` below this part.
    pub(super) fn interval(
        &self,
        path: &str,
        read: impl Fn(&'a T) -> Option<[f64; 2]>,
    ) -> Option<[Figure; 2]> {
        let [low, high] = read(self.value)?;
        let low = self.figure(&format!("{path}/0"), |_| Some(low))?;
        Some([low, self.figure(&format!("{path}/1"), |_| Some(high))?])
    }
}

/// With `@text`, the path of fields and indices as a result has it. With `@value`, the value at
/// this path below an expression. A field that may be absent has a `?` behind it.
macro_rules! place {
    (@text [$($text:expr),*]) => { [$($text),*].join("/") };
    (@text [$($text:expr),*] [$index:expr] $($rest:tt)*) => {
        $crate::html::figure::place!(@text [$($text,)* $index.to_string()] $($rest)*)
    };
    (@text [$($text:expr),*] $field:ident $($rest:tt)*) => {
        $crate::html::figure::place!(@text [$($text,)* stringify!($field).to_owned()] $($rest)*)
    };
    (@text [$($text:expr),*] $dot_or_mark:tt $($rest:tt)*) => {
        $crate::html::figure::place!(@text [$($text),*] $($rest)*)
    };
    (@value $of:expr;) => { $of };
    (@value $of:expr; . $($rest:tt)*) => {
        $crate::html::figure::place!(@value $of; $($rest)*)
    };
    (@value $of:expr; ? $($rest:tt)*) => {
        $crate::html::figure::place!(@value *$of.as_ref()?; $($rest)*)
    };
    (@value $of:expr; [$index:expr] $($rest:tt)*) => {
        $crate::html::figure::place!(@value *$of.get($index)?; $($rest)*)
    };
    (@value $of:expr; $field:ident $($rest:tt)*) => {
        $crate::html::figure::place!(@value $of.$field; $($rest)*)
    };
}

/// A number below a [`Part`]: `figure!(row.cell, mgas_per_s.median)`; `None` where it is not known.
macro_rules! figure {
    ($part:expr, $($path:tt)+) => {
        $part.figure(
            &$crate::html::figure::place!(@text [] $($path)+),
            |of| Some($crate::html::figure::place!(@value of; $($path)+)),
        )
    };
}

/// Both ends of an interval below a [`Part`]: `interval!(row.cell, mgas_per_s.ci95)`.
macro_rules! interval {
    ($part:expr, $($path:tt)+) => {
        $part.interval(
            &$crate::html::figure::place!(@text [] $($path)+),
            |of| $crate::html::figure::place!(@value of; $($path)+),
        )
    };
}

/// A [`Part`] below another: `part!(run, workload)`; `None` where it is not there.
macro_rules! part {
    ($part:expr, $($path:tt)+) => {
        $part.below(
            &$crate::html::figure::place!(@text [] $($path)+),
            |of| Some(&$crate::html::figure::place!(@value of; $($path)+)),
        )
    };
}

pub(super) use {figure, interval, part, place};
