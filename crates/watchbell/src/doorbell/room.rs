//! Waiting for room in a full queue.
//!
//! The consumer gives slots back by a read-modify-write of the head, then looks whether somebody
//! waits. A producer says that it waits, then looks at the head by a read-modify-write. So one of
//! the two comes first: the producer sees the new head, or the consumer sees the producer. The
//! producer holds the lock from its look until it sleeps, and the consumer takes it before it wakes
//! anybody.
//!
//! This file takes its atomics and locks from its parent, so that it can be compiled against
//! loom's.

use super::sync::{AtomicUsize, Condvar, Mutex, Ordering, lock};
use std::time::Instant;

/// Producers that wait for room.
#[derive(Default)]
pub(super) struct Room {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    freed: Condvar,
}

impl Room {
    /// Producer: waits until `is_decided` (there is room, or the queue is closed) or until the
    /// deadline. `is_decided` looks by a read-modify-write.
    pub(super) fn wait(&self, deadline: Option<Instant>, is_decided: impl Fn() -> bool) {
        let mut guard = lock(&self.lock);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        while !is_decided() {
            guard = match deadline {
                None => self.freed.wait(guard).unwrap_or_else(|poison| poison.into_inner()),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    let woken = self.freed.wait_timeout(guard, left);
                    woken.unwrap_or_else(|poison| poison.into_inner()).0
                }
            };
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// After the head has moved, or the queue was closed: wakes those who wait.
    pub(super) fn notify(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            // Whoever has looked too early sleeps by now.
            drop(lock(&self.lock));
            self.freed.notify_all();
        }
    }
}
