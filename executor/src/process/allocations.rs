//! Counts the allocations of a program's Rust code. Libraries in other languages (RocksDB, MDBX)
//! have their own allocators, which are not counted.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, which counts allocations after [`begin`]. Before [`begin`], an
/// allocation costs one more check of a flag. A program that wants the counts makes this its
/// `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

/// Number of counters. Each thread has a counter of its own, up to this number of threads. With
/// more threads, several share a counter.
const COUNTER_COUNT: usize = 128;

/// A counter on a cache line of its own, so that threads do not contend.
#[repr(align(128))]
struct Counter(AtomicU64);

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static COUNTERS: [Counter; COUNTER_COUNT] = [const { Counter(AtomicU64::new(0)) }; COUNTER_COUNT];
static NEXT_COUNTER: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Index of the thread's counter; `usize::MAX` before its first allocation. The index has no
    /// destructor, so it exists as long as the thread allocates.
    static OWN_COUNTER: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Starts counting, in all threads.
pub fn begin() {
    IS_COUNTING.store(true, Relaxed);
}

/// Returns the number of allocations and reallocations of all threads since [`begin`]. `None`
/// before [`begin`], and in a program with another allocator.
pub fn count() -> Option<u64> {
    // Every program allocates memory, so a count of zero means another allocator.
    let sum = COUNTERS.iter().map(|counter| counter.0.load(Relaxed)).sum();
    (IS_COUNTING.load(Relaxed) && sum > 0).then_some(sum)
}

fn add_one() {
    if !IS_COUNTING.load(Relaxed) {
        return;
    }
    let counter = OWN_COUNTER.with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT_COUNTER.fetch_add(1, Relaxed) % COUNTER_COUNT);
        }
        own.get()
    });
    COUNTERS[counter].0.fetch_add(1, Relaxed);
}

#[expect(unsafe_code, reason = "an allocator is unsafe to implement")]
// SAFETY: each call goes to the allocator of the system as it came. Counting neither allocates nor
// panics: the thread's index has no destructor, and is below the number of counters.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add_one();
        // SAFETY: the caller keeps the rules of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add_one();
        // SAFETY: the caller keeps the rules of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add_one();
        // SAFETY: the caller keeps the rules of `realloc`, and `pointer` is of the system's
        // allocator.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the rules of `dealloc`, and `pointer` is of the system's
        // allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use std::{hint, thread};

    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn allocations_of_all_threads_are_counted_those_of_ended_ones_too() {
        begin();
        assert_eq!(*hint::black_box(Box::new(7)), 7);
        // Other tests allocate meanwhile: there are at least these.
        let before = count().expect("it counts");
        let work = || (0..1_000).map(|size| vec![0_u8; size + 1].len()).sum::<usize>();
        let threads = (0..2 * COUNTER_COUNT).map(|_| thread::spawn(work)).collect::<Vec<_>>();
        let sizes = threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>();
        assert!(sizes.iter().all(|size| *size == 500_500));
        let after = count().expect("it counts");
        assert!(after - before >= 2 * COUNTER_COUNT as u64 * 1_000, "{before} {after}");
    }

    #[test]
    fn memory_is_the_systems_and_keeps_its_bytes() {
        begin();
        let mut bytes = vec![7_u8; 10];
        bytes.extend(std::iter::repeat_n(8, 100_000));
        assert_eq!((bytes[9], bytes[10], bytes[100_009]), (7, 8, 8));
        assert!(vec![0_u64; 100_000].iter().all(|word| *word == 0));
    }
}
