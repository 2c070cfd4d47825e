//! Counts the instructions of this process in user mode by the hardware's counter
//! (`perf_event_open(2)`), for the counters of a sample. Virtual machines often have no counter,
//! and `/proc/sys/kernel/perf_event_paranoid` may forbid its use.

use std::{
    io,
    sync::{Mutex, OnceLock},
};

use perf_event::{
    Builder, Counter,
    events::{Event, Hardware},
};

use crate::lock::lock;

/// The counter of this process, set by the first call of [`begin`]; `None` if there is no counter.
static COUNTER: OnceLock<Option<Mutex<Counter>>> = OnceLock::new();

/// Starts counting on the calling thread and on all threads that descend from it later. A second
/// call does nothing.
pub fn begin() {
    COUNTER.get_or_init(|| count_on_all_threads(Hardware::INSTRUCTIONS).ok().map(Mutex::new));
}

/// Returns the number of instructions since [`begin`], also of ended threads. `None` if there is no
/// counter.
pub fn count() -> Option<u64> {
    let counter = COUNTER.get()?.as_ref()?;
    let mut counter = lock(counter);
    read_whole(&mut counter)
}

/// Starts a counter of an event in user mode, for this thread and all threads that it starts.
fn count_on_all_threads(event: impl Into<Event>) -> io::Result<Counter> {
    let mut all_threads = Builder::new().kind(event);
    all_threads.inherit(true);
    let mut counter = all_threads.build()?;
    counter.enable()?;
    Ok(counter)
}

/// Returns the count. `None` if the hardware counted only part of the time, because other users
/// shared its few counters. Such a count could only be extrapolated.
fn read_whole(counter: &mut Counter) -> Option<u64> {
    let read = counter.read_count_and_time().ok()?;
    (read.time_running == read.time_enabled && read.count > 0).then_some(read.count)
}

#[cfg(test)]
mod tests {
    use std::{hint, thread, time::Duration};

    use perf_event::events::Software;

    use super::*;
    use crate::process;

    /// Works for 20 ms of its CPU time.
    fn busy() {
        let begun = process::thread_cpu_time();
        while process::thread_cpu_since(begun) < Duration::from_millis(20) {
            hint::black_box(0);
        }
    }

    #[test]
    fn threads_that_begin_later_are_counted_also_when_they_have_ended() {
        // The kernel's own clock is an event as well, on every machine that allows events at all.
        let Ok(mut clock) = count_on_all_threads(Software::TASK_CLOCK) else { return };
        let before_ns = read_whole(&mut clock).unwrap_or_default();
        thread::scope(|scope| {
            scope.spawn(busy);
            scope.spawn(|| thread::scope(|inner| drop(inner.spawn(busy))));
        });
        let counted_ns = read_whole(&mut clock).expect("software counts all the time") - before_ns;
        // With one thread alone the count would be 20 ms.
        assert!(counted_ns > 30_000_000, "{counted_ns} ns");
    }

    #[test]
    fn instructions_grow_with_work_where_the_machine_counts_them() {
        begin();
        let Some(before) = count() else { return };
        busy();
        assert!(count().expect("it counted before") > before);
    }
}
