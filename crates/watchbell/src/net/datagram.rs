//! Datagram sockets.

use super::{Address, ToAddress};
use crate::epoll::{ExclusiveTarget, Own};
use crate::event_loop::{After, Direction, Ready};
use crate::kernel::{Kernel, Linux, Sockets};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A UDP or Unix-domain datagram socket.
///
/// ```
/// use watchbell::epoll::Interest;
/// use watchbell::event_loop::EventLoop;
/// use watchbell::net::Datagram;
///
/// let (server, client) = (Datagram::bind("127.0.0.1:0")?, Datagram::bind("127.0.0.1:0")?);
/// client.send_to(b"ahoy", server.local_address()?)?;
///
/// let mut events: EventLoop = EventLoop::new()?;
/// events.add(server, Interest::READABLE, |server, turn| {
///     let mut buf = [0; 1500];
///     while let Some(incoming) = server.recv_from(&mut buf)? {
///         assert_eq!(&buf[..incoming.bytes], b"ahoy");
///         server.send_to(&buf[..incoming.bytes], &incoming.from)?;
///         turn.stop();
///     }
///     Ok(())
/// })?;
/// events.run()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Datagram<K: Sockets = Linux> {
    kernel: K,
    fd: K::Fd,
}

/// A datagram that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// How many bytes of it are in the buffer. A datagram may be empty; that is not end of file.
    pub bytes: usize,
    /// How many bytes the kernel has thrown away, because the buffer was shorter than the datagram.
    pub cut: usize,
    /// Who sent it.
    pub from: Address,
}

impl Datagram<Linux> {
    /// A socket at `address`, or at whatever names one ([`ToAddress`]). No host name is looked up.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a text is no address. Otherwise those of [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html) and
    /// [bind(2)](https://man7.org/linux/man-pages/man2/bind.2.html), `EADDRINUSE` and `EACCES`
    /// among them. The [type](Datagram) has the example.
    #[doc(alias = "SOCK_DGRAM")]
    pub fn bind(address: impl ToAddress) -> io::Result<Datagram<Linux>> {
        Datagram::bind_on(Linux, address)
    }
}

impl<K: Sockets> Datagram<K> {
    /// As [`bind`](Datagram::bind), on `kernel`.
    ///
    /// # Errors
    ///
    /// As [`bind`](Datagram::bind). The [type](Datagram) has the example.
    #[doc(alias = "SOCK_DGRAM")]
    pub fn bind_on(kernel: K, address: impl ToAddress) -> io::Result<Datagram<K>> {
        let fd = kernel.bind_datagram(&*address.to_address()?)?;
        Ok(Datagram { kernel, fd })
    }

    /// Where it is bound.
    ///
    /// # Errors
    ///
    /// Those of [getsockname(2)](https://man7.org/linux/man-pages/man2/getsockname.2.html); none is
    /// expected. The [type](Datagram) has the example.
    #[doc(alias = "getsockname")]
    pub fn local_address(&self) -> io::Result<Address> {
        self.kernel.local_address(K::borrow(&self.fd))
    }

    /// Receives one datagram. What is longer than `buf` is thrown away by the kernel, and counted,
    /// in bytes, by [`Incoming::cut`].
    ///
    /// # Errors
    ///
    /// Those of [recvfrom(2)](https://man7.org/linux/man-pages/man2/recv.2.html); `WouldBlock` if
    /// none is there.
    ///
    /// # Example
    ///
    /// ```
    /// # use watchbell::net::{Address, Datagram};
    /// let name = format!("watchbell-datagram-{}", std::process::id());
    /// let address = Address::Abstract(name.into_bytes());
    /// let socket = Datagram::bind(&address)?;
    /// assert_eq!(socket.send_to(b"ahoy there", &address)?, 10);
    /// let mut buf = [0; 4];
    /// let incoming = socket.recv_from(&mut buf)?;
    /// assert_eq!((&buf, incoming.bytes, incoming.cut), (b"ahoy", 4, 6));
    /// assert_eq!(incoming.from, address);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "recvfrom")]
    #[doc(alias = "MSG_TRUNC")]
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<Incoming> {
        let (length, from) = self.kernel.recv_from(K::borrow(&self.fd), buf)?;
        let bytes = length.min(buf.len());
        Ok(Incoming { bytes, cut: length - bytes, from })
    }

    /// Sends one datagram, whole, and returns its length in bytes.
    ///
    /// # Errors
    ///
    /// Those of [sendto(2)](https://man7.org/linux/man-pages/man2/send.2.html); `WouldBlock` if
    /// there is no room, `EMSGSIZE` if it is too long. [`recv_from`](Datagram::recv_from) has the
    /// example.
    #[doc(alias = "sendto")]
    pub fn send_to(&self, buf: &[u8], to: impl ToAddress) -> io::Result<usize> {
        self.kernel.send_to(K::borrow(&self.fd), buf, &*to.to_address()?)
    }
}

impl<K: Sockets> Ready<'_, Datagram<K>> {
    /// Receives one datagram, and charges one message. `None`: there is no more in this turn.
    ///
    /// # Errors
    ///
    /// Those of [recvfrom(2)](https://man7.org/linux/man-pages/man2/recv.2.html), except
    /// `WouldBlock`. The [type](Datagram) has the example.
    #[doc(alias = "recvfrom")]
    pub fn recv_from(&mut self, buf: &mut [u8]) -> io::Result<Option<Incoming>> {
        let incoming = self.step(
            Direction::Input,
            |socket| socket.recv_from(buf),
            |incoming| (incoming.bytes, After::More),
        )?;
        if incoming.is_some() {
            self.charge(1);
        }
        Ok(incoming)
    }

    /// Sends one datagram, whole. `None`: there is no room, or no more in this turn, and the
    /// handler is run again when there is.
    ///
    /// A Unix-domain receiver whose queue is full is a case apart. The kernel tells of room in our
    /// own queue only, and does so after each refused attempt: the handler is run each turn until
    /// the receiver has read. If that may take long, let the output [`rest`](Ready::rest).
    ///
    /// # Errors
    ///
    /// Those of [sendto(2)](https://man7.org/linux/man-pages/man2/send.2.html), except
    /// `WouldBlock`: `EMSGSIZE` if it is too long. The [type](Datagram) has the example.
    #[doc(alias = "sendto")]
    pub fn send_to(&mut self, buf: &[u8], to: &Address) -> io::Result<Option<usize>> {
        self.step(Direction::Output, |socket| socket.send_to(buf, to), |sent| (*sent, After::More))
    }
}

impl<K: Sockets> Own<K> for Datagram<K> {
    fn own_descriptor(&self) -> K::Borrowed<'_> {
        K::borrow(&self.fd)
    }
}

impl<K: Sockets> ExclusiveTarget for Datagram<K> {}

impl<K: Sockets> AsFd for Datagram<K>
where
    K::Fd: AsFd,
{
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl<K: Sockets> fmt::Debug for Datagram<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = <K as Kernel>::number(K::borrow(&self.fd));
        f.debug_struct("Datagram").field("fd", &number).finish_non_exhaustive()
    }
}
