//! What can be registered.

use crate::kernel::Descriptor;
use crate::sync::Arc;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Stdin, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::rc::Rc;

/// Anything with a descriptor that an epoll instance can watch.
///
/// A source names the kind of its descriptor and not a kernel, so that every kernel with this kind
/// of descriptors takes it: on Linux that is [`OwnedFd`]. std's sockets, pipes and files are
/// sources, and so are this library's own types; another type with a descriptor becomes one inside
/// [`AnyFd`].
///
/// A type of your own says where its descriptor is:
///
/// ```
/// use std::net::TcpStream;
/// use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
/// use watchbell::epoll::{Epoll, Interest, Source};
///
/// struct Client {
///     stream: TcpStream,
///     name: String,
/// }
///
/// impl Source for Client {
///     type Fd = OwnedFd;
///
///     fn descriptor(&self) -> BorrowedFd<'_> {
///         self.stream.as_fd()
///     }
/// }
///
/// # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let stream = TcpStream::connect(listener.local_addr()?)?;
/// let epoll = Epoll::new()?;
/// let client = epoll.level(Client { stream, name: "ours".into() }, Interest::READABLE)?;
/// assert_eq!(client.get_ref().name, "ours");
/// # Ok::<(), std::io::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source",
    note = "a type of your own implements `Source`; somebody else's, if it is `AsFd`, becomes one \
            inside `watchbell::epoll::AnyFd`"
)]
pub trait Source {
    /// The kind of descriptor: that of the kernels that can watch it.
    type Fd: Descriptor;

    /// Whether every such source is non-blocking from the start, so that registering it
    /// edge-triggered need not make it so.
    const IS_NONBLOCKING: bool = false;

    /// The descriptor to watch; the same one for as long as the source is registered.
    fn descriptor(&self) -> <Self::Fd as Descriptor>::Borrowed<'_>;
}

/// Makes any type with a descriptor a [`Source`]: a serial port, another library's inotify.
///
/// It reads and writes as what it holds does.
///
/// ```
/// use std::os::fd::{AsFd, BorrowedFd};
/// use watchbell::epoll::{AnyFd, Epoll, Interest};
///
/// /// Somebody else's type, which knows nothing of this library.
/// struct Port(std::os::unix::net::UnixStream);
///
/// impl AsFd for Port {
///     fn as_fd(&self) -> BorrowedFd<'_> {
///         self.0.as_fd()
///     }
/// }
///
/// let (ours, _theirs) = std::os::unix::net::UnixStream::pair()?;
/// let epoll = Epoll::new()?;
/// let port = epoll.level(AnyFd(Port(ours)), Interest::WRITABLE)?;
/// let AnyFd(_port) = port.into_inner();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyFd<T: AsFd>(pub T);

impl<T: AsFd> Source for AnyFd<T> {
    type Fd = OwnedFd;

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<T: AsFd> AsFd for AnyFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<T: AsFd + Read> Read for AnyFd<T> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl<T: AsFd + Write> Write for AnyFd<T> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// std's types, each of which may be blocking.
macro_rules! std_sources {
    ($($type:ty),* $(,)?) => {$(
        impl Source for $type {
            type Fd = OwnedFd;

            fn descriptor(&self) -> BorrowedFd<'_> {
                self.as_fd()
            }
        }
    )*};
}

std_sources!(
    TcpListener,
    TcpStream,
    UdpSocket,
    UnixListener,
    UnixStream,
    UnixDatagram,
    PipeReader,
    PipeWriter,
    File,
    ChildStdin,
    ChildStdout,
    ChildStderr,
    Stdin,
    OwnedFd,
    BorrowedFd<'_>,
);

/// Whatever points to a source is that source.
macro_rules! pointers {
    ($($type:ty),* $(,)?) => {$(
        impl<S: Source + ?Sized> Source for $type {
            type Fd = S::Fd;

            const IS_NONBLOCKING: bool = S::IS_NONBLOCKING;

            fn descriptor(&self) -> <S::Fd as Descriptor>::Borrowed<'_> {
                (**self).descriptor()
            }
        }
    )*};
}

pointers!(&S, Arc<S>, Rc<S>, Box<S>);
