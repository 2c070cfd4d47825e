//! Numbers as results write them, every digit.

use serde_json::Number;

/// A number of a result, or one that it may not know.
pub(crate) trait Exact: Copy {
    /// The number; `None` where it is not known, or not finite.
    fn number(self) -> Option<Number>;

    /// Its text, empty where it is not known.
    fn text(self) -> String {
        self.number().map_or_else(String::new, |number| number.to_string())
    }
}

impl Exact for u64 {
    fn number(self) -> Option<Number> {
        Some(self.into())
    }
}

impl Exact for f64 {
    fn number(self) -> Option<Number> {
        Number::from_f64(self)
    }
}

impl<N: Exact> Exact for Option<N> {
    fn number(self) -> Option<Number> {
        self?.number()
    }
}
