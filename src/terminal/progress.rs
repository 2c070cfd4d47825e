//! Shows the progress of long stages on standard error. A terminal has a bar, with the figures of a
//! run so far. Elsewhere there are plain lines, at most one every few seconds. No thread runs for
//! progress: each line is drawn within a call. No line is drawn while a sample's clock runs
//! ([`Progress::pause`]). `stage` has the words of the stage under way, `samples` the lines of a
//! log about samples, `style` the look of a bar.

use std::{
    fmt,
    io::{self, Write},
    mem,
    ops::ControlFlow,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use executor::state::{BuildPhase, BuildProgress};
use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::terminal::interrupt;
use report::units;
pub use report::units::{bytes, count};
use samples::SampleLog;
pub use stage::{Live, Total};
use stage::{Shown, UnderWay};
pub use style::visible;
use style::{live_style, style};

mod samples;
mod stage;
mod style;
#[cfg(test)]
mod tests;

/// Minimal time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Minimal time between two lines of samples, as a multiple of the interval of plain lines.
const SAMPLE_LINE_INTERVALS: u32 = 3;
/// Minimal time between two drawings of a bar, as the lock and the clock are too slow for each row.
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// Number of rows of a state with tries that two cores build in a second.
const BUILT_ROWS_PER_S: f64 = 400_000.0;

/// The form in which progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressForm {
    /// Bars, and the figures of samples so far, on a terminal.
    Figures,
    /// Bars alone, on a terminal.
    Bars,
    /// Plain lines, as in a log.
    Lines,
    Nothing,
}

impl ProgressForm {
    /// Returns this form without figures of samples.
    #[must_use]
    pub const fn without_figures(self) -> Self {
        match self {
            Self::Figures => Self::Bars,
            other => other,
        }
    }

    const fn has_bars(self) -> bool {
        matches!(self, Self::Figures | Self::Bars)
    }
}

/// The progress of a run, one stage after the other. The threads that do the work share it.
pub struct Progress {
    form: ProgressForm,
    /// Number of living [`PauseGuard`]s.
    pause_count: AtomicUsize,
    /// Finished amount of the stage under way.
    done: AtomicU64,
    /// Time of the next drawing, in nanoseconds after `began`.
    due_ns: AtomicU64,
    began: Instant,
    line_interval: Duration,
    screen: Mutex<Screen>,
}

/// A function that makes the draw target of a bar. Each bar needs its own.
type MakeTarget = Box<dyn Fn() -> ProgressDrawTarget + Send>;

/// State of the output: the bar, the stage, and held lines.
struct Screen {
    lines: Box<dyn Write + Send>,
    make_target: MakeTarget,
    bar: ProgressBar,
    stage: Option<UnderWay>,
    /// Lines that could not be drawn yet.
    held: Vec<String>,
    /// The samples for which a log still needs lines.
    samples: SampleLog,
}

/// A stage that has begun. A drop does not end it, but the next stage does.
#[derive(Debug)]
pub struct Stage<'a> {
    progress: &'a Progress,
}

impl Stage<'_> {
    /// Sets the finished amount and the total of the stage. A total of 0 means that it is unknown.
    pub fn set(&self, done: u64, total: u64) {
        if let Some(stage) = &mut self.progress.screen().stage {
            stage.total = total.into();
        }
        self.progress.done.store(done, Ordering::Relaxed);
        self.progress.draw_if_due();
    }

    /// Returns a function that counts its calls, of `total`, and stops after an interrupt.
    pub fn counting(&self, total: u64) -> impl FnMut() -> ControlFlow<()> {
        let mut done = 0;
        move || {
            done += 1;
            self.set(done, total);
            interrupt::control_flow()
        }
    }

    /// Shows lines in place of a count. A terminal shows them at once. A log gets the first line if
    /// it is new.
    pub fn show(&self, live: Live) {
        let is_log = self.progress.form == ProgressForm::Lines;
        if let Some(stage) = &mut self.progress.screen().stage {
            stage.show(live);
            if let Some(shown) = &mut stage.live {
                // On a terminal the lines below the first may be new.
                shown.is_drawn &= is_log;
            }
        }
        self.progress.draw();
    }

    pub fn finish(self) {
        self.progress.end_stage();
    }
}

/// Stops drawing while it lives. The screen stays as it is.
#[derive(Debug)]
#[must_use = "drawing goes on when it is dropped"]
pub struct PauseGuard<'a> {
    progress: &'a Progress,
}

impl Progress {
    /// Makes a progress that is shown on standard error.
    pub fn new(form: ProgressForm) -> Self {
        Self::on(form, LINE_INTERVAL, Box::new(io::stderr()), Box::new(ProgressDrawTarget::stderr))
    }

