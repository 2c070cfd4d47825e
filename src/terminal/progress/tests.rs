//! Laws of progress, on paper instead of a terminal.

use std::sync::Arc;

use executor::state::{BuildPhase, BuildProgress};
use indicatif::TermLike;

use super::*;

/// A terminal that keeps its text.
#[derive(Clone, Debug, Default)]
struct Paper(Arc<Mutex<String>>);

impl Paper {
    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TermLike for Paper {
    fn width(&self) -> u16 {
        80
    }
    fn move_cursor_up(&self, _n: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_down(&self, _n: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_right(&self, _n: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_left(&self, _n: usize) -> io::Result<()> {
        Ok(())
    }
    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(&format!("{text}\n"))
    }
    fn write_str(&self, text: &str) -> io::Result<()> {
        self.clone().write_all(text.as_bytes())
    }
    fn clear_line(&self) -> io::Result<()> {
        self.write_str("<clear>")
    }
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

fn progress(form: ProgressForm, interval: Duration) -> (Progress, Paper) {
    let paper = Paper::default();
    let screen = paper.clone();
    let terminal = move || ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 255);
    (Progress::on(form, interval, Box::new(paper.clone()), Box::new(terminal)), paper)
}

#[test]
fn nothing_is_drawn_while_a_samples_clock_runs() {
    for form in [ProgressForm::Figures, ProgressForm::Bars, ProgressForm::Lines] {
        let (progress, paper) = progress(form, Duration::ZERO);
        progress.stage("samples", Total::Count(4));
        let outer = progress.pause();
        let before = paper.text();
        assert!(before.contains("samples"), "{form:?}: {before}");
        let inner = progress.pause();
        std::thread::sleep(2 * BAR_INTERVAL);
        progress.advance(1);
        drop(inner);
        progress.advance(1);
        progress.note("held back");
        assert_eq!(paper.text(), before, "{form:?}");
        drop(outer);
        assert!(paper.text().contains("held back"), "{form:?}: {}", paper.text());
        std::thread::sleep(2 * BAR_INTERVAL);
        progress.advance(1);
        assert!(paper.text().contains("3 of 4"), "{form:?}: {}", paper.text());
    }
}

fn live(head: &str, below: &str) -> Live {
    Live { head: head.to_owned(), below: below.to_owned(), position: 1, length: 4 }
}

#[test]
fn figures_are_drawn_between_samples_on_a_terminal_alone() {
    for form in
        [ProgressForm::Figures, ProgressForm::Bars, ProgressForm::Lines, ProgressForm::Nothing]
    {
        let (progress, paper) = progress(form, Duration::ZERO);
        progress.sample("the first", Some(live("round 1", "now: the first")));
        let paused = progress.pause();
        let before = paper.text();
        std::thread::sleep(2 * BAR_INTERVAL);
        progress.advance(1);
        assert_eq!(paper.text(), before, "{form:?}: a sample is being taken");
        drop(paused);
        progress.sample("the second", Some(live("round 2", "highest median so far: 7 MGas/s")));
        drop(progress.pause());
        // Lines that were made just now stay.
        progress.sample("the third", None);
        drop(progress.pause());
        progress.clear();
        let text = paper.text();
        let has = |words: &[&str]| words.iter().map(|word| text.contains(word)).collect::<Vec<_>>();
        let words = ["round 2 [", "highest median so far: 7 MGas/s", "the third"];
        let expected = match form {
            ProgressForm::Figures => [true, true, false],
            ProgressForm::Bars => [true, false, false],
            ProgressForm::Lines => [false, false, true],
            ProgressForm::Nothing => [false; 3],
        };
        assert_eq!(has(&words), expected, "{form:?}: {text}");
        progress.stage("generating the block", 0);
        assert_eq!(paper.text().contains("generating"), form != ProgressForm::Nothing, "{form:?}");
    }
}

#[test]
fn only_a_terminal_asks_for_lines_of_a_run() {
    for (form, is_wanted) in [
        (ProgressForm::Figures, true),
        (ProgressForm::Bars, true),
        (ProgressForm::Lines, false),
        (ProgressForm::Nothing, false),
    ] {
        let (progress, _paper) = progress(form, Duration::ZERO);
        for time in [Duration::ZERO, Duration::from_micros(1), Duration::from_secs(9)] {
            assert_eq!(progress.wants_live(time), is_wanted, "{form:?}");
        }
    }
    assert_eq!(ProgressForm::Figures.without_figures(), ProgressForm::Bars);
    assert_eq!(ProgressForm::Lines.without_figures(), ProgressForm::Lines);
}

#[test]
fn plain_lines_are_few_and_a_stage_says_how_long_it_took() {
    let (progress, paper) = progress(ProgressForm::Lines, Duration::from_secs(3600));
    progress.stage("writing rows", Total::Rows(128_000_000));
    (0..1000).for_each(|_| progress.advance(1000));
    progress.clear();
    progress.clear();
    let text = paper.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0], "writing rows");
    assert!(lines[1].starts_with("writing rows: done in "), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_log_has_the_name_of_a_stage_once_and_minutes_where_much_is_left() {
    let (progress, paper) = progress(ProgressForm::Lines, Duration::ZERO);
    let stage = progress.stage("comparing", Total::Unknown);
    (0..3).for_each(|_| stage.set(0, 12));
    assert_eq!(paper.text(), "comparing\n");
    let began = Instant::now() - Duration::from_secs(100);
    let total = Total::Count(12);
    let under_way = UnderWay { began, ..UnderWay::new("comparing", total) };
    let line = under_way.line(1);
    assert!(line.ends_with("about 18 min left"), "{line}");
}

#[test]
fn time_left_follows_from_the_share_that_is_done_and_is_absent_before_any() {
    let since = |seconds, total| {
        let began = Instant::now() - Duration::from_secs(seconds);
        UnderWay { began, ..UnderWay::new("comparing", total) }
    };
    for seconds in [0, 15, 3_600] {
        for total in [Total::Count(12), Total::Rows(128_000_000), Total::Unknown] {
            let words = since(seconds, total).words(0);
            assert!(!words.contains("left"), "{words}");
        }
    }
    // A stage that took minutes is as long ago: a rate that forgets it would say years.
    let words = since(600, Total::Count(12)).words(1);
    assert!(words.starts_with("1 of 12, ") && words.ends_with(", about 110 min left"), "{words}");
    let words = since(600, Total::Count(12)).words(11);
    assert!(words.ends_with(", about 55 s left"), "{words}");
    let rows = since(10, Total::Rows(128_000_000));
    let [early, later] = [rows.words(1), rows.words(32_000_000)];
    assert!(!early.contains("left") && later.ends_with(", about 30 s left"), "{early} {later}");
}

#[test]
fn lines_of_its_own_stand_in_the_place_of_a_count_and_a_log_has_each_first_one_once() {
    for form in
        [ProgressForm::Figures, ProgressForm::Bars, ProgressForm::Lines, ProgressForm::Nothing]
    {
        let (progress, paper) = progress(form, Duration::ZERO);
        let stage = progress.stage("comparing", Total::Unknown);
        for position in 1..4 {
            std::thread::sleep(2 * BAR_INTERVAL);
            stage.show(Live { position, ..live("octet 1 of at most 12", "warming up") });
        }
        std::thread::sleep(2 * BAR_INTERVAL);
        stage.show(live("octet 2 of at most 12", "sampling"));
        stage.finish();
        let text = paper.text();
        let terminal =
            ["octet 1 of at most 12 [", "warming up", "octet 2 of at most 12 [", "sampling"];
        let is_on_terminal = terminal.map(|words| text.contains(words));
        match form {
            ProgressForm::Figures | ProgressForm::Bars => {
                assert_eq!(is_on_terminal, [true; 4], "{form:?}: {text}")
            }
            ProgressForm::Nothing => assert_eq!(text, ""),
            ProgressForm::Lines => {
                let lines: Vec<&str> = text.lines().collect();
                let first = "comparing: octet 1 of at most 12";
                assert_eq!(lines[..3], ["comparing", first, "comparing: octet 2 of at most 12"]);
                assert!(lines.len() == 4 && lines[3].starts_with("comparing: done in "), "{text}");
            }
        }
    }
}

#[test]
fn a_log_has_a_line_of_the_first_and_the_last_of_many_short_samples() {
    let (progress, paper) = progress(ProgressForm::Lines, Duration::from_secs(3600));
    progress.stage("preparing", 0);
    for at in 0..1000 {
        let sample = progress.sample(&format!("sample {at}"), None);
        sample.set(at, 1000);
        drop(progress.pause());
        // Clients end each of theirs by themselves.
        if at % 2 == 0 {
            sample.finish();
        }
    }
    progress.note("warning: a slow disk");
    progress.stage("finishing", 0);
    let text = paper.text();
    let lines: Vec<&str> = text.lines().collect();
    let starts = [
        "preparing",
        "preparing: done in ",
        "sample 0: done in ",
        "warning: a slow disk",
        "sample 999: done in ",
        "finishing",
    ];
    assert_eq!(lines.len(), starts.len(), "{text}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{start}: {text}");
    }
    assert!(lines[4].ends_with("; 998 samples before it without a line"), "{text}");
}

#[test]
fn a_log_has_each_sample_that_takes_as_long_as_a_line_lasts() {
    let (progress, paper) = progress(ProgressForm::Lines, Duration::ZERO);
    for name in ["first", "second", "third"] {
        progress.sample(name, None).set(0, 3);
        drop(progress.pause());
    }
    progress.clear();
    let text = paper.text();
    let ends: Vec<&str> = text.lines().filter_map(|line| line.split(": done in ").next()).collect();
    assert_eq!(ends, ["first", "second", "third"], "{text}");
    assert!(!text.contains("without a line"), "{text}");
}

#[test]
fn a_line_says_how_much_of_what_is_done() {
    let stage = |total| UnderWay::new("s", total);
    let line = stage(Total::Rows(128_000_000)).line(4_100_000);
    assert!(line.starts_with("s: 3 % (4.1M of 128M rows), "), "{line}");
    let line = stage(Total::Unknown).line(7);
    assert!(line.starts_with("s: 7, "), "{line}");
    assert!(stage(Total::Count(0)).line(7).starts_with("s: 7 of 0, "));
}

#[test]
fn a_stage_without_a_count_is_its_name_and_no_number_that_stands_still() {
    let (progress, paper) = progress(ProgressForm::Bars, Duration::ZERO);
    let stage = progress.stage("generating the block", 0);
    std::thread::sleep(2 * BAR_INTERVAL);
    stage.set(0, 0);
    let text = paper.text();
    assert!(text.contains("generating the block …"), "{text}");
    assert!(!text.contains(|c: char| c.is_ascii_digit()), "{text}");
    std::thread::sleep(2 * BAR_INTERVAL);
    stage.set(7, 0);
    assert!(paper.text().contains("generating the block 7, "), "{}", paper.text());
    std::thread::sleep(2 * BAR_INTERVAL);
    stage.set(13, 39);
    assert!(paper.text().contains("13 of 39"), "{}", paper.text());
}

#[test]
fn a_build_is_shown_phase_by_phase() {
    for form in [ProgressForm::Figures, ProgressForm::Bars, ProgressForm::Lines] {
        let (progress, paper) = progress(form, Duration::ZERO);
        let build: &dyn BuildProgress = &progress;
        build.begin(BuildPhase::Writing, 128_000_000);
        std::thread::sleep(2 * BAR_INTERVAL);
        build.advance(64_000_000);
        build.note("the disk is slow");
        build.begin(BuildPhase::WritingAndHashing, 128_000_000);
        build.begin(BuildPhase::Finishing, 0);
        progress.clear();
        let text = paper.text();
        let needed = [
            "state: writing rows",
            "64M of 128M rows",
            "the disk is slow\n",
            "state: writing rows and hashing tries",
            "finishing files",
        ];
        for words in needed {
            assert!(text.contains(words), "{form:?}: {words} is missing: {text}");
        }
    }
}

#[test]
fn what_a_stage_has_to_do_may_be_known_later() {
    let (progress, paper) = progress(ProgressForm::Lines, Duration::ZERO);
    let stage = progress.stage("generating the block", 0);
    stage.set(13, 39);
    stage.finish();
    let text = paper.text();
    assert!(text.contains("generating the block: 33 % (13 of 39), "), "{text}");
    assert!(text.contains("generating the block: done in "), "{text}");
}

#[test]
fn threads_that_advance_together_lose_nothing() {
    let (progress, _) = progress(ProgressForm::Lines, Duration::from_secs(3600));
    progress.stage("rows", Total::Rows(4000));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| progress.advance(1)));
        }
    });
    assert_eq!(progress.done.load(Ordering::Relaxed), 4000);
}
