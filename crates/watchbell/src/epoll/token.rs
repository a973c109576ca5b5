//! The names of registrations.

use std::fmt;

/// Names a registration in the events of its epoll instance, or a source of a loop. It is never
/// used twice, and no other instance or loop takes it for one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The instance or the loop.
    home: u64,
    /// What the kernel keeps with the registration. Of a loop's source: slot and generation.
    data: u64,
}

impl Token {
    pub(crate) const fn new(home: u64, data: u64) -> Token {
        Token { home, data }
    }

    pub(crate) const fn of_slot(home: u64, index: u32, generation: u32) -> Token {
        Token { home, data: (generation as u64) << 32 | index as u64 }
    }

    #[inline]
    pub(crate) const fn home(self) -> u64 {
        self.home
    }

    #[inline]
    pub(crate) const fn data(self) -> u64 {
        self.data
    }

    #[inline]
    pub(crate) const fn index(self) -> u32 {
        self.data as u32
    }

    #[inline]
    pub(crate) const fn generation(self) -> u32 {
        (self.data >> 32) as u32
    }

    /// Slot and generation.
    #[inline]
    pub(crate) const fn split(data: u64) -> (u32, u32) {
        (data as u32, (data >> 32) as u32)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index(), self.generation())
    }
}
