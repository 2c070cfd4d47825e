//! Fibers: several pieces of work on one thread, each with its own stack (`engine/bal/fibers.rs`).
//! A fiber that waits for a read, or for a value that another fiber reads, yields the thread to the
//! others. The thread itself blocks only when all its fibers wait.
//!
//! revm executes a transaction in one call, and reads state within that call. The call has no point
//! from which it could be resumed. So a fiber keeps its stack, and not the state of a future.

use std::{
    any::Any,
    cell::Cell,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};

/// Bytes of a fiber's stack, as for a thread of Rust's standard library. Only touched pages take
/// memory.
const STACK_BYTES: usize = 2 << 20;

/// The event that a fiber waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// The end of a read that the fiber itself has in flight.
    Read,
    /// The arrival of a value that another fiber or thread reads.
    Value,
}

/// Next action of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitAction {
    /// Look whether the event has happened, and otherwise wait again.
    Look,
    /// No other fiber of this thread can go on: block the thread. A wait for a value may block the
    /// thread only for a short time, since values of other fibers may come meanwhile.
    Block,
}

/// A fiber that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    awaited: Awaited,
    /// True if the fiber has looked again since its wait began, and must still wait.
    is_again: bool,
}

type Panic = Box<dyn Any + Send>;
type Fiber = Coroutine<WaitAction, Waiting, Result<(), Panic>, DefaultStack>;

thread_local! {
    /// Yielder of the fiber that runs on this thread; null outside of fibers.
    static YIELDER: Cell<*const Yielder<WaitAction, Waiting>> = const { Cell::new(ptr::null()) };
}

/// Returns whether the caller runs on a fiber.
pub(crate) fn is_inside() -> bool {
    !YIELDER.get().is_null()
}

/// A wait for a read or a value. The caller calls [`Self::next_action`] until the event has
/// happened. It must hold no lock.
#[derive(Debug)]
pub(crate) struct Wait {
    next: Waiting,
}

impl Wait {
    /// Begins a wait.
    pub(crate) const fn new(awaited: Awaited) -> Self {
        Self { next: Waiting { awaited, is_again: false } }
    }

    /// Lets the other fibers of this thread run, and returns the next action. Outside of fibers,
    /// returns [`WaitAction::Block`] at once.
    #[expect(unsafe_code, reason = "the yielder is found by its address")]
    pub(crate) fn next_action(&mut self) -> WaitAction {
        let yielder = YIELDER.get();
        if yielder.is_null() {
            return WaitAction::Block;
        }
        // SAFETY: a fiber sets its own yielder when it begins and after each wait. `resume` takes
        // the yielder away when the fiber stops. So this yielder is that of the fiber on whose
        // stack this call is, and lives as long.
        let action = unsafe { &*yielder }.suspend(self.next);
        YIELDER.set(yielder);
        self.next.is_again = true;
        action
    }
}

/// The stacks of a thread's fibers, made before the clock.
pub(crate) struct Fibers {
    stacks: Vec<DefaultStack>,
}

impl fmt::Debug for Fibers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fibers").field("count", &self.stacks.len()).finish()
    }
}

/// A fiber that has not ended, and the event that it waits for.
struct Live {
    fiber: Fiber,
    awaited: Awaited,
}

impl Fibers {
    /// Makes the stacks of `count` fibers.
    ///
    /// # Errors
    /// The system has no memory for the stacks.
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        let stacks = (0..count).map(|_| DefaultStack::new(STACK_BYTES));
        Ok(Self { stacks: stacks.collect::<Result<_, _>>()? })
    }

    /// Runs each of `works` on a fiber of its own until all fibers have ended. If a fiber panics,
    /// calls `on_panic`, which must make the other fibers end. Then the panic resumes.
    pub(crate) fn run<W: FnOnce()>(&mut self, works: Vec<W>, on_panic: &dyn Fn()) {
        assert!(works.len() <= self.stacks.len(), "a fiber has a stack");
        assert!(!is_inside(), "a fiber has no fibers");
        let mut first_panic = None;
        let mut live: Vec<Live> = Vec::with_capacity(works.len());
        let stacks = self.stacks.drain(..works.len());
        for (work, stack) in works.into_iter().zip(stacks) {
            live.push(Live { fiber: new_fiber(stack, work), awaited: Awaited::Value });
        }
        while !live.is_empty() {
            let mut has_progress = false;
            let mut index = 0;
            while index < live.len() {
                match resume(&mut live[index], WaitAction::Look) {
                    CoroutineResult::Yield(waiting) => {
                        has_progress |= !waiting.is_again;
                        index += 1;
                    }
                    CoroutineResult::Return(ended) => {
                        self.end(live.swap_remove(index), ended, on_panic, &mut first_panic);
                        has_progress = true;
                    }
                }
            }
            if has_progress || live.is_empty() {
                continue;
            }
            // All fibers wait. One of them blocks the thread, preferably for a read: a read ends by
            // itself, and a value may depend on it.
            let awaits_read = |fiber: &Live| fiber.awaited == Awaited::Read;
            let blocking = live.iter().position(awaits_read).unwrap_or(0);
            if let CoroutineResult::Return(ended) = resume(&mut live[blocking], WaitAction::Block) {
                self.end(live.swap_remove(blocking), ended, on_panic, &mut first_panic);
            }
        }
        if let Some(panic) = first_panic {
            resume_unwind(panic);
        }
    }

    /// Takes back the stack of an ended fiber, and keeps the first panic.
    fn end(
        &mut self,
        live: Live,
        ended: Result<(), Panic>,
        on_panic: &dyn Fn(),
        first_panic: &mut Option<Panic>,
    ) {
        self.stacks.push(live.fiber.into_stack());
        if let Err(panic) = ended {
            on_panic();
            first_panic.get_or_insert(panic);
        }
    }
}

