//! Passes the rows of a table in the order of their keys to stores that are built by appending
//! (`flat`, `mdbx`, `redis`). Several threads make parts of the row stream ahead; the calling
//! thread receives the parts in order.
//!
//! **Invariant**: memory holds at most two parts for each making thread, and the received part.

use std::{
    sync::{
        Mutex,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use workload::{ContentDigest, PartBuffers, RowSettings, RowStream, Table, rows::RowProgress};

use crate::{
    lock::lock,
    state::{BuildInput, BuildPhase, BuildProgress, RowSink, StateError, Watch},
};

/// Number of bytes that the row stream keeps in scratch files for each slot between its passes.
pub(super) const SCRATCH_SLOT_BYTES: u64 = 4;
/// Number of such bytes for each account; see [`SCRATCH_SLOT_BYTES`].
pub(super) const SCRATCH_ACCOUNT_BYTES: u64 = 24;

/// Maximal number of rows in a part. A part of slots then has about 13 MB.
const PART_ROW_COUNT_MAX: u64 = 1 << 17;

/// A part of the row stream.
#[derive(Default)]
struct Part {
    bytes: Vec<u8>,
    /// Lengths of the key and of the value of each row.
    lens: Vec<(u32, u32)>,
    digest: ContentDigest,
}

/// Passes all rows of `table` to `sink` in the order of their keys, and returns the digest of the
/// rows. The progress shows this work as `phase`.
///
/// # Errors
/// The errors of the row stream and of `sink`, and [`StateError::Cancelled`].
pub(super) fn stream_rows(
    input: &BuildInput<'_>,
    watch: &Watch<'_>,
    table: Table,
    phase: BuildPhase,
    sink: &mut RowSink<'_>,
) -> Result<ContentDigest, StateError> {
    let mut settings = RowSettings::new(input.scratch);
    settings.threads = input.threads;
    settings.cancel = watch.cancel;
    settings.part_row_count_max = PART_ROW_COUNT_MAX;
    let sorting = sorting_progress(watch.progress);
    let stream = RowStream::new(input.genesis, input.layout, table, &settings, &sorting)?;
    if stream.row_count() == 0 {
        return Ok(ContentDigest::default());
    }
    watch.progress.begin(phase, stream.row_count());
    let threads = input.threads.clamp(1, stream.part_count().max(1));
    // New threads rather than threads of a pool, since each blocks until its last part is taken.
    thread::scope(|scope| {
        let parts: Vec<Receiver<_>> = (0..threads)
            .map(|first| {
                let (sender, receiver) = sync_channel(1);
                let stream = &stream;
                let parts = (first..stream.part_count()).step_by(threads);
                scope.spawn(move || send_parts(stream, table, parts, &sender));
                receiver
            })
            .collect();
        // If this ends early, the channels close, and the other threads end, too.
        receive_parts(&stream, &parts, watch, sink)
    })
}

/// Returns a function that reports the sorting of a row stream to `progress`. The stream gives
/// totals, and `progress` takes increments.
pub(super) fn sorting_progress(progress: &dyn BuildProgress) -> impl Fn(RowProgress) + Sync {
    let reported = Mutex::new(0);
    move |now| {
        let mut reported = lock(&reported);
        if *reported == 0 {
            progress.begin(BuildPhase::Sorting, now.total_row_count);
        }
        progress.advance(now.done_row_count.saturating_sub(*reported));
        *reported = now.done_row_count.max(*reported);
    }
}

/// Makes the parts with the indices `parts`, and sends them to the thread that takes them.
fn send_parts(
    stream: &RowStream<'_>,
    table: Table,
    parts: impl Iterator<Item = usize>,
    sender: &SyncSender<Result<Part, StateError>>,
) {
    let mut buffers = PartBuffers::default();
    for index in parts {
        let mut part = Part::default();
        let emitted = stream.emit::<StateError>(index, &mut buffers, &mut |key, value| {
            part.digest.add(table, key, value);
            part.bytes.extend_from_slice(key);
            part.bytes.extend_from_slice(value);
            part.lens.push((key.len() as u32, value.len() as u32));
            Ok(())
        });
        let has_failed = emitted.is_err();
        if sender.send(emitted.map(|()| part)).is_err() || has_failed {
            return;
        }
    }
}

/// Receives the parts in order, and passes their rows to `sink`.
fn receive_parts(
    stream: &RowStream<'_>,
    parts: &[Receiver<Result<Part, StateError>>],
    watch: &Watch<'_>,
    sink: &mut RowSink<'_>,
) -> Result<ContentDigest, StateError> {
    let mut digest = ContentDigest::default();
    for index in 0..stream.part_count() {
        // If the channel is closed without a part, its thread has panicked. The scope then resumes
        // the panic.
        let Ok(part) = parts[index % parts.len()].recv() else { break };
        let part = part?;
        watch.check()?;
        let mut rest = part.bytes.as_slice();
        for (key_bytes, value_bytes) in &part.lens {
            let (key, after) = rest.split_at(*key_bytes as usize);
            let (value, after) = after.split_at(*value_bytes as usize);
            sink(key, value)?;
            rest = after;
        }
        digest.merge(&part.digest);
        watch.progress.advance(part.lens.len() as u64);
    }
    Ok(digest)
}
