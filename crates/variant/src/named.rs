//! Closed sets of names: the trait [`Named`], and a macro for enums whose values and names are
//! declared in one place. Also has [`steers_terminal`], which finds characters that no name may
//! send to a terminal.

use std::fmt;

/// A closed set of values. Each value has one name, which scenarios, the command line and results
/// use.
pub trait Named: Copy + Eq + fmt::Debug + 'static {
    /// The noun that an error calls a value, such as `design`.
    const NOUN: &'static str;
    /// Every value, in the order in which errors and reports list them.
    const ALL: &'static [Self];

    /// The name of a value.
    fn name(self) -> &'static str;

    /// The names of all values.
    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|value| value.name()).collect()
    }

    /// Returns the value with this name; `None` if no value has it.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// Returns whether a terminal acts on `c`: on a control character, or on a character that changes
/// the direction of text.
pub fn steers_terminal(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Declares an enum with its noun and the names of its values: implements [`Named`], a `const`
/// function `name`, and `Display`.
///
/// ```
/// variant::named! {
///     /// A direction.
///     #[derive(Default)]
///     pub enum Direction: "direction" {
///         /// Upwards.
///         #[default]
///         Up = "up",
///         /// Downwards.
///         Down = "down",
///     }
/// }
///
/// use variant::Named;
/// assert_eq!(Direction::from_name("down"), Some(Direction::Down));
/// assert_eq!(Direction::default().to_string(), "up");
/// assert_eq!(Direction::ALL.len(), 2);
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $kind:ident: $noun:literal {
            $($(#[$value_meta:meta])* $value:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visibility enum $kind { $($(#[$value_meta])* $value),+ }

        impl $kind {
            /// Every value, in the order in which errors and reports list them.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// The name that scenarios, the command line and results use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }
        }

        impl $crate::Named for $kind {
            const NOUN: &'static str = $noun;
            const ALL: &'static [Self] = Self::ALL;

            fn name(self) -> &'static str {
                Self::name(self)
            }
        }

        impl ::std::fmt::Display for $kind {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        AccountReads, CacheFill, CacheMode, Checksums, CodeReads, Compaction, Design, Durability,
        FileAccess, FilterKind, IndexShape, ListDuty, ListForm, Partitioner, Phase, ReadMethod,
        ReadOrder, ReadTime, ReaderShare, RootCache, RootReads, RootTime, SampleKeys, Schedule,
        StopRule, StoreKind, TrieForm, WarmCache,
    };

    fn names_lead_back<T: Named + Ord>() {
        let names: BTreeSet<_> = T::names().into_iter().collect();
        assert_eq!(names.len(), T::ALL.len(), "two values of {} share a name", T::NOUN);
        for value in T::ALL {
            assert_eq!(T::from_name(value.name()), Some(*value));
        }
        assert_eq!(T::from_name("no such name"), None);
    }

    #[test]
    fn every_name_leads_back_to_its_one_value() {
        names_lead_back::<AccountReads>();
        names_lead_back::<CacheFill>();
        names_lead_back::<CacheMode>();
        names_lead_back::<Checksums>();
        names_lead_back::<CodeReads>();
        names_lead_back::<Compaction>();
        names_lead_back::<Design>();
        names_lead_back::<Durability>();
        names_lead_back::<FileAccess>();
        names_lead_back::<FilterKind>();
        names_lead_back::<IndexShape>();
        names_lead_back::<ListDuty>();
        names_lead_back::<ListForm>();
        names_lead_back::<Partitioner>();
        names_lead_back::<Phase>();
        names_lead_back::<ReadMethod>();
        names_lead_back::<ReadOrder>();
        names_lead_back::<ReadTime>();
        names_lead_back::<RootCache>();
        names_lead_back::<RootReads>();
        names_lead_back::<RootTime>();
        names_lead_back::<SampleKeys>();
        names_lead_back::<Schedule>();
        names_lead_back::<ReaderShare>();
        names_lead_back::<StopRule>();
        names_lead_back::<StoreKind>();
        names_lead_back::<TrieForm>();
        names_lead_back::<WarmCache>();
    }
}
