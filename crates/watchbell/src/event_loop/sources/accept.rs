//! Accepting connections: which errors concern one of them, and which all.

use crate::event_loop::account::Direction;
use crate::event_loop::run::{Notes, Ready};
use crate::event_loop::store::Shared;
use crate::kernel::{Kernel, Linux};
use crate::sync::Arc;
use rustix::io::Errno;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{SocketAddr as UnixSocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// A listening socket.
///
/// Wrapped, to count what is accepted, it is still one:
///
/// ```
/// # use std::{cell::Cell, io, net::{SocketAddr, TcpListener, TcpStream}};
/// use watchbell::event_loop::Accept;
///
/// struct Counted(TcpListener, Cell<u32>);
/// impl Accept for Counted {
///     type Connection = TcpStream;
///     type Peer = SocketAddr;
///     fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
///         Accept::accept(&self.0).inspect(|_| self.1.set(self.1.get() + 1))
///     }
///     fn has_waiting(&self) -> io::Result<bool> {
///         self.0.has_waiting()
///     }
/// }
/// # let listener = Counted(TcpListener::bind("127.0.0.1:0")?, Cell::new(0));
/// # let _client = TcpStream::connect(listener.0.local_addr()?)?;
/// # assert!(listener.has_waiting()?);
/// # listener.accept()?;
/// # assert_eq!(listener.1.get(), 1);
/// # Ok::<(), io::Error>(())
/// ```
pub trait Accept {
    /// What it accepts.
    type Connection;
    /// Who connected.
    type Peer;

    /// Takes one connection from the backlog, without blocking.
    ///
    /// # Errors
    ///
    /// Those of [accept(2)](https://man7.org/linux/man-pages/man2/accept.2.html); `WouldBlock` if
    /// the backlog is empty.
    #[doc(alias = "accept4")]
    fn accept(&self) -> io::Result<(Self::Connection, Self::Peer)>;

    /// Whether a connection waits in the backlog. Asked only when accept(2) has failed for want of
    /// descriptors or memory, which it does without looking at the backlog.
    ///
    /// # Errors
    ///
    /// Those of [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
    #[doc(alias = "poll")]
    fn has_waiting(&self) -> io::Result<bool>;
}

impl Accept for TcpListener {
    type Connection = TcpStream;
    type Peer = SocketAddr;

    fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        TcpListener::accept(self)
    }

    fn has_waiting(&self) -> io::Result<bool> {
        Linux.poll_readable(self.as_fd(), Some(Duration::ZERO))
    }
}

impl Accept for UnixListener {
    type Connection = UnixStream;
    type Peer = UnixSocketAddr;

    fn accept(&self) -> io::Result<(UnixStream, UnixSocketAddr)> {
        UnixListener::accept(self)
    }

    fn has_waiting(&self) -> io::Result<bool> {
        Linux.poll_readable(self.as_fd(), Some(Duration::ZERO))
    }
}

impl<L: Accept + ?Sized> Accept for Arc<L> {
    type Connection = L::Connection;
    type Peer = L::Peer;

    fn accept(&self) -> io::Result<(L::Connection, L::Peer)> {
        (**self).accept()
    }

    fn has_waiting(&self) -> io::Result<bool> {
        (**self).has_waiting()
    }
}

impl<L: Accept> Accept for Shared<L> {
    type Connection = L::Connection;
    type Peer = L::Peer;

    fn accept(&self) -> io::Result<(L::Connection, L::Peer)> {
        (**self).accept()
    }

    fn has_waiting(&self) -> io::Result<bool> {
        (**self).has_waiting()
    }
}

