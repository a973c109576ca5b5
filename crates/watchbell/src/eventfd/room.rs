//! Waiting until an eventfd has room.

use super::object::interruptible;
use crate::kernel::{Borrowed, Descriptor, EventBuffer, EventFlags, Kernel};
use std::io;
use std::time::Duration;

/// A watch on one eventfd that tells each read of it.
///
/// An addition of n has to wait for room for n, and writable promises room for 1 only: where there
/// is room for 1 but not for n, poll(2) and a level-triggered registration say "writable" for ever,
/// and the wait would spin. Edge-triggered, every successful read is a new `EPOLLOUT`, also where
/// the eventfd was writable already, and a failed write is none. Since only reads make room,
/// waiting for the next edge misses nothing and turns once a read.
///
/// The epoll instance is this wait's own: nobody else takes its events.
pub(super) struct Room<K: Kernel> {
    epoll: K::Fd,
    events: EventBuffer,
}

impl<K: Kernel> Room<K> {
    /// Watches from now on. The caller tries once more before it waits, since a read may have come
    /// between its last try and this.
    pub(super) fn watch(kernel: &K, eventfd: Borrowed<'_, K>) -> io::Result<Room<K>> {
        let epoll = kernel.epoll_create()?;
        kernel.epoll_add(epoll.borrow(), eventfd, EventFlags::OUT | EventFlags::ET, 0)?;
        Ok(Room { epoll, events: EventBuffer::with_capacity(1) })
    }

    /// Returns at a read that was not told yet, after `timeout`, or early for no reason.
    pub(super) fn wait(&mut self, kernel: &K, timeout: Option<Duration>) -> io::Result<()> {
        interruptible(kernel.epoll_wait(self.epoll.borrow(), &mut self.events, timeout))
    }
}
