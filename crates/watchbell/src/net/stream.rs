//! Connections.

mod options;

use super::{Address, Received, Shutdown, ToAddress};
use crate::epoll::{ExclusiveTarget, Source};
use crate::kernel::{Borrowed, Descriptor, Linux, Sockets, number};
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

/// A source that is a [`Stream`], or holds one: [`Ready::recv`](crate::event_loop::Ready::recv) and
/// its fellows work on every such source.
///
/// A worker counts the sources of type [`Connection`](crate::workers::Connection) as owned, and no
/// other: a `Connection` that is wrapped in a source of another type works, and is not counted as
/// owned by its worker.
pub trait Socket {
    /// The kernel that it is on.
    type Kernel: Sockets;

    /// The stream.
    fn stream(&self) -> &Stream<Self::Kernel>;
}

impl Stream<Linux> {
    /// Begins to connect to whatever names an address ([`ToAddress`]), without waiting for it. No
    /// host name is looked up.
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
    /// let mut events = EventLoop::new()?;
    /// let stream = Stream::connect(listener.local_addr()?)?;
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
    /// `InvalidInput` if a text is no address. Otherwise those of
    /// [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html) and
    /// [connect(2)](https://man7.org/linux/man-pages/man2/connect.2.html), except `EINPROGRESS`. A
    /// Unix-domain socket is connected at once, or refused with `EAGAIN` if the listener's backlog
    /// is full.
    #[doc(alias = "EINPROGRESS")]
    pub fn connect(address: impl ToAddress) -> io::Result<Stream<Linux>> {
        Stream::connect_on(Linux, address)
    }
}

impl<K: Sockets> Stream<K> {
    /// As [`connect`](Stream::connect), on `kernel`.
    ///
    /// # Errors
    ///
    /// As [`connect`](Stream::connect), which has the example.
    #[doc(alias = "connect")]
    pub fn connect_on(kernel: K, address: impl ToAddress) -> io::Result<Stream<K>> {
        let address = address.to_address()?;
        let (fd, _connected) = kernel.connect(&address)?;
        Stream::set_up(kernel, fd, &address)
    }

    /// Takes over a connected stream socket and makes it non-blocking. A socket that keeps message
    /// boundaries is none: an empty message would look like end of file.
    ///
    /// # Errors
    ///
    /// Those of [getsockname(2)](https://man7.org/linux/man-pages/man2/getsockname.2.html):
    /// `ENOTSOCK` for another kind of descriptor; those of
    /// [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html) and
    /// [setsockopt(2)](https://man7.org/linux/man-pages/man2/setsockopt.2.html), of which none is
    /// expected. [`peer_address`](Stream::peer_address) has the example.
    #[doc(alias = "O_NONBLOCK")]
    #[doc(alias = "TCP_NODELAY")]
    pub fn adopt(kernel: K, fd: K::Fd) -> io::Result<Stream<K>> {
        let address = kernel.local_address(fd.borrow())?;
        kernel.set_nonblocking(fd.borrow())?;
        Stream::set_up(kernel, fd, &address)
    }

    fn set_up(kernel: K, fd: K::Fd, address: &Address) -> io::Result<Stream<K>> {
        if let Address::Inet(_) = address {
            kernel.set_nodelay(fd.borrow(), true)?;
        }
        kernel.report_left(fd.borrow(), address)?;
        Ok(Stream { kernel, fd })
    }

    pub(super) fn new(kernel: K, fd: K::Fd) -> Stream<K> {
        Stream { kernel, fd }
    }

