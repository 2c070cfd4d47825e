//! The stage under way: its total, and its words on a terminal and in a log. The time left follows
//! from the finished share. If that share is too small, no time left is shown.

use std::time::{Duration, Instant};

use report::units;

/// Minimal finished share of a stage for which the time left is shown.
const TIME_LEFT_SHARE_MIN: f64 = 0.01;
/// Minimal time of a stage without a count for which the time is shown. A shorter time would be
/// shown as 0, and could stay on the screen for long, like a fault.
const SHOWN_TIME_MIN: Duration = Duration::from_secs(1);

/// Lines that a stage shows in place of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// The line before the bar, such as samples and time left. A log has only this line.
    pub head: String,
    /// The line below the bar: figures.
    pub below: String,
    /// Length of the finished part of the bar.
    pub position: u64,
    /// Length of the bar, above 0.
    pub length: u64,
}

/// The total of a stage. A plain number is a count, and 0 means unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// A number of things, such as transactions or samples.
    Count(u64),
    Rows(u64),
    Unknown,
}

impl From<u64> for Total {
    fn from(count: u64) -> Self {
        if count == 0 { Self::Unknown } else { Self::Count(count) }
    }
}

impl Total {
    pub(super) const fn amount(self) -> Option<u64> {
        match self {
            Self::Count(amount) | Self::Rows(amount) => Some(amount),
            Self::Unknown => None,
        }
    }

    /// Formats the finished part and the total: `1.2M of 128M rows`.
    fn words(self, done: u64) -> String {
        match self {
            Self::Count(total) => format!("{} of {}", units::count(done), units::count(total)),
            Self::Rows(total) => {
                format!("{} of {}", units::count(done), units::things(total, "row"))
            }
            Self::Unknown => units::count(done),
        }
    }
}

/// The stage under way.
pub(super) struct UnderWay {
    pub(super) name: String,
    pub(super) total: Total,
    pub(super) began: Instant,
    /// Whether the bar shows this stage already. In a log: whether its first line is written.
    pub(super) is_shown: bool,
    /// Whether the stage is a sample. A log has lines of some samples only.
    pub(super) is_sample: bool,
    /// The live lines of the stage; `None` for a stage with a count.
    pub(super) live: Option<Shown>,
}

/// Lines of a stage, and whether they are on the screen.
pub(super) struct Shown {
    pub(super) live: Live,
    pub(super) is_drawn: bool,
}

impl UnderWay {
    pub(super) fn new(name: &str, total: Total) -> Self {
        let (name, began) = (name.to_owned(), Instant::now());
        Self { name, total, began, is_shown: false, is_sample: false, live: None }
    }

    /// Shows `live` from now on. If the first line was drawn and is unchanged, the new lines count
    /// as drawn, so that a log does not repeat it.
    pub(super) fn show(&mut self, live: Live) {
        let before = self.live.take();
        // The bar of a stage with a count has another form, so the bar is drawn anew.
        self.is_shown &= before.is_some();
        let is_drawn = before.is_some_and(|shown| shown.is_drawn && shown.live.head == live.head);
        self.live = Some(Shown { live, is_drawn });
    }

    /// Formats the words beside a bar: `1.2M of 128M rows, 20 s, about 10 min left`.
    pub(super) fn words(&self, done: u64) -> String {
        let elapsed = self.began.elapsed();
        let took = units::rough_time(elapsed);
        match (self.total, done) {
            // A 0 that does not change would look like a fault.
            (Total::Unknown, 0) if elapsed < SHOWN_TIME_MIN => "…".to_owned(),
            (Total::Unknown, 0) => took,
            _ => format!("{}, {took}{}", self.total.words(done), self.time_left_words(done)),
        }
    }

    /// Formats the line in a log: `writing rows: 3 % (4.10M of 128M rows), 20.1 s, about 10 min
    /// left`.
    pub(super) fn line(&self, done: u64) -> String {
        if let Some(Shown { live, .. }) = &self.live {
            return format!("{}: {}", self.name, live.head);
        }
        if done == 0 {
            return self.name.clone();
        }
        let words = self.total.words(done);
        let took = units::time(self.began.elapsed());
        match self.share(done) {
            Some(share) => {
                let left = self.time_left_words(done);
                format!("{}: {:.0} % ({words}), {took}{left}", self.name, share * 100.0)
            }
            None => format!("{}: {words}, {took}", self.name),
        }
    }

    /// Returns the finished share; `None` if the total is unknown.
    fn share(&self, done: u64) -> Option<f64> {
        let total = self.total.amount().filter(|total| *total > 0)?;
        Some(done.min(total) as f64 / total as f64)
    }

    /// Formats the time left as `, about 10 min left`; empty if the finished share is too small.
    fn time_left_words(&self, done: u64) -> String {
        let share = self.share(done).filter(|share| *share >= TIME_LEFT_SHARE_MIN);
        let left = share.map(|share| self.began.elapsed().as_secs_f64() * (1.0 / share - 1.0));
        let left = left.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        left.map_or_else(String::new, |left| format!(", about {} left", units::rough_time(left)))
    }
}
