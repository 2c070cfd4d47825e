//! Writes a trace as JSON in Chrome's "Trace Event Format", with complete events `X` and metadata
//! `M`. Perfetto and Chrome can open the file. Events are written one by one.

use std::{
    cmp::Reverse,
    io::{self, Write},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use workload::StepKind;

use super::{Event, EventKind, KeyKind, Recorder, Trace};

/// Id of the only process of a trace.
const PROCESS: u32 = 1;

impl Trace {
    /// Writes all events, and `facts` with the counts of each track. A viewer shows `name` as the
    /// name of the process.
    ///
    /// # Errors
    /// The errors of `out`, or the engine has recorded nothing.
    pub fn write(
        self,
        out: &mut impl Write,
        name: &str,
        facts: &[(&str, String)],
    ) -> io::Result<()> {
        let state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(origin) = state.origin else {
            return Err(io::Error::other("its engine does not record what its threads do"));
        };
        let mut facts: serde_json::Map<_, _> =
            facts.iter().map(|(key, text)| ((*key).to_owned(), json!(text))).collect();
        writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        write!(out, "{}", metadata("process_name", 0, &json!({ "name": name })))?;
        let mut tracks = Vec::new();
        for (thread, (track, mut recorded)) in (0_u64..).zip(state.tracks) {
            let label = track.to_string();
            let name = metadata("thread_name", thread, &json!({ "name": label }));
            let place = metadata("thread_sort_index", thread, &json!({ "sort_index": thread }));
            write!(out, ",\n{name},\n{place}")?;
            let key = |event: &Event| (event.start, Reverse(event.end), event.kind.rank());
            recorded.events.sort_by_key(key);
            for event in &recorded.events {
                write_event(out, thread, origin, event)?;
            }
            tracks.push(summary(thread, &label, &recorded));
        }
        facts.insert("tracks".to_owned(), Value::Array(tracks));
        writeln!(out, "\n],\"otherData\":{}}}", Value::Object(facts))
    }
}

fn metadata(name: &str, thread: u64, args: &Value) -> Value {
    json!({ "ph": "M", "pid": PROCESS, "tid": thread, "name": name, "args": args })
}

/// Returns the counts of a track's events and dropped events, as JSON.
fn summary(thread: u64, label: &str, recorded: &Recorder) -> Value {
    json!({
        "tid": thread,
        "name": label,
        "event_count": recorded.events.len(),
        "dropped_count": recorded.dropped.count,
        "dropped_ns": u64::try_from(recorded.dropped.time.as_nanos()).unwrap_or(u64::MAX),
    })
}

fn write_event(
    out: &mut impl Write,
    thread: u64,
    origin: Instant,
    event: &Event,
) -> io::Result<()> {
    let start = event.start.saturating_duration_since(origin);
    let lasted = event.end.saturating_duration_since(event.start);
    write!(out, ",\n{{\"ph\":\"X\",\"pid\":{PROCESS},\"tid\":{thread},\"ts\":")?;
    micros(out, start)?;
    write!(out, ",\"dur\":")?;
    micros(out, lasted)?;
    // All names and kinds are constants of this program, without characters that need an escape.
    match event.kind {
        EventKind::Phase(phase) => {
            write!(out, ",\"cat\":\"phase\",\"name\":\"{}\"}}", phase.name())
        }
        EventKind::Threads => write!(out, ",\"cat\":\"wait\",\"name\":\"wait for all threads\"}}"),
        EventKind::Gate => write!(out, ",\"cat\":\"wait\",\"name\":\"wait for prefetch\"}}"),
        EventKind::Step { batch, index, step, gas } => {
            let ((name, kind), block) = (step_names(step.kind), step.block);
            write!(out, ",\"cat\":\"step\",\"name\":\"{name}\",\"args\":{{\"batch\":{batch},")?;
            write!(out, "\"block\":{block},\"index\":{index},\"kind\":\"{kind}\"")?;
            match gas {
                Some(gas) => write!(out, ",\"gas\":{gas}}}}}"),
                None => write!(out, "}}}}"),
            }
        }
        EventKind::Read { key, count } => {
            let name = key_name(key);
            write!(
                out,
                ",\"cat\":\"read\",\"name\":\"read {name}\",\"args\":{{\"keys\":{count}}}}}"
            )
        }
        EventKind::Wait { key } => {
            write!(out, ",\"cat\":\"wait\",\"name\":\"wait for {}\"}}", key_name(key))
        }
    }
}

/// Returns the name of a step, which a viewer shows, and the step's kind.
fn step_names(kind: StepKind) -> (String, &'static str) {
    match kind {
        StepKind::BeforeTransactions => ("system calls before".to_owned(), "before-transactions"),
        StepKind::Transaction(tx_index) => (format!("tx {tx_index}"), "transaction"),
        StepKind::AfterTransactions => ("system calls after".to_owned(), "after-transactions"),
    }
}

const fn key_name(key: KeyKind) -> &'static str {
    match key {
        KeyKind::Account => "account",
        KeyKind::Slot => "slot",
        KeyKind::Code => "code",
    }
}

/// Writes `time` in microseconds, the format's unit, with three decimals, so that no nanosecond is
/// lost.
fn micros(out: &mut impl Write, time: Duration) -> io::Result<()> {
    write!(out, "{}.{:03}", time.as_micros(), time.subsec_nanos() % 1_000)
}
