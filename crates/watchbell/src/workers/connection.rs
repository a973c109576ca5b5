//! An accepted connection, which is accounted for until it is closed.

use super::shared::Shared;
use crate::epoll::Source;
use crate::kernel::{Borrowed, Linux, Sockets};
use crate::net::{Socket, Stream};
use crate::sync::Arc;
use std::fmt;
use std::ops::Deref;

/// A connection that a worker accepted: a [`Stream`] that the worker's [`Ledger`](super::Ledger)
/// knows of until it is dropped.
///
/// Only the pool makes one. It stays in its worker's loop, as a source of its own, or is dropped.
/// Kept anywhere else (another thread, a field of another source) it unbalances the ledger until it
/// is dropped; leaked, for ever.
pub struct Connection<K: Sockets = Linux> {
    stream: Stream<K>,
    shared: Arc<Shared<K>>,
}

impl<K: Sockets> Connection<K> {
    pub(super) fn new(stream: Stream<K>, shared: &Arc<Shared<K>>) -> Connection<K> {
        shared.tally.accept();
        Connection { stream, shared: Arc::clone(shared) }
    }
}

impl<K: Sockets> Drop for Connection<K> {
    fn drop(&mut self) {
        self.shared.end_connection();
    }
}

impl<K: Sockets> Socket for Connection<K> {
    type Kernel = K;

    fn stream(&self) -> &Stream<K> {
        &self.stream
    }
}

impl<K: Sockets> Deref for Connection<K> {
    type Target = Stream<K>;

    fn deref(&self) -> &Stream<K> {
        &self.stream
    }
}

impl<K: Sockets> Source for Connection<K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.stream.descriptor()
    }
}

impl<K: Sockets> fmt::Debug for Connection<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(f)
    }
}
