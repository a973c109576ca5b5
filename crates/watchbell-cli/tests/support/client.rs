//! Clients over TCP and Unix-domain sockets, as one type.

use super::PATIENCE;
use super::random::Random;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Target {
    pub fn parse(text: &str) -> Option<Target> {
        match text.strip_prefix("unix:") {
            Some(path) => Some(Target::Unix(path.into())),
            None => text.parse().ok().map(Target::Tcp),
        }
    }

    pub fn port(&self) -> u16 {
        match self {
            Target::Tcp(address) => address.port(),
            Target::Unix(path) => panic!("{} has no port", path.display()),
        }
    }

    #[track_caller]
    pub fn connect(&self) -> Client {
        self.try_connect().expect("the server listens")
    }

    pub fn try_connect(&self) -> io::Result<Client> {
        let client = match self {
            Target::Tcp(address) => Client::Tcp(TcpStream::connect(address)?),
            Target::Unix(path) => Client::Unix(UnixStream::connect(path)?),
        };
        client.bound_waits()?;
        Ok(client)
    }

    /// A client whose socket buffers hold about `size` bytes each.
    pub fn connect_small(&self, size: usize) -> io::Result<Client> {
        let family = match self {
            Target::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Target::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Target::Unix(_) => AddressFamily::UNIX,
        };
        let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_recv_buffer_size(&socket, size)?;
        sockopt::set_socket_send_buffer_size(&socket, size)?;
        let client = match self {
            Target::Tcp(address) => {
                net::connect(&socket, address)?;
                Client::Tcp(TcpStream::from(socket))
            }
            Target::Unix(path) => {
                net::connect(&socket, &SocketAddrUnix::new(path.as_path())?)?;
                Client::Unix(UnixStream::from(socket))
            }
        };
        client.bound_waits()?;
        Ok(client)
    }
}

/// A connection to a server, blocking, each wait bounded by [`PATIENCE`].
#[derive(Debug)]
pub enum Client {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Client {
    fn bound_waits(&self) -> io::Result<()> {
        match self {
            Client::Tcp(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)
            }
            Client::Unix(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))
            }
        }
    }

    pub fn set_nonblocking(&self, nonblocking: bool) {
        match self {
            Client::Tcp(stream) => stream.set_nonblocking(nonblocking),
            Client::Unix(stream) => stream.set_nonblocking(nonblocking),
        }
        .expect("an open socket")
    }

    /// Ends the output half; the server reads end of file after the bytes sent before.
    pub fn half_close(&self) {
        match self {
            Client::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Client::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
        .expect("a connected socket")
    }

    /// Closes by a reset (`SO_LINGER` of zero), which a Unix-domain socket has not: that one just
    /// closes, and unread bytes make it a reset for the peer.
    pub fn reset(self) {
        sockopt::set_socket_linger(self.as_fd(), Some(Duration::ZERO)).expect("an open socket");
    }

    /// Sends `bytes` and reads as many back, which have to be the same.
    #[track_caller]
    pub fn exchange(&mut self, bytes: &[u8]) {
        self.try_exchange(bytes).expect("the server answers");
    }

    /// The same, for a server that may be ending. Different bytes still fail the test.
    #[track_caller]
    pub fn try_exchange(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)?;
        let mut back = vec![0; bytes.len()];
        self.read_exact(&mut back)?;
        assert!(back == bytes, "the bytes came back changed");
        Ok(())
    }

    /// Everything until end of file.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.read_to_end(&mut rest).expect("the server ends the connection in order");
        rest
    }

    /// Sends `bytes` in odd-sized pieces and half-closes, while it reads until end of file.
    #[track_caller]
    pub fn echo_to_the_end(&mut self, bytes: &[u8], random: &mut Random) -> Vec<u8> {
        let mut writer = self.duplicate();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut left = bytes;
                while !left.is_empty() {
                    let (piece, rest) = left.split_at(random.size(1, 9000).min(left.len()));
                    writer.write_all(piece).expect("the server reads");
                    left = rest;
                }
                writer.half_close();
            });
            self.rest()
        })
    }

    /// Another handle on the same connection.
    pub fn duplicate(&self) -> Client {
        match self {
            Client::Tcp(stream) => Client::Tcp(stream.try_clone().expect("a free descriptor")),
            Client::Unix(stream) => Client::Unix(stream.try_clone().expect("a free descriptor")),
        }
    }
}

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Client::Tcp(stream) => stream.read(buffer),
            Client::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Client::Tcp(stream) => stream.write(bytes),
            Client::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Client::Tcp(stream) => stream.as_fd(),
            Client::Unix(stream) => stream.as_fd(),
        }
    }
}

impl From<Client> for OwnedFd {
    fn from(client: Client) -> OwnedFd {
        match client {
            Client::Tcp(stream) => stream.into(),
            Client::Unix(stream) => stream.into(),
        }
    }
}
