//! Threads, locks and atomics, from one place.
//!
//! The library takes everything that schedules or orders threads from here, so that another
//! implementation can stand behind these names without a change above. Today they are std's own.

pub use std::sync::atomic;
pub use std::sync::{Arc, Condvar, LockResult, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
pub use std::thread;

/// Locks `mutex` whether or not a thread panicked while it held the lock.
///
/// Every critical section in this crate leaves its data whole before it calls anything that can
/// panic, so that poison says nothing about the data.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