impl<L: Accept> Ready<'_, L> {
    /// Accepts one connection. `None`: the backlog is empty, or the budget is spent, or accepting
    /// rests.
    ///
    /// An error of one connection (`ECONNABORTED`, `EPROTO`, `EPERM`, `ETIMEDOUT` and the other
    /// network errors that were pending on it) is counted and skipped. When descriptors or memory
    /// have run out (`EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`), accepting rests for the loop's
    /// [`accept_pause`](crate::event_loop::Builder::accept_pause) and is tried again: the
    /// connections stay in the backlog, and no second edge will tell of them.
    ///
    /// # Errors
    ///
    /// Any other error of [accept(2)](https://man7.org/linux/man-pages/man2/accept.2.html), such as
    /// `EINVAL` from a socket that does not listen.
    ///
    /// ```
    /// # use std::net::{TcpListener, TcpStream};
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// let mut events = EventLoop::new()?;
    /// events.add(listener, Interest::READABLE, |listener, turn| {
    ///     while let Some((stream, _peer)) = listener.accept()? {
    ///         turn.add(stream, Interest::READABLE, |_stream, _turn| Ok(()))?;
    ///         turn.stop();
    ///     }
    ///     Ok(())
    /// })?;
    /// events.run()?;
    /// assert_eq!(events.len(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "accept4")]
    pub fn accept(&mut self) -> io::Result<Option<(L::Connection, L::Peer)>> {
        loop {
            let error = match self.input(|listener| listener.accept()) {
                Ok(accepted) => return Ok(accepted),
                Err(error) => error,
            };
            match Concern::of(&error) {
                Concern::OneConnection => {
                    let skipped = &self.run().skipped_accepts;
                    skipped.set(skipped.get().saturating_add(1));
                    self.run().note(Notes::ODD);
                }
                // Where that cannot be told either, a connection may wait.
                Concern::AllForNow if matches!(self.get_ref().has_waiting(), Ok(false)) => {
                    self.run().change(|account| account.block(Direction::Input));
                    return Ok(None);
                }
                Concern::AllForNow => {
                    let run = self.run();
                    run.accept_pauses.set(run.accept_pauses.get().saturating_add(1));
                    self.rest(Direction::Input, run.accept_pause);
                    return Ok(None);
                }
                Concern::TheListener => return Err(error),
            }
        }
    }
}

/// Whom an error of accept(2) concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Concern {
    OneConnection,
    AllForNow,
    TheListener,
}

impl Concern {
    fn of(error: &io::Error) -> Concern {
        match Errno::from_io_error(error) {
            // The connection went, or the firewall forbids it.
            Some(Errno::CONNABORTED | Errno::CONNRESET | Errno::PERM) => Concern::OneConnection,
            // The errors that accept(2) passes on from the new socket. It names EOPNOTSUPP twice: a
            // socket that is no stream fails with it each time, and is suspended for that.
            Some(
                Errno::NETDOWN
                | Errno::PROTO
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::OPNOTSUPP
                | Errno::NETUNREACH,
            ) => Concern::OneConnection,
            // "Various Linux kernels can return other errors", and what ip(7) and tcp(7) name
            // beside those.
            Some(
                Errno::NOSR
                | Errno::SOCKTNOSUPPORT
                | Errno::PROTONOSUPPORT
                | Errno::TIMEDOUT
                | Errno::CONNREFUSED
                | Errno::NETRESET,
            ) => Concern::OneConnection,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Concern::AllForNow,
            // Its own: EBADF, EFAULT, EINVAL, ENOTSOCK; and whatever the man page does not know.
            _ => Concern::TheListener,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_CONNECTION: [Errno; 17] = [
        Errno::CONNABORTED,
        Errno::CONNREFUSED,
        Errno::CONNRESET,
        Errno::HOSTDOWN,
        Errno::HOSTUNREACH,
        Errno::NETDOWN,
        Errno::NETRESET,
        Errno::NETUNREACH,
        Errno::NONET,
        Errno::NOPROTOOPT,
        Errno::NOSR,
        Errno::OPNOTSUPP,
        Errno::PERM,
        Errno::PROTO,
        Errno::PROTONOSUPPORT,
        Errno::SOCKTNOSUPPORT,
        Errno::TIMEDOUT,
    ];

    const ALL_FOR_NOW: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];

    /// Those that accept(2) names. Every number that is in no list is the listener's as well.
    const THE_LISTENER: [Errno; 4] = [Errno::BADF, Errno::FAULT, Errno::INVAL, Errno::NOTSOCK];

    #[test]
    fn e04_errors_of_one_connection_are_told_from_those_of_all() {
        // errno(3): the kernel returns no number beyond this one.
        for number in 1..=4095 {
            let errno = Errno::from_raw_os_error(number);
            let expected = if ONE_CONNECTION.contains(&errno) {
                Concern::OneConnection
            } else if ALL_FOR_NOW.contains(&errno) {
                Concern::AllForNow
            } else {
                Concern::TheListener
            };
            assert_eq!(Concern::of(&errno.into()), expected, "{errno:?}");
        }
        for errno in THE_LISTENER {
            assert_eq!(Concern::of(&errno.into()), Concern::TheListener, "{errno:?}");
        }
    }

    #[test]
    fn e04_an_error_without_a_number_is_the_listener_s() {
        assert_eq!(Concern::of(&io::Error::other("mine")), Concern::TheListener);
    }
}
