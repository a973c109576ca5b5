//! Connections.

use super::{Address, Received, Shutdown};
use crate::epoll::{ExclusiveTarget, Own};
use crate::kernel::{Kernel, Linux, Sockets};
use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A connected stream socket, TCP or Unix-domain, or one that is being connected.
///
/// Its own methods make one system call each. In a loop, input and output go through
/// [`Ready`](crate::event_loop::Ready), which keeps account of what they say.
pub struct Stream<K: Sockets = Linux> {
    kernel: K,
    fd: K::Fd,
}

/// A source that is a [`Stream`], or holds one.
pub trait Socket {
    /// The kernel that it is on.
    type Kernel: Sockets;

    /// The stream.
    fn stream(&self) -> &Stream<Self::Kernel>;
}

impl Stream<Linux> {
    /// Begins to connect, without waiting for it.
    ///
    /// Register the stream for input and output, and ask
    /// [`Ready::connected`](crate::event_loop::Ready::connected) first in its handler.
    ///
    /// ```
    /// use std::net::TcpListener;
    /// use watchbell::epoll::Interest;
    /// use watchbell::event_loop::EventLoop;
    /// use watchbell::net::{Output, Stream};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut events: EventLoop = EventLoop::new()?;
    /// let stream = Stream::connect(&listener.local_addr()?.into())?;
    /// events.add(stream, Interest::READABLE | Interest::WRITABLE, |stream, turn| {
    ///     if stream.connected()?.is_none() {
    ///         return Ok(()); // still in progress
    ///     }
    ///     stream.send(&mut Output::default(), b"ahoy")?;
    ///     turn.stop();
    ///     Ok(())
    /// })?;
    /// events.run()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html) and
    /// [connect(2)](https://man7.org/linux/man-pages/man2/connect.2.html), except `EINPROGRESS`. A
    /// Unix-domain socket is connected at once, or refused with `EAGAIN` if the listener's backlog
    /// is full.
    pub fn connect(address: &Address) -> io::Result<Stream<Linux>> {
        Stream::connect_on(Linux, address)
    }
}

impl<K: Sockets> Stream<K> {
    /// As [`connect`](Stream::connect), on `kernel`.
    ///
    /// # Errors
    ///
    /// As [`connect`](Stream::connect).
    pub fn connect_on(kernel: K, address: &Address) -> io::Result<Stream<K>> {
        let (fd, _connected) = kernel.connect(address)?;
        Stream::set_up(kernel, fd, address)
    }

    /// Takes over a connected stream socket and makes it non-blocking. A socket that keeps message
    /// boundaries is none: an empty message would look like end of file.
    ///
    /// # Errors
    ///
    /// Those of [getsockname(2)](https://man7.org/linux/man-pages/man2/getsockname.2.html): `ENOTSOCK`
    /// for another kind of descriptor.
    pub fn adopt(kernel: K, fd: K::Fd) -> io::Result<Stream<K>> {
        let address = kernel.local_address(K::borrow(&fd))?;
        kernel.set_nonblocking(K::borrow(&fd))?;
        Stream::set_up(kernel, fd, &address)
    }

    fn set_up(kernel: K, fd: K::Fd, address: &Address) -> io::Result<Stream<K>> {
        if let Address::Inet(_) = address {
            kernel.set_nodelay(K::borrow(&fd))?;
        }
        kernel.report_left(K::borrow(&fd), address)?;
        Ok(Stream { kernel, fd })
    }

    pub(super) fn new(kernel: K, fd: K::Fd) -> Stream<K> {
        Stream { kernel, fd }
    }

    /// Reads once, and says what the kernel says is left.
    ///
    /// # Errors
    ///
    /// Those of [recvmsg(2)](https://man7.org/linux/man-pages/man2/recv.2.html); `WouldBlock` if
    /// nothing is there.
    #[doc(alias = "recvmsg")]
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<Received> {
        self.kernel.recv(K::borrow(&self.fd), buf)
    }

    /// Writes once, as much as the kernel takes, without a `SIGPIPE` if the peer has gone.
    ///
    /// # Errors
    ///
    /// Those of [sendmsg(2)](https://man7.org/linux/man-pages/man2/send.2.html); `WouldBlock` if there
    /// is no room.
    #[doc(alias = "sendmsg")]
    pub fn send(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.kernel.send(K::borrow(&self.fd), bufs)
    }

    /// Ends one half of the connection, or both.
    ///
    /// # Errors
    ///
    /// Those of [shutdown(2)](https://man7.org/linux/man-pages/man2/shutdown.2.html): `ENOTCONN`.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.kernel.shutdown(K::borrow(&self.fd), how)
    }

    /// Takes the pending error of the socket.
    ///
    /// # Errors
    ///
    /// Those of [getsockopt(2)](https://man7.org/linux/man-pages/man2/getsockopt.2.html); none is
    /// expected.
    #[doc(alias = "SO_ERROR")]
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.kernel.take_error(K::borrow(&self.fd))
    }

    /// Our end's address.
    ///
    /// # Errors
    ///
    /// Those of [getsockname(2)](https://man7.org/linux/man-pages/man2/getsockname.2.html); none is
    /// expected.
    #[doc(alias = "getsockname")]
    pub fn local_address(&self) -> io::Result<Address> {
        self.kernel.local_address(K::borrow(&self.fd))
    }

    /// The peer's address.
    ///
    /// # Errors
    ///
    /// Those of [getpeername(2)](https://man7.org/linux/man-pages/man2/getpeername.2.html): `ENOTCONN`
    /// while a connection is in progress.
    #[doc(alias = "getpeername")]
    pub fn peer_address(&self) -> io::Result<Address> {
        self.kernel.peer_address(K::borrow(&self.fd))
    }
}

impl<K: Sockets> Socket for Stream<K> {
    type Kernel = K;

    fn stream(&self) -> &Stream<K> {
        self
    }
}

impl<K: Sockets> Own<K> for Stream<K> {
    fn own_descriptor(&self) -> K::Borrowed<'_> {
        K::borrow(&self.fd)
    }
}

impl<K: Sockets> ExclusiveTarget for Stream<K> {}

impl<K: Sockets> AsFd for Stream<K>
where
    K::Fd: AsFd,
{
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl TryFrom<OwnedFd> for Stream<Linux> {
    type Error = io::Error;

    fn try_from(fd: OwnedFd) -> io::Result<Stream<Linux>> {
        Stream::adopt(Linux, fd)
    }
}

impl<K: Sockets> fmt::Debug for Stream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = <K as Kernel>::number(K::borrow(&self.fd));
        f.debug_struct("Stream").field("fd", &number).finish_non_exhaustive()
    }
}
