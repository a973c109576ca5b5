//! The bits of a mask: what a target is ready for, and how a registration is to be told.
//!
//! One set of bits serves three purposes, and it pays to keep them apart:
//!
//! - **readiness**, the answer of an object that is asked what it is ready for ([`Mask::IN`] to
//!   [`Mask::RDHUP`]);
//! - the **key** of a wakeup: which readiness may have changed. An empty key says "anything", and
//!   passes every filter;
//! - the **stored mask** of a registration: the readiness that it asks for, and four private bits
//!   ([`Mask::PRIVATE`]) that say how it wants to be told.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of event bits, as in `epoll_event.events` and `pollfd.events`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mask(pub u32);

impl Mask {
    /// No bit. As a key: anything may have changed.
    pub const NONE: Mask = Mask(0);
    /// Readable.
    pub const IN: Mask = Mask(0x1);
    /// Urgent data.
    pub const PRI: Mask = Mask(0x2);
    /// Writable.
    pub const OUT: Mask = Mask(0x4);
    /// An error is pending, or nobody reads any more. Told unasked.
    pub const ERR: Mask = Mask(0x8);
    /// Hung up. Told unasked.
    pub const HUP: Mask = Mask(0x10);
    /// poll(2) only: no such descriptor.
    pub const NVAL: Mask = Mask(0x20);
    /// Normal data can be read.
    pub const RDNORM: Mask = Mask(0x40);
    /// Priority data can be read.
    pub const RDBAND: Mask = Mask(0x80);
    /// Normal data can be written.
    pub const WRNORM: Mask = Mask(0x100);
    /// Priority data can be written.
    pub const WRBAND: Mask = Mask(0x200);
    /// Accepted and never told.
    pub const MSG: Mask = Mask(0x400);
    /// The peer has shut down its writing half.
    pub const RDHUP: Mask = Mask(0x2000);
    /// `EPOLLEXCLUSIVE`: a wakeup may stop here.
    pub const EXCLUSIVE: Mask = Mask(1 << 28);
    /// `EPOLLWAKEUP`: accepted and dropped; see [`ctl`](crate::Kernel::epoll_ctl).
    pub const WAKEUP: Mask = Mask(1 << 29);
    /// `EPOLLONESHOT`: told once, then disarmed.
    pub const ONESHOT: Mask = Mask(1 << 30);
    /// `EPOLLET`: leaves the ready list when it is told.
    pub const ET: Mask = Mask(1 << 31);

    /// The bits that say how to tell, not of what.
    pub const PRIVATE: Mask =
        Mask(Mask::EXCLUSIVE.0 | Mask::WAKEUP.0 | Mask::ONESHOT.0 | Mask::ET.0);
    /// Told whether asked for or not.
    pub const UNASKED: Mask = Mask(Mask::ERR.0 | Mask::HUP.0);

    /// Whether any bit of `other` is in this mask.
    pub fn has(self, other: Mask) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no bit is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// This mask where `condition` holds, else none.
    pub(crate) fn when(self, condition: bool) -> Mask {
        if condition { self } else { Mask::NONE }
    }
}

impl BitOr for Mask {
    type Output = Mask;
    fn bitor(self, other: Mask) -> Mask {
        Mask(self.0 | other.0)
    }
}

impl BitOrAssign for Mask {
    fn bitor_assign(&mut self, other: Mask) {
        self.0 |= other.0;
    }
}

impl BitAnd for Mask {
    type Output = Mask;
    fn bitand(self, other: Mask) -> Mask {
        Mask(self.0 & other.0)
    }
}

impl Not for Mask {
    type Output = Mask;
    fn not(self) -> Mask {
        Mask(!self.0)
    }
}

const NAMES: [(Mask, &str); 16] = [
    (Mask::IN, "IN"),
    (Mask::PRI, "PRI"),
    (Mask::OUT, "OUT"),
    (Mask::ERR, "ERR"),
    (Mask::HUP, "HUP"),
    (Mask::NVAL, "NVAL"),
    (Mask::RDNORM, "RDNORM"),
    (Mask::RDBAND, "RDBAND"),
    (Mask::WRNORM, "WRNORM"),
    (Mask::WRBAND, "WRBAND"),
    (Mask::MSG, "MSG"),
    (Mask::RDHUP, "RDHUP"),
    (Mask::EXCLUSIVE, "EXCLUSIVE"),
    (Mask::WAKEUP, "WAKEUP"),
    (Mask::ONESHOT, "ONESHOT"),
    (Mask::ET, "ET"),
];

/// `IN|OUT`; bits without a name in hexadecimal; `0` where there is none.
impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = *self;
        let mut separator = "";
        for (bit, name) in NAMES {
            if self.has(bit) {
                write!(f, "{separator}{name}")?;
                separator = "|";
                rest = rest & !bit;
            }
        }
        match (rest.is_empty(), separator) {
            (true, "") => f.write_str("0"),
            (true, _) => Ok(()),
            (false, _) => write!(f, "{separator}{:#x}", rest.0),
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What epoll_wait(2) brings: the readiness, and the data that was stored with the registration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    /// What the target is ready for, of what was asked; or, on its way in, what is asked for.
    pub events: Mask,
    /// Bit for bit as it was stored (X030).
    pub data: u64,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.data, self.events)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
