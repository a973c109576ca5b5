//! Sockets before they are connected, and listeners.
//! ([unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html),
//! [listen(2)](https://man7.org/linux/man-pages/man2/listen.2.html))

use crate::arena::Id;
use crate::events::Mask;
use crate::file::File;
use crate::stream::{Halves, Pair, Side, shut_readiness};
use crate::wait_queue::WaitQueue;
use std::collections::VecDeque;

/// The address of a socket: an abstract name, by number.
pub type Name = u64;

/// A Unix stream socket.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Socket {
    pub(crate) queue: Id<WaitQueue>,
    /// A connection that was accepted has its listener's.
    pub(crate) name: Option<Name>,
    pub(crate) state: State,
}

/// What a socket has become.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// Neither connected nor listening.
    Fresh(Halves),
    /// Accepting connections.
    Listening(Listener),
    /// One end of a pair.
    Connected(Id<Pair>, Side),
}

/// A listener, with the connections that nobody has accepted.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Listener {
    pub(crate) backlog: usize,
    /// Each is an open file already: what the client sends is received there.
    pub(crate) pending: VecDeque<Id<File>>,
    pub(crate) shut: Halves,
}

impl Listener {
    /// Full with one connection more than its backlog.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() > self.backlog
    }

    /// Readable with a connection to accept; never writable.
    pub(crate) fn readiness(&self) -> Mask {
        shut_readiness(self.shut) | (Mask::IN | Mask::RDNORM).when(!self.pending.is_empty())
    }
}

/// A fresh socket is writable and hung up: there is nothing to be connected to (S243).
pub(crate) fn fresh_readiness(shut: Halves) -> Mask {
    shut_readiness(shut) | Mask::HUP | Mask::OUT | Mask::WRNORM | Mask::WRBAND
}
