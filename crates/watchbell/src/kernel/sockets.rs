//! What a kernel owes to [`net`](crate::net): the socket calls.

use super::{Address, Borrowed, Kernel};
use std::io::{self, IoSlice};
use std::time::Duration;

/// The socket calls. Every socket that they make is non-blocking and closed on exec.
pub trait Sockets: Kernel {
    /// socket(2), bind(2) and listen(2): a stream socket that accepts connections at `address`.
    ///
    /// TCP sockets get `SO_REUSEADDR`, so that a service can be started again at once.
    fn listen(&self, address: &Address, backlog: u32) -> io::Result<Self::Fd>;

    /// [accept4(2)](https://man7.org/linux/man-pages/man2/accept.2.html).
    fn accept(&self, listener: Borrowed<'_, Self>) -> io::Result<(Self::Fd, Address)>;

    /// socket(2) and [connect(2)](https://man7.org/linux/man-pages/man2/connect.2.html) of a stream
    /// socket. `true`: connected; `false`: in progress (`EINPROGRESS`), and output readiness will
    /// tell.
    fn connect(&self, address: &Address) -> io::Result<(Self::Fd, bool)>;

    /// Asks the kernel to say with each [`recv`](Sockets::recv) how much is left: `TCP_INQ` for an
    /// Internet address, `SO_INQ` for the others. `false`: it does not know how to.
    ///
    /// A Unix-domain socket is told to refuse descriptors (`SO_PASSRIGHTS`), where the kernel can:
    /// a stream of bytes has no use for them.
    fn report_left(&self, socket: Borrowed<'_, Self>, address: &Address) -> io::Result<bool>;

    /// [recvmsg(2)](https://man7.org/linux/man-pages/man2/recv.2.html), with the kernel's word on
    /// what is left where [`report_left`](Sockets::report_left) was granted.
    fn recv(&self, socket: Borrowed<'_, Self>, buf: &mut [u8]) -> io::Result<Received>;

    /// [sendmsg(2)](https://man7.org/linux/man-pages/man2/send.2.html) with `MSG_NOSIGNAL`.
    fn send(&self, socket: Borrowed<'_, Self>, bufs: &[IoSlice<'_>]) -> io::Result<usize>;

    /// [shutdown(2)](https://man7.org/linux/man-pages/man2/shutdown.2.html).
    fn shutdown(&self, socket: Borrowed<'_, Self>, how: Shutdown) -> io::Result<()>;

    /// The pending error of the socket, which this takes (`SO_ERROR` of socket(7)).
    fn take_error(&self, socket: Borrowed<'_, Self>) -> io::Result<Option<io::Error>>;

    /// `TCP_NODELAY` of tcp(7): send small writes at once.
    fn set_nodelay(&self, socket: Borrowed<'_, Self>, at_once: bool) -> io::Result<()>;

    /// `SO_LINGER` of socket(7), in whole seconds, rounded up: what close(2) does with output that
    /// the peer has not acknowledged.
    fn set_linger(&self, socket: Borrowed<'_, Self>, linger: Option<Duration>) -> io::Result<()>;

    /// `SO_KEEPALIVE` of socket(7), and where it is on, `TCP_KEEPIDLE` of tcp(7), in whole seconds,
    /// rounded up.
    fn set_keepalive(&self, socket: Borrowed<'_, Self>, idle: Option<Duration>) -> io::Result<()>;

    /// getsockname(2).
    fn local_address(&self, socket: Borrowed<'_, Self>) -> io::Result<Address>;

    /// getpeername(2); `ENOTCONN` while a connection is in progress.
    fn peer_address(&self, socket: Borrowed<'_, Self>) -> io::Result<Address>;

    /// socket(2) and bind(2) of a datagram socket.
    fn bind_datagram(&self, address: &Address) -> io::Result<Self::Fd>;

    /// recvfrom(2) of one datagram: its whole length, which is more than `buf.len()` where the
    /// kernel cut it to the buffer (`MSG_TRUNC`), and its sender.
    fn recv_from(&self, socket: Borrowed<'_, Self>, buf: &mut [u8])
    -> io::Result<(usize, Address)>;

    /// sendto(2) of one datagram.
    fn send_to(
        &self,
        socket: Borrowed<'_, Self>,
        buf: &[u8],
        address: &Address,
    ) -> io::Result<usize>;
}

/// What one [`Sockets::recv`] brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// How many bytes were read. Zero from a stream into a non-empty buffer: end of file.
    pub bytes: usize,
    /// What the kernel says is left to read, in bytes; a TCP socket says 1 for a pending end of
    /// file. `None`: it was not asked or did not say.
    pub left: Option<usize>,
}

/// Which half of a connection [`Sockets::shutdown`] ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// No more input (`SHUT_RD`).
    Read,
    /// No more output: the peer reads end of file (`SHUT_WR`).
    Write,
    /// Neither (`SHUT_RDWR`).
    Both,
}