    fn on(
        form: ProgressForm,
        line_interval: Duration,
        lines: Box<dyn Write + Send>,
        make_target: MakeTarget,
    ) -> Self {
        let bar = ProgressBar::hidden();
        Self {
            form,
            pause_count: AtomicUsize::new(0),
            done: AtomicU64::new(0),
            due_ns: AtomicU64::new(0),
            began: Instant::now(),
            line_interval,
            screen: Mutex::new(Screen {
                lines,
                make_target,
                bar,
                stage: None,
                held: Vec::new(),
                samples: SampleLog::new(line_interval * SAMPLE_LINE_INTERVALS),
            }),
        }
    }

    /// Returns a silent progress for work between samples, if this progress is a log. `None` if
    /// that work may use this progress.
    pub fn silent_between_samples(&self) -> Option<Self> {
        (self.form == ProgressForm::Lines).then(|| Self::new(ProgressForm::Nothing))
    }

    /// Begins a stage. A stage under way is finished first.
    pub fn stage(&self, name: &str, total: impl Into<Total>) -> Stage<'_> {
        self.clear();
        self.due_ns.store(0, Ordering::Relaxed);
        self.start(UnderWay::new(name, total.into()))
    }

    /// Begins a stage. No other stage may be under way.
    fn start(&self, stage: UnderWay) -> Stage<'_> {
        self.done.store(0, Ordering::Relaxed);
        self.screen().stage = Some(stage);
        self.draw();
        Stage { progress: self }
    }

    /// Begins a sample. A terminal shows `live` at the next drawing, or keeps its lines if `live`
    /// is `None`. A log gets a line at the end of some samples: name and time.
    pub fn sample(&self, name: &str, live: Option<Live>) -> Stage<'_> {
        // On a terminal, samples in a row share one bar, with the lines of the last one that had
        // some.
        let mut screen = self.screen();
        let before = screen.stage.take_if(|stage| stage.live.is_some());
        let is_shown = before.as_ref().is_some_and(|stage| stage.is_shown);
        let live = live.map(|live| self.to_be_shown(live)).or_else(|| before?.live);
        let Some(live) = live.filter(|_| self.form.has_bars()) else {
            // In a log each sample is a stage of its own, and is not drawn before it ends.
            drop(screen);
            self.end_stage();
            self.due_ns.store(self.due_after(self.line_interval), Ordering::Relaxed);
            return self.start(UnderWay { is_sample: true, ..UnderWay::new(name, Total::Unknown) });
        };
        let stage = UnderWay::new(name, Total::Unknown);
        screen.stage = Some(UnderWay { is_shown, is_sample: true, live: Some(live), ..stage });
        Stage { progress: self }
    }

    fn to_be_shown(&self, mut live: Live) -> Shown {
        if self.form != ProgressForm::Figures {
            live.below.clear();
        }
        Shown { live, is_drawn: false }
    }

    /// Returns whether new live lines are wanted for a sample of about this time (0: unknown time).
    /// Without a terminal they never are. A short sample keeps lines that were drawn just now.
    pub fn wants_live(&self, time: Duration) -> bool {
        let is_long = time.is_zero() || time > BAR_INTERVAL;
        self.form.has_bars() && (is_long || self.is_due() || !self.screen().has_lines())
    }

    /// Adds `amount` to the finished part of the stage. It is cheap, as most calls only count.
    pub fn advance(&self, amount: u64) {
        self.done.fetch_add(amount, Ordering::Relaxed);
        self.draw_if_due();
    }

    /// Finishes the stage under way and the samples of a run. A terminal removes the bar. A log
    /// gets a line with the time of the stage.
    pub fn clear(&self) {
        self.end_stage();
        let mut screen = self.screen();
        let line = screen.samples.last_line();
        screen.held.extend(line);
        drop(screen);
        self.draw();
    }

    /// Finishes the stage under way. Further samples may follow.
    fn end_stage(&self) {
        let mut screen = self.screen();
        let Some(stage) = screen.stage.take() else { return };
        if self.form == ProgressForm::Lines {
            let took = units::time(stage.began.elapsed());
            let ended = if interrupt::happened() { "interrupted after" } else { "done in" };
            let line = format!("{}: {ended} {took}", stage.name);
            let line = if stage.is_sample { screen.samples.ended(line) } else { Some(line) };
            screen.held.extend(line);
        }
        drop(screen);
        self.draw();
    }

    /// Prints a line that stays, above the bar. During a pause the line is held until the pause
    /// ends.
    pub fn note(&self, text: &str) {
        self.screen().held.push(visible(text));
        self.draw();
    }

    /// Prints a line in a log. A terminal has the same facts below its bar.
    pub fn log(&self, text: &str) {
        if self.form == ProgressForm::Lines {
            self.note(text);
        }
    }

    /// Stops drawing until the guard is dropped, while a sample's clock runs. Finished amounts are
    /// still counted.
    pub fn pause(&self) -> PauseGuard<'_> {
        if self.form.has_bars() {
            // The last drawing before the pause makes the screen current.
            self.draw();
        }
        self.pause_count.fetch_add(1, Ordering::SeqCst);
        // A thread that draws has finished once this thread has the lock.
        drop(self.screen());
        PauseGuard { progress: self }
    }

    fn is_paused(&self) -> bool {
        self.pause_count.load(Ordering::SeqCst) > 0
    }

    fn is_due(&self) -> bool {
        self.now_ns() >= self.due_ns.load(Ordering::Relaxed)
    }

    fn draw_if_due(&self) {
        if !self.is_paused() && self.is_due() {
            self.draw();
        }
    }

    /// Draws the lines and the bar. No other function writes.
    fn draw(&self) {
        let mut screen = self.screen();
        if self.form == ProgressForm::Nothing || self.is_paused() {
            return;
        }
        screen.write_held();
        let done = self.done.load(Ordering::Relaxed);
        let interval = match self.form {
            ProgressForm::Figures | ProgressForm::Bars => {
                if !screen.draw_bar(done) {
                    return;
                }
                BAR_INTERVAL
            }
            ProgressForm::Lines if self.is_due() => {
                screen.draw_line(done);
                self.line_interval
            }
            ProgressForm::Lines | ProgressForm::Nothing => return,
        };
        self.due_ns.store(self.due_after(interval), Ordering::Relaxed);
    }

    fn due_after(&self, interval: Duration) -> u64 {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        self.now_ns().saturating_add(interval_ns)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each phase of a state's build is a stage.
impl BuildProgress for Progress {
    fn begin(&self, phase: BuildPhase, row_count: u64) {
        if phase == BuildPhase::Sorting {
            let time = Duration::from_secs_f64(row_count as f64 / BUILT_ROWS_PER_S);
            self.note(&format!(
                "the state is built first, once: {} rows, about {}",
                count(row_count),
                units::rough_time(time)
            ));
        }
        let name = match phase {
            BuildPhase::Sorting => "state: sorting rows",
            BuildPhase::Writing => "state: writing rows",
            BuildPhase::WritingAndHashing => "state: writing rows and hashing tries",
            BuildPhase::Ageing => "state: ageing rows",
            BuildPhase::Tries => "state: hashing tries",
            BuildPhase::Finishing => "state: finishing files",
            BuildPhase::Verifying => "state: verifying rows",
        };
        self.stage(name, if row_count == 0 { Total::Unknown } else { Total::Rows(row_count) });
    }

    fn advance(&self, rows: u64) {
        self.advance(rows);
    }

    fn note(&self, text: &str) {
        self.note(text);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.screen().bar.finish_and_clear();
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("form", &self.form).finish_non_exhaustive()
    }
}

impl Drop for PauseGuard<'_> {
    fn drop(&mut self) {
        self.progress.pause_count.fetch_sub(1, Ordering::SeqCst);
        self.progress.draw();
    }
}

