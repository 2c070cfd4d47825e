//! Shares the machine: a program that decides by times runs while no other test's program does.

use std::{
    cell::Cell,
    process::{Command, Output},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::SystemTime,
};

use crate::schemas;

pub(crate) const STRESS: &str = env!("CARGO_BIN_EXE_stress");

/// Seven seconds of reading say nothing about the program.
const SHORT_READING: (&str, &str) = ("STRESS_DEVICE_MS", "20");

static MACHINE: RwLock<()> = RwLock::new(());

thread_local! {
    static IS_SHARED_BY_THIS_TEST: Cell<bool> = const { Cell::new(false) };
}

/// A share in the machine until it is dropped.
pub(crate) struct Shared(Option<RwLockReadGuard<'static, ()>>);

impl Drop for Shared {
    fn drop(&mut self) {
        if self.0.is_some() {
            IS_SHARED_BY_THIS_TEST.set(false);
        }
    }
}

/// Waits until nobody has the machine alone. A test may ask again while it has its share.
pub(crate) fn shared() -> Shared {
    let is_new = !IS_SHARED_BY_THIS_TEST.replace(true);
    Shared(is_new.then(|| MACHINE.read().unwrap_or_else(PoisonError::into_inner)))
}

/// Waits until nobody shares the machine.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// The program, which measures a device in a moment.
pub(crate) fn program() -> Command {
    let mut program = Command::new(STRESS);
    program.env(SHORT_READING.0, SHORT_READING.1);
    program
}

/// Runs a program beside those of other tests.
pub(crate) fn output(command: &mut Command) -> Output {
    let _shared = shared();
    checked(command)
}

/// Runs a program while no other test's program runs.
pub(crate) fn output_alone(command: &mut Command) -> Output {
    let _alone = alone();
    checked(command)
}

/// Runs a program, all of whose files and whose output keep to their schemas.
fn checked(command: &mut Command) -> Output {
    let began = SystemTime::now();
    // A script starts the program, too.
    command.env(SHORT_READING.0, SHORT_READING.1);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    schemas::assert_kept(&output.stdout, "standard output");
    schemas::assert_kept_by(command, began);
    output
}
