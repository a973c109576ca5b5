//! The errors that a system call can fail with.

use std::fmt;

/// An `errno` of [errno(3)](https://man7.org/linux/man-pages/man3/errno.3.html), by its C name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Errno {
    /// No such registration.
    ENOENT,
    /// Interrupted by a signal.
    EINTR,
    /// No such device or address.
    ENXIO,
    /// Not an open descriptor, or not open for this.
    EBADF,
    /// It would block, and the open file is non-blocking.
    EAGAIN,
    /// The name is not a directory: here, nothing of the kind that was asked for.
    ENODEV,
    /// The object has no readiness, so that it cannot be watched.
    EPERM,
    /// The number is set aside for a call that is under way.
    EBUSY,
    /// Registered already.
    EEXIST,
    /// An argument that the object does not take.
    EINVAL,
    /// The process's table of descriptors is full.
    EMFILE,
    /// Offsets mean nothing here.
    ESPIPE,
    /// Nobody reads the other end.
    EPIPE,
    /// Epoll instances would watch each other in a circle, or too deep.
    ELOOP,
    /// Not a socket.
    ENOTSOCK,
    /// Not that kind of socket.
    EOPNOTSUPP,
    /// The name is taken.
    EADDRINUSE,
    /// The peer is gone, and what was sent to it is lost.
    ECONNRESET,
    /// Connected already.
    EISCONN,
    /// Not connected.
    ENOTCONN,
    /// Nobody listens at that name.
    ECONNREFUSED,
}

impl Errno {
    /// The number that Linux gives it on most architectures.
    pub fn number(self) -> i32 {
        match self {
            Errno::EPERM => 1,
            Errno::ENOENT => 2,
            Errno::EINTR => 4,
            Errno::ENXIO => 6,
            Errno::EBADF => 9,
            Errno::EAGAIN => 11,
            Errno::EBUSY => 16,
            Errno::EEXIST => 17,
            Errno::ENODEV => 19,
            Errno::EINVAL => 22,
            Errno::EMFILE => 24,
            Errno::ESPIPE => 29,
            Errno::EPIPE => 32,
            Errno::ELOOP => 40,
            Errno::ENOTSOCK => 88,
            Errno::EOPNOTSUPP => 95,
            Errno::EADDRINUSE => 98,
            Errno::ECONNRESET => 104,
            Errno::EISCONN => 106,
            Errno::ENOTCONN => 107,
            Errno::ECONNREFUSED => 111,
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Errno {}
