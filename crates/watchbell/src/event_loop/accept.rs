//! Accepting connections: which errors concern one of them, and which all.

use super::{Direction, Ready};
use crate::kernel::{Kernel, Linux};
use crate::sync::Arc;
use rustix::io::Errno;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{SocketAddr as UnixSocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// A listening socket.
pub trait Accept {
    /// What it accepts.
    type Connection;
    /// Who connected.
    type Peer;

    /// Takes one connection from the backlog, without blocking.
    ///
    /// # Errors
    ///
    /// Those of [accept(2)](https://man7.org/linux/man-pages/man2/accept.2.html); `WouldBlock` if the
    /// backlog is empty.
    fn accept(&self) -> io::Result<(Self::Connection, Self::Peer)>;

    /// Whether a connection waits in the backlog. Asked only when accept(2) has failed for want of
    /// descriptors or memory, which it does without looking at the backlog.
    ///
    /// # Errors
    ///
    /// Those of [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
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

impl<L: Accept> Ready<'_, L> {
    /// Accepts one connection. `None`: the backlog is empty, or the budget is spent, or accepting
    /// rests.
    ///
    /// An error of one connection (`ECONNABORTED`, `EPROTO`, a network error that was pending on
    /// it) is counted and skipped. When descriptors or memory have run out (`EMFILE`, `ENFILE`,
    /// `ENOBUFS`, `ENOMEM`), accepting rests for the loop's
    /// [`accept_pause`](super::Builder::accept_pause) and is tried again: the connections stay in
    /// the backlog, and no second edge will tell of them.
    ///
    /// # Errors
    ///
    /// Any other error of [accept(2)](https://man7.org/linux/man-pages/man2/accept.2.html), such as
    /// `EINVAL` from a socket that does not listen.
    #[doc(alias = "accept4")]
    pub fn accept(&mut self) -> io::Result<Option<(L::Connection, L::Peer)>> {
        loop {
            let error = match self.input(|listener| listener.accept()) {
                Ok(accepted) => return Ok(accepted),
                Err(error) => error,
            };
            match Concern::of(&error) {
                Concern::OneConnection => self.run().skipped_accepts += 1,
                // Where that cannot be told either, a connection may wait.
                Concern::AllForNow if matches!(self.get_ref().has_waiting(), Ok(false)) => {
                    self.run().directions.block(Direction::Input);
                    return Ok(None);
                }
                Concern::AllForNow => {
                    let pause = self.run().accept_pause;
                    self.run().accept_pauses += 1;
                    self.rest(Direction::Input, pause);
                    return Ok(None);
                }
                Concern::TheListener => return Err(error),
            }
        }
    }
}

/// Whom an error of accept(2) concerns.
#[derive(Debug, PartialEq, Eq)]
enum Concern {
    OneConnection,
    AllForNow,
    TheListener,
}

impl Concern {
    fn of(error: &io::Error) -> Concern {
        match Errno::from_io_error(error) {
            Some(
                Errno::CONNABORTED
                | Errno::PROTO
                | Errno::PERM
                | Errno::NETDOWN
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::OPNOTSUPP
                | Errno::NETUNREACH,
            ) => Concern::OneConnection,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Concern::AllForNow,
            _ => Concern::TheListener,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e04_errors_of_one_connection_are_told_from_those_of_all() {
        let of = |errno: Errno| Concern::of(&errno.into());
        assert_eq!(of(Errno::CONNABORTED), Concern::OneConnection);
        assert_eq!(of(Errno::PROTO), Concern::OneConnection);
        assert_eq!(of(Errno::NETUNREACH), Concern::OneConnection);
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert_eq!(of(errno), Concern::AllForNow);
        }
        assert_eq!(of(Errno::INVAL), Concern::TheListener);
        assert_eq!(of(Errno::BADF), Concern::TheListener);
    }
}
