//! Listening sockets.

use super::{Address, Stream, ToAddress};
use crate::epoll::{ExclusiveTarget, Source};
use crate::event_loop::Accept;
use crate::kernel::{Borrowed, Descriptor, Linux, Sockets, number};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A TCP or Unix-domain socket that accepts connections.
///
/// Several loops share one behind an [`Arc`](crate::sync::Arc): a duplicate of the descriptor would
/// be another registration of the same open file, and closing one would leave the other's events
/// behind.
///
/// The connections of a TCP listener send small writes at once (`TCP_NODELAY`).
pub struct Listener<K: Sockets = Linux> {
    kernel: K,
    fd: K::Fd,
    is_tcp: bool,
}

impl Listener<Linux> {
    /// Binds and listens at `address`: a text such as `"127.0.0.1:7007"` or `"unix:/run/echo"`, a
    /// `SocketAddr`, a path, or whatever else names an address ([`ToAddress`]). At most `backlog`
    /// connections wait to be accepted, or fewer if `/proc/sys/net/core/somaxconn` is lower.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a text is no address; no host name is looked up. Otherwise those of [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html),
    /// [bind(2)](https://man7.org/linux/man-pages/man2/bind.2.html) and
    /// [listen(2)](https://man7.org/linux/man-pages/man2/listen.2.html), `EADDRINUSE` and `EACCES`
    /// among them.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::io::ErrorKind;
    /// # use watchbell::net::Listener;
    /// let listener = Listener::bind("127.0.0.1:0", 128)?; // on any free port
    /// assert_ne!(listener.port()?, Some(0));
    /// let refused = Listener::bind(listener.local_address()?, 128).unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "listen")]
    #[doc(alias = "somaxconn")]
    pub fn bind(address: impl ToAddress, backlog: u32) -> io::Result<Listener<Linux>> {
        Listener::bind_on(Linux, address, backlog)
    }
}

impl<K: Sockets> Listener<K> {
    /// As [`bind`](Listener::bind), on `kernel`.
    ///
    /// # Errors
    ///
    /// As [`bind`](Listener::bind), which has the example.
    #[doc(alias = "listen")]
    pub fn bind_on(kernel: K, address: impl ToAddress, backlog: u32) -> io::Result<Listener<K>> {
        let address = address.to_address()?;
        let fd = kernel.listen(&address, backlog)?;
        Listener::set_up(kernel, fd, &address)
    }

    /// Takes over a socket that listens already, such as one that a service manager passed, and
    /// makes it non-blocking.
    ///
    /// The connections that wait in its backlog already were made without `TCP_NODELAY`, and are
    /// read until `EAGAIN`.
    ///
    /// # Errors
    ///
    /// Those of [getsockname(2)](https://man7.org/linux/man-pages/man2/getsockname.2.html):
    /// `ENOTSOCK` for another kind of descriptor; those of
    /// [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html) and
    /// [setsockopt(2)](https://man7.org/linux/man-pages/man2/setsockopt.2.html), of which none is
    /// expected. That the socket does not listen is found by the first accept(2): `EINVAL`.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::net::TcpListener;
    /// # use watchbell::kernel::Linux;
    /// # use watchbell::net::Listener;
    /// let inherited = TcpListener::bind("127.0.0.1:0")?;
    /// let address = inherited.local_addr()?;
    /// let listener = Listener::adopt(Linux, inherited.into())?;
    /// assert_eq!(listener.local_address()?, address.into());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "O_NONBLOCK")]
    #[doc(alias = "TCP_NODELAY")]
    pub fn adopt(kernel: K, fd: K::Fd) -> io::Result<Listener<K>> {
        let address = kernel.local_address(fd.borrow())?;
        kernel.set_nonblocking(fd.borrow())?;
        Listener::set_up(kernel, fd, &address)
    }

    fn set_up(kernel: K, fd: K::Fd, address: &Address) -> io::Result<Listener<K>> {
        let is_tcp = matches!(address, Address::Inet(_));
        // What is set here is inherited by what it accepts, which saves calls a connection; of a
        // Unix-domain socket that is the refusal of descriptors, from its first byte on.
        if is_tcp {
            kernel.set_nodelay(fd.borrow(), true)?;
        }
        kernel.report_left(fd.borrow(), address)?;
        Ok(Listener { kernel, fd, is_tcp })
    }

    /// Where it listens: with the real port where port 0 was asked for.
    ///
    /// # Errors
    ///
    /// Those of [getsockname(2)](https://man7.org/linux/man-pages/man2/getsockname.2.html); none is
    /// expected. [`bind`](Listener::bind) has the example.
    #[doc(alias = "getsockname")]
    pub fn local_address(&self) -> io::Result<Address> {
        self.kernel.local_address(self.fd.borrow())
    }

    /// The port on which it listens, the real one where port 0 was asked for; `None` of a
    /// Unix-domain socket.
    ///
    /// # Errors
    ///
    /// As [`local_address`](Listener::local_address). [`bind`](Listener::bind) has the example.
    #[doc(alias = "getsockname")]
    pub fn port(&self) -> io::Result<Option<u16>> {
        Ok(self.local_address()?.port())
    }
}

impl<K: Sockets> Accept for Listener<K> {
    type Connection = Stream<K>;
    type Peer = Address;

    fn accept(&self) -> io::Result<(Stream<K>, Address)> {
        let (fd, peer) = self.kernel.accept(self.fd.borrow())?;
        if !self.is_tcp {
            // Where it is refused, reading goes on until EAGAIN.
            let _ = self.kernel.report_left(fd.borrow(), &peer);
        }
        Ok((Stream::new(self.kernel.clone(), fd), peer))
    }

    fn has_waiting(&self) -> io::Result<bool> {
        self.kernel.poll_readable(self.fd.borrow(), Some(Duration::ZERO))
    }
}

impl<K: Sockets> Source for Listener<K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.fd.borrow()
    }
}

impl<K: Sockets> ExclusiveTarget for Listener<K> {}

impl<K: Sockets> AsFd for Listener<K>
where
    K::Fd: AsFd,
{
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl TryFrom<OwnedFd> for Listener<Linux> {
    type Error = io::Error;

    /// [`Listener::adopt`] on the running kernel.
    ///
    /// # Errors
    ///
    /// As [`Listener::adopt`], which has the example.
    fn try_from(fd: OwnedFd) -> io::Result<Listener<Linux>> {
        Listener::adopt(Linux, fd)
    }
}

impl<K: Sockets> fmt::Debug for Listener<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = number::<K>(self.fd.borrow());
        f.debug_struct("Listener").field("fd", &number).finish_non_exhaustive()
    }
}
