//! What is watched for, and what was seen.

use crate::kernel::EventFlags;
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// What a registration watches for: the `events` that epoll_ctl(2) is given.
///
/// Errors and hang-ups (`EPOLLERR`, `EPOLLHUP`) are always told and need no interest.
///
/// ```
/// use watchbell::epoll::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.contains(Interest::READABLE));
/// assert!(!Interest::NONE.contains(Interest::READABLE));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(EventFlags);

impl Interest {
    /// Errors and hang-ups only.
    pub const NONE: Interest = Interest(EventFlags::empty());
    /// Input, and the peer's end of it (`EPOLLIN`, `EPOLLRDHUP`).
    pub const READABLE: Interest = Interest(EventFlags::IN.union(EventFlags::RDHUP));
    /// Room for output (`EPOLLOUT`).
    pub const WRITABLE: Interest = Interest(EventFlags::OUT);
    /// An exceptional condition, such as a TCP socket's urgent data (`EPOLLPRI`).
    pub const PRIORITY: Interest = Interest(EventFlags::PRI);

    /// Whether all of `other` is watched for.
    pub const fn contains(self, other: Interest) -> bool {
        self.0.contains(other.0)
    }

    pub(crate) const fn flags(self) -> EventFlags {
        self.0
    }
}

impl BitOr for Interest {
    type Output = Interest;

    fn bitor(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Interest) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interest({})", names(self.0))
    }
}

/// What an event said: the `events` that epoll_wait(2) stored.
///
/// It is a hint. The result of the operation on the descriptor decides: readable does not promise a
/// byte (epoll(7), select(2)).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Readiness(u16);

impl Default for Readiness {
    fn default() -> Readiness {
        Readiness::NONE
    }
}

impl Readiness {
    /// Nothing was seen.
    pub const NONE: Readiness = Readiness(0);

    /// What either of two events said.
    pub(crate) fn and(self, other: Readiness) -> Readiness {
        Readiness(self.0 | other.0)
    }

    pub(crate) const fn new(flags: EventFlags) -> Readiness {
        Readiness(flags.bits() as u16) // what epoll_wait(2) reports is in the lower half
    }

    const fn has(self, flags: EventFlags) -> bool {
        self.0 & flags.bits() as u16 != 0
    }

    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// What it says the end of: an error, a hang-up or the peer's half-close.
    pub(crate) const fn is_ending(self) -> bool {
        self.has(EventFlags::ERR.union(EventFlags::HUP).union(EventFlags::RDHUP))
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// Input is said to be there, or its end (`EPOLLIN`).
    pub const fn is_readable(self) -> bool {
        self.has(EventFlags::IN)
    }

    /// Room for output is said to be there (`EPOLLOUT`).
    pub const fn is_writable(self) -> bool {
        self.has(EventFlags::OUT)
    }

    /// An exceptional condition (`EPOLLPRI`).
    pub const fn is_priority(self) -> bool {
        self.has(EventFlags::PRI)
    }

    /// An error (`EPOLLERR`); for a socket `SO_ERROR` or the next operation says which.
    pub const fn is_error(self) -> bool {
        self.has(EventFlags::ERR)
    }

    /// Both directions have ended (`EPOLLHUP`); input that came before may still be there.
    pub const fn is_hangup(self) -> bool {
        self.has(EventFlags::HUP)
    }

    /// The peer sends no more, a half-close (`EPOLLRDHUP`); what it sent may still be there.
    pub const fn is_peer_closed(self) -> bool {
        self.has(EventFlags::RDHUP)
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Readiness({})", names(EventFlags::from_bits_retain(self.bits())))
    }
}

/// The flags' names as the man page spells them, without the prefix.
fn names(flags: EventFlags) -> String {
    let names: Vec<&str> = flags.iter_names().map(|(name, _)| name).collect();
    names.join("|")
}