impl Screen {
    /// Whether live lines of samples are drawn.
    fn has_lines(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.live.is_some())
    }

    fn write_held(&mut self) {
        let held = mem::take(&mut self.held);
        if !held.is_empty() {
            let bar = self.bar.clone();
            bar.suspend(|| held.iter().for_each(|text| self.write(text)));
        }
    }

    fn draw_line(&mut self, done: u64) {
        let Some(stage) = self.stage.as_mut().filter(|stage| !stage.is_sample) else { return };
        let is_first = !mem::replace(&mut stage.is_shown, true);
        // A stage's name alone is printed once. Each of its live lines is also printed once.
        let is_new = match &mut stage.live {
            Some(shown) => !mem::replace(&mut shown.is_drawn, true),
            None => is_first || done > 0,
        };
        if is_new {
            let text = stage.line(done);
            self.write(&text);
        }
    }

    /// Draws the bar. Returns whether there was something new to draw.
    fn draw_bar(&mut self, done: u64) -> bool {
        let Some(stage) = &mut self.stage else {
            self.bar.finish_and_clear();
            return true;
        };
        if let Some(Shown { live, is_drawn }) = &mut stage.live {
            if mem::replace(is_drawn, true) {
                return false;
            }
            if !mem::replace(&mut stage.is_shown, true) {
                self.bar.finish_and_clear();
                self.bar = ProgressBar::with_draw_target(Some(live.length), (self.make_target)())
                    .with_style(live_style(&live.below));
            }
            // This is a handle of the same bar. Nothing is drawn before all parts are new.
            let bar = self.bar.clone().with_position(live.position);
            let bar = bar.with_prefix(live.head.clone()).with_message(live.below.clone());
            bar.set_length(live.length);
            // A long sample may follow, and these lines stay on the screen during the sample.
            bar.force_draw();
            return true;
        }
        let (total, words) = (stage.total, stage.words(done));
        if !mem::replace(&mut stage.is_shown, true) || self.bar.length() != total.amount() {
            self.bar.finish_and_clear();
            self.bar = ProgressBar::with_draw_target(total.amount(), (self.make_target)())
                .with_style(style(total.amount()))
                .with_prefix(stage.name.clone());
        }
        self.bar.set_message(words);
        self.bar.set_position(done);
        self.bar.tick();
        true
    }

    /// Writes a line. A closed standard error is no reason to stop.
    fn write(&mut self, text: &str) {
        drop(writeln!(self.lines, "{text}"));
    }
}
