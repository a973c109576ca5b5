//! What can be set on a connection, and its end by force.

use super::Stream;
use crate::kernel::{Descriptor, Sockets};
use std::io;
use std::time::Duration;

impl<K: Sockets> Stream<K> {
    /// Whether small writes are sent at once (`true`, which every TCP stream of this library begins
    /// with) or gathered while earlier ones are not acknowledged.
    ///
    /// # Errors
    ///
    /// Those of [setsockopt(2)](https://man7.org/linux/man-pages/man2/setsockopt.2.html):
    /// `EOPNOTSUPP` of a Unix-domain stream, which knows of no such thing. See
    /// [tcp(7)](https://man7.org/linux/man-pages/man7/tcp.7.html).
    ///
    /// # Example
    ///
    /// ```
    /// # use std::{net::TcpListener, time::Duration};
    /// # use watchbell::net::Stream;
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// # let address = listener.local_addr()?;
    /// let stream = Stream::connect(address)?;
    /// stream.set_nodelay(false)?; // one large answer in many small writes
    /// stream.set_keepalive(Some(Duration::from_secs(60)))?; // find out that the peer is gone
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "TCP_NODELAY")]
    pub fn set_nodelay(&self, at_once: bool) -> io::Result<()> {
        self.kernel.set_nodelay(self.fd.borrow(), at_once)
    }

    /// Asks a peer that has been silent for so long whether it is there; `None`: never. A peer that
    /// does not answer ends the connection with `ETIMEDOUT`. The time is in whole seconds, rounded
    /// up, from 1 to 32,767.
    ///
    /// How often it is asked, and at what intervals, is the system's `tcp_keepalive_probes` and
    /// `tcp_keepalive_intvl`; see [tcp(7)](https://man7.org/linux/man-pages/man7/tcp.7.html).
    ///
    /// # Errors
    ///
    /// Those of [setsockopt(2)](https://man7.org/linux/man-pages/man2/setsockopt.2.html): `EINVAL`
    /// if the time is not within its limits, `EOPNOTSUPP` of a Unix-domain stream, whose peer
    /// cannot go unnoticed. [`set_nodelay`](Stream::set_nodelay) has the example.
    #[doc(alias = "SO_KEEPALIVE")]
    #[doc(alias = "TCP_KEEPIDLE")]
    pub fn set_keepalive(&self, idle: Option<Duration>) -> io::Result<()> {
        self.kernel.set_keepalive(self.fd.borrow(), idle)
    }

    /// What closing does with output that the peer has not acknowledged; see
    /// [socket(7)](https://man7.org/linux/man-pages/man7/socket.7.html).
    ///
    /// - `None`, the default: the kernel goes on sending it after the close, which returns at once.
    /// - `Some(Duration::ZERO)`: it is thrown away, and the peer of a TCP connection is told by a
    ///   reset. So a relay passes on a reset that it has met, from a handler too: set this, then
    ///   [close](crate::event_loop::Turn::close). [`abort`](Stream::abort) does both.
    /// - Any other time, in whole seconds, rounded up: close(2) *blocks the thread* for so long,
    ///   also of a non-blocking socket. In a loop that stops every other source;
    ///   [`Ready::drain_input`](crate::event_loop::Ready::drain_input) shows an end that does not.
    ///
    /// A Unix-domain stream takes it and heeds it not.
    ///
    /// # Errors
    ///
    /// Those of [setsockopt(2)](https://man7.org/linux/man-pages/man2/setsockopt.2.html); none is
    /// expected.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::{io::Read, net::TcpListener, os::fd::OwnedFd, time::Duration};
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop, net::Stream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// # let client = std::net::TcpStream::connect(listener.local_addr()?)?;
    /// # let stream = Stream::try_from(OwnedFd::from(listener.accept()?.0))?;
    /// let mut events = EventLoop::new()?;
    /// events.add(stream, Interest::WRITABLE, |stream, turn| {
    ///     stream.get_ref().set_linger(Some(Duration::ZERO))?;
    ///     # turn.stop();
    ///     turn.close() // by a reset
    /// })?;
    /// events.run()?;
    /// # let reset = (&client).read(&mut [0; 8]).unwrap_err();
    /// # assert_eq!(reset.kind(), std::io::ErrorKind::ConnectionReset);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "SO_LINGER")]
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.kernel.set_linger(self.fd.borrow(), linger)
    }

    /// Ends the connection by force: what was not sent is thrown away, and the peer of a TCP
    /// connection sees a reset (`ECONNRESET`) instead of an end of file. The peer of a Unix-domain
    /// stream sees one only if it had sent something that was not read.
    ///
    /// In a handler the loop owns the stream: see [`set_linger`](Stream::set_linger).
    ///
    /// # Errors
    ///
    /// As [`set_linger`](Stream::set_linger); the connection is closed all the same.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::io::{ErrorKind, Read};
    /// # use std::net::{TcpListener, TcpStream};
    /// # use std::os::fd::OwnedFd;
    /// # use watchbell::net::Stream;
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut client = TcpStream::connect(listener.local_addr()?)?;
    /// let stream = Stream::try_from(OwnedFd::from(listener.accept()?.0))?;
    /// stream.abort()?;
    /// let reset = client.read(&mut [0; 8]).unwrap_err();
    /// assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "SO_LINGER")]
    #[doc(alias = "RST")]
    pub fn abort(self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }
}
