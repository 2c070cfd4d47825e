//! A concurrent map of values from the store, for codes, and for rows whose keys the engine does
//! not know beforehand. The first thread that needs a key reads it; other threads wait for the
//! value.

use std::{
    fmt,
    hash::{BuildHasher, Hash},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use alloy_primitives::map::{DefaultHashBuilder, Entry, HashMap};

use crate::{
    fiber::{self, Awaited, Wait, WaitAction},
    lock::lock,
};

/// Number of parts of the map, each with a lock. There are far more parts than threads, so that
/// threads seldom wait for the same lock.
const PART_COUNT: usize = 256;
/// Polling interval of a waiter for the cancel flag.
const CANCEL_CHECK: Duration = Duration::from_millis(20);
/// Longest sleep of a thread whose fibers all wait. The thread sleeps for the value of one fiber.
/// The arrival of another fiber's value does not wake it, so it must look for that value itself.
const FIBER_CHECK: Duration = Duration::from_micros(500);

/// Error of a wait or a read that ended because the run was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cancelled;

/// Way in which a caller got a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The value was in the map.
    Ready,
    /// The caller has read the value.
    Read,
    /// Another thread has read the value while the caller waited.
    Waited,
}

#[derive(Debug)]
struct MapPart<K, V> {
    /// Values by key; `None` while a thread reads the key.
    map: Mutex<HashMap<K, Option<V>>>,
    arrived: Condvar,
}

/// A map in which each key is read once.
pub(crate) struct SingleFlight<K, V> {
    parts: Vec<MapPart<K, V>>,
    /// Hasher that chooses the part. It is randomly seeded, like the hashers of the maps, since
    /// keys may be crafted to collide.
    hasher: DefaultHashBuilder,
}

impl<K, V> fmt::Debug for SingleFlight<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleFlight").finish_non_exhaustive()
    }
}

impl<K: Hash + Eq + Copy, V: Clone> Default for SingleFlight<K, V> {
    fn default() -> Self {
        let part = |_| MapPart { map: Mutex::default(), arrived: Condvar::new() };
        Self { parts: (0..PART_COUNT).map(part).collect(), hasher: DefaultHashBuilder::default() }
    }
}

impl<K: Hash + Eq + Copy, V: Clone> SingleFlight<K, V> {
    fn part(&self, key: &K) -> &MapPart<K, V> {
        &self.parts[self.hasher.hash_one(key) as usize % PART_COUNT]
    }

