//! Datagram sockets.

mod ready;
mod sent;

pub use sent::Sent;

use super::{Address, ToAddress};
use crate::epoll::{ExclusiveTarget, Source};
use crate::kernel::{Borrowed, Descriptor, Linux, Sockets, number};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A UDP or Unix-domain datagram socket.
///
/// One socket serves many peers, and what is wrong with one of them is no reason to end the service
/// for all: [`Ready::send_to`](crate::event_loop::Ready::send_to) says what came of the datagram
/// ([`Sent`]), and only an error of the socket itself is an `Err`.
///
/// ```
/// use watchbell::epoll::Interest;
/// use watchbell::event_loop::EventLoop;
/// use watchbell::net::{Datagram, Sent};
///
/// let (server, client) = (Datagram::bind("127.0.0.1:0")?, Datagram::bind("127.0.0.1:0")?);
/// client.send_to(b"ahoy", server.local_address()?)?;
///
/// let mut events = EventLoop::with(0)?;
/// events.add(server, Interest::READABLE, |server, turn| {
///     let mut buf = [0; 1500];
///     while let Some(incoming) = server.recv_from(&mut buf)? {
///         let peer = &incoming.from;
///         match server.send_to(&buf[..incoming.bytes], peer)? {
///             Sent::Whole => {}
///             // As with any datagram, an answer may get lost. Who misses it asks again.
///             Sent::NotNow | Sent::PeerFull => *turn.state() += 1,
///             Sent::Refused(error) => eprintln!("{peer} is not answered: {error}"),
///         }
///         # turn.stop();
///     }
///     Ok(())
/// })?;
/// events.run()?;
/// let lost_answers = events.into_state();
/// # assert_eq!(lost_answers, 0);
/// # let mut buf = [0; 8];
/// # assert_eq!(client.recv_from(&mut buf)?.bytes, 4);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Datagram<K: Sockets = Linux> {
    kernel: K,
    fd: K::Fd,
    skipped_errors: u64,
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
        Ok(Datagram { kernel, fd, skipped_errors: 0 })
    }

    /// Where it is bound.
    ///
    /// # Errors
    ///
    /// Those of [getsockname(2)](https://man7.org/linux/man-pages/man2/getsockname.2.html); none is
    /// expected. The [type](Datagram) has the example.
    #[doc(alias = "getsockname")]
    pub fn local_address(&self) -> io::Result<Address> {
        self.kernel.local_address(self.fd.borrow())
    }

    /// How many errors of single peers
    /// [`Ready::recv_from`](crate::event_loop::Ready::recv_from) has skipped.
    pub fn skipped_errors(&self) -> u64 {
        self.skipped_errors
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
        let (length, from) = self.kernel.recv_from(self.fd.borrow(), buf)?;
        let bytes = length.min(buf.len());
        Ok(Incoming { bytes, cut: length - bytes, from })
    }

    /// Sends one datagram, whole, to whatever names an address ([`ToAddress`]; `&Address` is the
    /// cheap way), and returns its length in bytes.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a text is no address. Otherwise those of
    /// [sendto(2)](https://man7.org/linux/man-pages/man2/send.2.html), of which most concern one
    /// peer: `WouldBlock` if there is no room, here or in the queue of a Unix-domain peer,
    /// `EMSGSIZE` if it is too long, `ECONNREFUSED` if a Unix-domain peer has gone.
    /// [`recv_from`](Datagram::recv_from) has the example.
    #[doc(alias = "sendto")]
    pub fn send_to(&self, buf: &[u8], to: impl ToAddress) -> io::Result<usize> {
        self.kernel.send_to(self.fd.borrow(), buf, &*to.to_address()?)
    }
}

impl<K: Sockets> Source for Datagram<K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.fd.borrow()
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
        let number = number::<K>(self.fd.borrow());
        f.debug_struct("Datagram").field("fd", &number).finish_non_exhaustive()
    }
}
