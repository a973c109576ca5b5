//! The running kernel's sockets, by rustix.

use super::{Address, Linux, Received, Shutdown, Sockets, inq};
use rustix::net::{
    self, AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrAny, SocketAddrUnix,
    SocketFlags, SocketType, sockopt,
};
use std::ffi::OsStr;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

impl Sockets for Linux {
    fn listen(&self, address: &Address, backlog: u32) -> io::Result<OwnedFd> {
        let socket = socket(address, SocketType::STREAM)?;
        if let Address::Inet(_) = address {
            sockopt::set_socket_reuseaddr(&socket, true)?;
        }
        bind(&socket, address)?;
        net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
        Ok(socket)
    }

    fn accept(&self, listener: BorrowedFd<'_>) -> io::Result<(OwnedFd, Address)> {
        let (socket, peer) = net::acceptfrom_with(listener, FLAGS)?;
        Ok((socket, from_any(peer)?))
    }

    fn connect(&self, address: &Address) -> io::Result<(OwnedFd, bool)> {
        let socket = socket(address, SocketType::STREAM)?;
        let result = match address {
            Address::Inet(inet) => net::connect(&socket, inet),
            unix => net::connect(&socket, &unix_address(unix)?),
        };
        match result {
            Ok(()) => Ok((socket, true)),
            Err(rustix::io::Errno::INPROGRESS) => Ok((socket, false)),
            Err(error) => Err(error.into()),
        }
    }

    fn report_left(&self, socket: BorrowedFd<'_>, address: &Address) -> io::Result<bool> {
        Ok(match address {
            Address::Inet(_) => inq::enable_tcp(socket),
            _unix => {
                inq::refuse_descriptors(socket);
                inq::enable_unix(socket)
            }
        })
    }

    fn recv(&self, socket: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<Received> {
        inq::recv(socket, buf)
    }

    fn send(&self, socket: BorrowedFd<'_>, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = SendAncillaryBuffer::default();
        Ok(net::sendmsg(socket, bufs, &mut control, SendFlags::NOSIGNAL)?)
    }

    fn shutdown(&self, socket: BorrowedFd<'_>, how: Shutdown) -> io::Result<()> {
        let how = match how {
            Shutdown::Read => net::Shutdown::Read,
            Shutdown::Write => net::Shutdown::Write,
            Shutdown::Both => net::Shutdown::Both,
        };
        Ok(net::shutdown(socket, how)?)
    }

    fn take_error(&self, socket: BorrowedFd<'_>) -> io::Result<Option<io::Error>> {
        Ok(sockopt::socket_error(socket)?.err().map(io::Error::from))
    }

    fn set_nodelay(&self, socket: BorrowedFd<'_>, at_once: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(socket, at_once)?)
    }

    fn set_linger(&self, socket: BorrowedFd<'_>, linger: Option<Duration>) -> io::Result<()> {
        Ok(sockopt::set_socket_linger(socket, linger)?)
    }

    fn set_keepalive(&self, socket: BorrowedFd<'_>, idle: Option<Duration>) -> io::Result<()> {
        // The time first: where it is refused, nothing has changed.
        if let Some(idle) = idle {
            sockopt::set_tcp_keepidle(socket, idle)?;
        }
        Ok(sockopt::set_socket_keepalive(socket, idle.is_some())?)
    }

    fn local_address(&self, socket: BorrowedFd<'_>) -> io::Result<Address> {
        from_any(Some(net::getsockname(socket)?))
    }

    fn peer_address(&self, socket: BorrowedFd<'_>) -> io::Result<Address> {
        from_any(net::getpeername(socket)?)
    }

    fn bind_datagram(&self, address: &Address) -> io::Result<OwnedFd> {
        let socket = socket(address, SocketType::DGRAM)?;
        bind(&socket, address)?;
        Ok(socket)
    }

    fn recv_from(&self, socket: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<(usize, Address)> {
        let (_, length, sender) = net::recvfrom(socket, buf, RecvFlags::TRUNC)?;
        Ok((length, from_any(sender)?))
    }

    fn send_to(&self, socket: BorrowedFd<'_>, buf: &[u8], to: &Address) -> io::Result<usize> {
        Ok(match to {
            Address::Inet(inet) => net::sendto(socket, buf, SendFlags::NOSIGNAL, inet)?,
            unix => net::sendto(socket, buf, SendFlags::NOSIGNAL, &unix_address(unix)?)?,
        })
    }
}

fn socket(address: &Address, kind: SocketType) -> io::Result<OwnedFd> {
    let family = match address {
        Address::Inet(SocketAddr::V4(_)) => AddressFamily::INET,
        Address::Inet(SocketAddr::V6(_)) => AddressFamily::INET6,
        _unix => AddressFamily::UNIX,
    };
    Ok(net::socket_with(family, kind, FLAGS, None)?)
}

fn bind(socket: &OwnedFd, address: &Address) -> io::Result<()> {
    match address {
        Address::Inet(inet) => net::bind(socket, inet)?,
        Address::Unnamed => {}
        unix => net::bind(socket, &unix_address(unix)?)?,
    }
    Ok(())
}

/// The C form of a Unix-domain address.
fn unix_address(address: &Address) -> io::Result<SocketAddrUnix> {
    Ok(match address {
        Address::Unix(path) => SocketAddrUnix::new(path.as_path())?,
        Address::Abstract(name) => SocketAddrUnix::new_abstract_name(name)?,
        Address::Unnamed => SocketAddrUnix::new_unnamed(),
        Address::Untold | Address::Inet(_) => return Err(io::ErrorKind::InvalidInput.into()),
    })
}

/// The kernel's form of an address in ours; none is an unnamed Unix-domain peer.
fn from_any(address: Option<SocketAddrAny>) -> io::Result<Address> {
    let Some(address) = address else { return Ok(Address::Unnamed) };
    if let Ok(inet) = SocketAddr::try_from(address.clone()) {
        return Ok(Address::Inet(inet));
    }
    // A path that fills `sun_path` to its last byte has no closing NUL, and the kernel says one
    // byte more than the structure has (unix(7), BUGS). rustix cannot read it.
    if address.addr_len() as usize > size_of::<libc::sockaddr_un>() {
        return Ok(Address::Untold);
    }
    let unix = SocketAddrUnix::try_from(address)?;
    Ok(if let Some(name) = unix.abstract_name() {
        Address::Abstract(name.to_vec())
    } else if let Some(path) = unix.path_bytes() {
        Address::Unix(PathBuf::from(OsStr::from_bytes(path)))
    } else {
        Address::Unnamed
    })
}