/// Makes a fiber that will run `work`.
#[expect(unsafe_code, reason = "the work borrows from the caller of `Fibers::run`")]
fn new_fiber<W: FnOnce()>(stack: DefaultStack, work: W) -> Fiber {
    let body = |yielder: &Yielder<WaitAction, Waiting>, _: WaitAction| {
        YIELDER.set(yielder);
        catch_unwind(AssertUnwindSafe(work))
    };
    // SAFETY: `Fibers::run` drives each fiber to its end before it returns. If it panics itself, it
    // drops the fiber, which unwinds the fiber's stack. The borrows of `work` outlive that call.
    unsafe { Coroutine::with_stack_unchecked(stack, body) }
}

/// Runs a fiber until it waits or ends.
fn resume(live: &mut Live, action: WaitAction) -> CoroutineResult<Waiting, Result<(), Panic>> {
    let result = live.fiber.resume(action);
    YIELDER.set(ptr::null());
    if let CoroutineResult::Yield(waiting) = &result {
        live.awaited = waiting.awaited;
    }
    result
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Waits for a value until `is_there`. Returns the number of [`WaitAction::Block`]s.
    fn await_value(is_there: impl Fn() -> bool) -> usize {
        let (mut wait, mut block_count) = (Wait::new(Awaited::Value), 0);
        while !is_there() {
            block_count += usize::from(wait.next_action() == WaitAction::Block);
        }
        block_count
    }

    #[test]
    fn one_that_waits_lets_the_others_run() {
        let told = RefCell::new(Vec::new());
        let mut fibers = Fibers::new(3).unwrap();
        for _ in 0..2 {
            told.borrow_mut().clear();
            let work = |number: usize| {
                let told = &told;
                move || {
                    // The last fiber waits for none, and each other fiber for the one behind it.
                    let blocked = await_value(|| told.borrow().len() == 2 - number);
                    assert_eq!(blocked, 0, "another could go on");
                    told.borrow_mut().push(number);
                }
            };
            fibers.run((0..3).map(work).collect(), &|| panic!("none panics"));
            assert_eq!(*told.borrow(), [2, 1, 0]);
        }
        assert!(!is_inside());
    }

    #[test]
    fn the_thread_blocks_only_when_all_wait_and_for_reads_first() {
        let blocked = RefCell::new(Vec::new());
        let landed = Cell::new(false);
        let mut fibers = Fibers::new(2).unwrap();
        let value = || {
            await_value(|| landed.get());
        };
        let read = || {
            let mut wait = Wait::new(Awaited::Read);
            while wait.next_action() == WaitAction::Look {}
            blocked.borrow_mut().push(Awaited::Read);
            landed.set(true);
        };
        let works: Vec<Box<dyn FnOnce() + '_>> = vec![Box::new(value), Box::new(read)];
        fibers.run(works, &|| panic!("none panics"));
        assert_eq!(*blocked.borrow(), [Awaited::Read]);
    }

    #[test]
    fn outside_of_fibers_the_thread_blocks() {
        for awaited in [Awaited::Read, Awaited::Value] {
            let mut wait = Wait::new(awaited);
            assert_eq!([wait.next_action(), wait.next_action()], [WaitAction::Block; 2]);
        }
    }

    #[test]
    fn a_panic_is_told_to_the_others_and_then_goes_on() {
        let has_panicked = Cell::new(false);
        let ended = Cell::new(0);
        let mut fibers = Fibers::new(3).unwrap();
        let work = |number: usize| {
            let (has_panicked, ended) = (&has_panicked, &ended);
            move || {
                if number == 1 {
                    Wait::new(Awaited::Value).next_action();
                    panic!("planted");
                }
                await_value(|| has_panicked.get());
                ended.set(ended.get() + 1);
            }
        };
        let works = (0..3).map(work).collect();
        let run = AssertUnwindSafe(|| fibers.run(works, &|| has_panicked.set(true)));
        let panic = catch_unwind(run).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"planted"));
        assert_eq!(ended.get(), 2);
        // The stacks are there again, of fewer works too.
        for count in [1, 3] {
            let again = Cell::new(0);
            let works = (0..count).map(|_| || again.set(again.get() + 1)).collect();
            fibers.run(works, &|| panic!("none panics"));
            assert_eq!(again.get(), count);
        }
    }
}
