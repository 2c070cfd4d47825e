//! Prefetch policy of batched I/O: which keys its readers read ahead, when, and in which order.
//! There is one small type for each question that clients answer differently. Each type has a
//! default, and the words for a variant's name.

use std::{fmt, num::NonZeroU32};

/// A policy of reading declared keys ahead. Readers are the threads that read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Prefetch {
    /// When readers read.
    pub time: ReadTime,
    /// Order of reading slots and accounts.
    pub order: ReadOrder,
    /// When accounts are read.
    pub accounts: AccountReads,
    /// When codes are read.
    pub codes: CodeReads,
    /// Event that ends the readers' work.
    pub stop: StopRule,
    /// Part of the keys that each reader reads.
    pub share: ReaderShare,
    /// Number of keys that a reader takes at a time; `None`: the number that suits the store best.
    pub chunk: Option<NonZeroU32>,
}

/// Declares an axis of a policy: an enum with a name for each value, and a word for the variant's
/// name.
macro_rules! axis {
    (
        $(#[$doc:meta])* $kind:ident: $noun:literal
        { $($(#[$value_doc:meta])* $value:ident = $name:literal $word:literal),+ $(,)? }
    ) => {
        crate::named! {
            $(#[$doc])*
            #[derive(Default)]
            pub enum $kind: $noun { $($(#[$value_doc])* $value = $name),+ }
        }

        impl $kind {
            /// Word for the value in a variant's name; empty for the default.
            const fn word(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }
        }
    };
}

axis! {
    /// When the readers of batched I/O read.
    ReadTime: "time to prefetch"
    {
        /// Before any transaction begins.
        #[default]
        Before = "before" "",
        /// While transactions run. A transaction that needs an unread key waits for the key, or
        /// reads it itself.
        While = "while" "-while",
    }
}

axis! {
    /// Order of reading the keys of a list.
    ReadOrder: "order to prefetch in"
    {
        /// The order of the store's rows: in the hashed layout, by hashed address and then hashed
        /// slot. Hashing and sorting are inside the clock.
        #[default]
        OnDisk = "on-disk" "",
        /// The ascending order of the list. The store sorts the keys that a reader takes at a time.
        Listed = "listed" ".listed",
        /// Ascending order of the first block access index at which the list has a write of the
        /// key. Execution needs the key at that index or before. Keys that are only read come last,
        /// in the order of the list.
        FirstWrite = "first-write" ".first-write",
    }
}

axis! {
    /// When accounts are read.
    AccountReads: "time to read accounts"
    {
        /// Before slots.
        #[default]
        First = "first" "",
        /// Evenly distributed between slots.
        Mixed = "mixed" ".accounts-mixed",
        /// On demand of the executing threads.
        OnDemand = "on-demand" ".accounts-on-demand",
    }
}

axis! {
    /// When codes are read. A list does not name the codes that run. So readers of codes read the
    /// codes of all accounts that they have read.
    CodeReads: "time to read codes"
    {
        /// On demand of the executing threads.
        #[default]
        OnDemand = "on-demand" "",
        /// Right after the account that has the code.
        WithState = "with-state" ".codes-with-state",
        /// After all accounts and slots.
        AfterState = "after-state" ".codes-after-state",
    }
}

axis! {
    /// Event that ends the readers' work, where they read while transactions run.
    StopRule: "end of prefetching"
    {
        /// The last transaction is executed, or all keys are read, whichever comes first.
        #[default]
        Executed = "executed" "",
        /// All keys are read.
        AllRead = "all-read" ".all-read",
    }
}

axis! {
    /// Which keys a reader takes.
    ReaderShare: "share of a reader"
    {
        /// The next keys that no reader has taken.
        #[default]
        Next = "next" "",
        /// Keys of a contiguous range that is its own.
        Ranges = "ranges" ".ranges",
    }
}

impl fmt::Display for Prefetch {
    /// Writes the words of all values that are not the default, such as `-while.listed.chunk-256`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            self.time.word(),
            self.order.word(),
            self.accounts.word(),
            self.codes.word(),
            self.stop.word(),
            self.share.word(),
        ];
        words.iter().try_for_each(|word| f.write_str(word))?;
        self.chunk.map_or(Ok(()), |chunk| write!(f, ".chunk-{chunk}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_shows_what_is_not_the_default_and_nothing_else() {
        assert_eq!(Prefetch::default().to_string(), "");
        let odd = Prefetch {
            time: ReadTime::While,
            order: ReadOrder::Listed,
            accounts: AccountReads::Mixed,
            codes: CodeReads::AfterState,
            stop: StopRule::AllRead,
            share: ReaderShare::Ranges,
            chunk: NonZeroU32::new(7),
        };
        let expected = "-while.listed.accounts-mixed.codes-after-state.all-read.ranges.chunk-7";
        assert_eq!(odd.to_string(), expected);
    }

    #[test]
    fn each_axis_begins_with_its_default_which_has_no_word() {
        assert_eq!(ReadTime::ALL[0], ReadTime::default());
        assert_eq!(ReadOrder::ALL[0], ReadOrder::default());
        assert_eq!(AccountReads::ALL[0], AccountReads::default());
        assert_eq!(CodeReads::ALL[0], CodeReads::default());
        assert_eq!(StopRule::ALL[0], StopRule::default());
        assert_eq!(ReaderShare::ALL[0], ReaderShare::default());
    }
}