    /// Returns the value of `key`. Calls `read` if no thread has read or claimed the key. Waits if
    /// another thread reads the key. After a failed read, a waiting thread or the next caller reads
    /// the key.
    ///
    /// # Errors
    /// The error of `read`, or [`Cancelled`].
    pub(crate) fn get_or_read<E: From<Cancelled>>(
        &self,
        key: K,
        cancel: &AtomicBool,
        read: impl FnOnce() -> Result<V, E>,
    ) -> Result<(V, Arrival), E> {
        let part = self.part(&key);
        let mut map = lock(&part.map);
        match map.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(None);
                drop(map);
            }
            Entry::Occupied(occupied) => {
                if let Some(value) = occupied.get() {
                    return Ok((value.clone(), Arrival::Ready));
                }
                if let Some(value) = Self::wait(part, map, key, cancel)? {
                    return Ok((value, Arrival::Waited));
                }
            }
        }
        let value = Self::read_claimed(part, key, read)?;
        Ok((value, Arrival::Read))
    }

    /// Reads `key`, which the caller has claimed, and publishes the value.
    fn read_claimed<E>(
        part: &MapPart<K, V>,
        key: K,
        read: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        let read = read();
        let mut map = lock(&part.map);
        match &read {
            Ok(value) => {
                map.insert(key, Some(value.clone()));
            }
            Err(_) => {
                map.remove(&key);
            }
        }
        drop(map);
        part.arrived.notify_all();
        read
    }

    /// Claims `key` if no thread has read or claimed it, and returns whether it did. After a claim
    /// the caller must [`Self::put`] the key's value.
    pub(crate) fn claim(&self, key: K) -> bool {
        match lock(&self.part(&key).map).entry(key) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(None);
                true
            }
        }
    }

    /// Publishes the value of `key`, which the caller has claimed.
    pub(crate) fn put(&self, key: K, value: V) {
        let part = self.part(&key);
        lock(&part.map).insert(key, Some(value));
        part.arrived.notify_all();
    }

    /// Reads `key` if no thread has read or claimed it. Does not wait for another thread's read.
    ///
    /// # Errors
    /// The error of `read`.
    pub(crate) fn fill<E>(&self, key: K, read: impl FnOnce() -> Result<V, E>) -> Result<(), E> {
        match self.claim(key) {
            true => Self::read_claimed(self.part(&key), key, read).map(drop),
            false => Ok(()),
        }
    }

    /// Waits for the value of `key`. If the other thread's read failed, claims the key for the
    /// caller and returns `None`.
    fn wait<'s>(
        part: &'s MapPart<K, V>,
        mut map: MutexGuard<'s, HashMap<K, Option<V>>>,
        key: K,
        cancel: &AtomicBool,
    ) -> Result<Option<V>, Cancelled> {
        let mut wait = Wait::new(Awaited::Value);
        loop {
            match map.entry(key) {
                Entry::Vacant(vacant) => {
                    vacant.insert(None);
                    return Ok(None);
                }
                Entry::Occupied(occupied) => {
                    if let Some(value) = occupied.get() {
                        return Ok(Some(value.clone()));
                    }
                }
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
            let mut longest = CANCEL_CHECK;
            if fiber::is_inside() {
                drop(map);
                let action = wait.next_action();
                map = lock(&part.map);
                // Only while another thread reads the key, `Some(None)`, may this one sleep.
                if action == WaitAction::Look || map.get(&key).is_none_or(Option::is_some) {
                    continue;
                }
                longest = FIBER_CHECK;
            }
            let waited = part.arrived.wait_timeout(map, longest);
            map = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_key_is_read_once_however_many_ask() {
        let flight = SingleFlight::<u64, u64>::default();
        let cancel = AtomicBool::new(false);
        let read_count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for key in 0..500 {
                        let read = || {
                            read_count.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                            Ok::<_, Cancelled>(key * 3)
                        };
                        assert_eq!(flight.get_or_read(key, &cancel, read).unwrap().0, key * 3);
                    }
                });
            }
        });
        assert_eq!(read_count.load(Ordering::Relaxed), 500);
    }

    #[test]
    fn what_was_filled_is_there_and_is_not_read_again() {
        let flight = SingleFlight::<u64, u64>::default();
        let cancel = AtomicBool::new(false);
        flight.fill(1, || Ok::<_, Cancelled>(10)).unwrap();
        flight.fill(1, || -> Result<u64, Cancelled> { panic!("it is there") }).unwrap();
        let read = || -> Result<u64, Cancelled> { panic!("it is there") };
        assert_eq!(flight.get_or_read(1, &cancel, read), Ok((10, Arrival::Ready)));
    }

    #[test]
    fn a_key_is_claimed_once_and_put_for_who_waits() {
        let flight = SingleFlight::<u64, u64>::default();
        assert!(flight.claim(1) && !flight.claim(1));
        let read = || -> Result<u64, Cancelled> { panic!("it is claimed") };
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| flight.get_or_read(1, &AtomicBool::new(false), read));
            flight.put(1, 10);
            assert_eq!(waiter.join().unwrap().unwrap().0, 10);
        });
        assert!(!flight.claim(1));
    }

    #[test]
    fn a_failed_read_leaves_the_key_to_who_waits_for_it() {
        let flight = SingleFlight::<u64, u64>::default();
        let cancel = AtomicBool::new(false);
        let (claimed, fail) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let read = || {
                    claimed.store(true, Ordering::Release);
                    while !fail.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    Err(Cancelled)
                };
                assert!(flight.get_or_read(1, &cancel, read).is_err());
            });
            while !claimed.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let waiter = scope.spawn(|| flight.get_or_read(1, &cancel, || Ok::<_, Cancelled>(7)));
            fail.store(true, Ordering::Release);
            assert_eq!(waiter.join().unwrap(), Ok((7, Arrival::Read)));
        });
        let read = || -> Result<u64, Cancelled> { panic!("it is there") };
        assert_eq!(flight.get_or_read(1, &cancel, read), Ok((7, Arrival::Ready)));
    }

    #[test]
    fn who_waits_leaves_when_the_run_is_cancelled() {
        let flight = SingleFlight::<u64, u64>::default();
        let cancel = AtomicBool::new(true);
        let read = || {
            let read = || -> Result<u64, Cancelled> { panic!("claimed by another") };
            assert_eq!(flight.get_or_read(1, &cancel, read), Err(Cancelled));
            Ok::<_, Cancelled>(7)
        };
        assert_eq!(flight.get_or_read(1, &cancel, read), Ok((7, Arrival::Read)));
    }
}