    /// Reads once, and says what the kernel says is left, both in bytes.
    ///
    /// # Errors
    ///
    /// Those of [recvmsg(2)](https://man7.org/linux/man-pages/man2/recv.2.html); `WouldBlock` if
    /// nothing is there.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::io::IoSlice;
    /// # use std::os::fd::OwnedFd;
    /// # use std::os::unix::net::UnixStream;
    /// # use watchbell::net::{Shutdown, Stream};
    /// let (left, right) = UnixStream::pair()?;
    /// let left = Stream::try_from(OwnedFd::from(left))?;
    /// let right = Stream::try_from(OwnedFd::from(right))?;
    /// assert_eq!(left.send(&[IoSlice::new(b"ah"), IoSlice::new(b"oy")])?, 4);
    /// left.shutdown(Shutdown::Write)?;
    /// let mut buf = [0; 16];
    /// assert_eq!(right.recv(&mut buf)?.bytes, 4);
    /// assert_eq!(right.recv(&mut buf)?.bytes, 0); // end of file
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "recvmsg")]
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<Received> {
        self.kernel.recv(self.fd.borrow(), buf)
    }

    /// Writes once, as much as the kernel takes, without a `SIGPIPE` if the peer has gone. Returns
    /// how many bytes that was.
    ///
    /// # Errors
    ///
    /// Those of [sendmsg(2)](https://man7.org/linux/man-pages/man2/send.2.html); `WouldBlock` if
    /// there is no room, `EPIPE` or `ECONNRESET` if the peer has gone. [`recv`](Stream::recv) has
    /// the example.
    #[doc(alias = "sendmsg")]
    pub fn send(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.kernel.send(self.fd.borrow(), bufs)
    }

    /// Ends one half of the connection, or both.
    ///
    /// # Errors
    ///
    /// Those of [shutdown(2)](https://man7.org/linux/man-pages/man2/shutdown.2.html): `ENOTCONN`.
    /// [`recv`](Stream::recv) has the example.
    #[doc(alias = "SHUT_RD")]
    #[doc(alias = "SHUT_WR")]
    #[doc(alias = "SHUT_RDWR")]
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.kernel.shutdown(self.fd.borrow(), how)
    }

    /// Takes the pending error of the socket; the next look finds none.
    ///
    /// # Errors
    ///
    /// Those of [getsockopt(2)](https://man7.org/linux/man-pages/man2/getsockopt.2.html); none is
    /// expected. [`peer_address`](Stream::peer_address) has the example.
    #[doc(alias = "SO_ERROR")]
    #[doc(alias = "getsockopt")]
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.kernel.take_error(self.fd.borrow())
    }

    /// Our end's address.
    ///
    /// # Errors
    ///
    /// Those of [getsockname(2)](https://man7.org/linux/man-pages/man2/getsockname.2.html); none is
    /// expected. [`peer_address`](Stream::peer_address) has the example.
    #[doc(alias = "getsockname")]
    pub fn local_address(&self) -> io::Result<Address> {
        self.kernel.local_address(self.fd.borrow())
    }

    /// The peer's address.
    ///
    /// # Errors
    ///
    /// Those of [getpeername(2)](https://man7.org/linux/man-pages/man2/getpeername.2.html):
    /// `ENOTCONN` while a connection is in progress.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::net::{TcpListener, TcpStream};
    /// # use watchbell::kernel::Linux;
    /// # use watchbell::net::Stream;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let connected = TcpStream::connect(listener.local_addr()?)?;
    /// let stream = Stream::adopt(Linux, connected.into())?;
    /// assert_eq!(stream.peer_address()?, listener.local_addr()?.into());
    /// assert_ne!(stream.local_address()?, stream.peer_address()?);
    /// assert!(stream.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "getpeername")]
    pub fn peer_address(&self) -> io::Result<Address> {
        self.kernel.peer_address(self.fd.borrow())
    }
}

impl<K: Sockets> Socket for Stream<K> {
    type Kernel = K;

    fn stream(&self) -> &Stream<K> {
        self
    }
}

impl<K: Sockets> Source for Stream<K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.fd.borrow()
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

    /// [`Stream::adopt`] on the running kernel.
    ///
    /// # Errors
    ///
    /// As [`Stream::adopt`]. [`Stream::recv`] has an example.
    fn try_from(fd: OwnedFd) -> io::Result<Stream<Linux>> {
        Stream::adopt(Linux, fd)
    }
}

impl<K: Sockets> fmt::Debug for Stream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = number::<K>(self.fd.borrow());
        f.debug_struct("Stream").field("fd", &number).finish_non_exhaustive()
    }
}
