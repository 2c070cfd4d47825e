//! The stage under way: how much it has to do, and the words that a terminal and a log have of it. Time
//! left follows from the share that is done; where too little is, there is none.

use std::time::{Duration, Instant};

use report::units;

/// Least share of a stage from which its time left is told.
const TELLING_SHARE: f64 = 0.01;
/// Shortest time that is shown where nothing is counted: the first words may stand for long, and a 0 would look
/// like a fault.
const TELLING_TIME: Duration = Duration::from_secs(1);

/// Lines that a stage shows in the place of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Before the bar, as samples and time left. A log has this line alone.
    pub head: String,
    /// Below it: figures.
    pub below: String,
    /// Length of the done part of the bar.
    pub position: u64,
    /// Length of the bar, above 0.
    pub length: u64,
}

/// How much a stage has to do. A plain number is a count, 0 where it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// Things of no further name: transactions, samples.
    Count(u64),
    /// Rows of a state.
    Rows(u64),
    /// Not known.
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

    /// `1.2M of 128M rows`.
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
    /// Whether the bar is this stage's yet; in a log, whether its first line is written.
    pub(super) is_shown: bool,
    /// Whether it is a sample: a log has lines of some samples only.
    pub(super) is_sample: bool,
    /// The lines of a stage that shows its own; `None` of others.
    pub(super) live: Option<Shown>,
}

/// Lines of a stage, and whether they stand on the screen.
pub(super) struct Shown {
    pub(super) live: Live,
    pub(super) is_drawn: bool,
}

impl UnderWay {
    /// Begins now.
    pub(super) fn new(name: &str, total: Total) -> Self {
        let (name, began) = (name.to_owned(), Instant::now());
        Self { name, total, began, is_shown: false, is_sample: false, live: None }
    }

    /// Shows lines of its own from now on. Where the first line is the same and was drawn, these lines count as
    /// drawn, so that a log does not repeat it.
    pub(super) fn show(&mut self, live: Live) {
        let before = self.live.take();
        // The bar of a count has another form.
        self.is_shown &= before.is_some();
        let is_drawn = before.is_some_and(|shown| shown.is_drawn && shown.live.head == live.head);
        self.live = Some(Shown { live, is_drawn });
    }

    /// `1.2M of 128M rows, 20 s, about 10 min left`, beside a bar.
    pub(super) fn words(&self, done: u64) -> String {
        let elapsed = self.began.elapsed();
        let took = units::rough_time(elapsed);
        match (self.total, done) {
            // A 0 that stands still would look like a fault.
            (Total::Unknown, 0) if elapsed < TELLING_TIME => "…".to_owned(),
            (Total::Unknown, 0) => took,
            _ => format!("{}, {took}{}", self.total.words(done), self.left_words(done)),
        }
    }

    /// `writing rows: 3 % (4.10M of 128M rows), 20.1 s, about 10 min left`, in a log.
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
                let left = self.left_words(done);
                format!("{}: {:.0} % ({words}), {took}{left}", self.name, share * 100.0)
            }
            None => format!("{}: {words}, {took}", self.name),
        }
    }

    /// The share that is done, where the whole is known.
    fn share(&self, done: u64) -> Option<f64> {
        let total = self.total.amount().filter(|total| *total > 0)?;
        Some(done.min(total) as f64 / total as f64)
    }

    /// `, about 10 min left`; nothing where too little is done.
    fn left_words(&self, done: u64) -> String {
        let share = self.share(done).filter(|share| *share >= TELLING_SHARE);
        let left = share.map(|share| self.began.elapsed().as_secs_f64() * (1.0 / share - 1.0));
        let left = left.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        left.map_or_else(String::new, |left| format!(", about {} left", units::rough_time(left)))
    }
}
