//! Opening the listeners: all of them, or none and the reason.

use crate::address::Endpoint;
use crate::socket_file::{self, SocketFile};
use anyhow::{Error, Result};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use watchbell::kernel::{Address, Linux, Sockets};

/// A listening socket, non-blocking and closed on exec.
#[derive(Debug)]
pub struct Listener {
    /// The file of a Unix-domain socket. It stands before the socket, and so is dropped before it;
    /// see [`SocketFile`].
    pub file: Option<SocketFile>,
    /// The socket.
    pub socket: OwnedFd,
    /// Where it is bound, with the real port.
    pub address: Address,
}

/// Binds every address of every endpoint and listens there.
///
/// A host name may resolve to addresses that this machine does not have, `::1` where there is no
/// IPv6: these are passed over as long as one of the name's addresses can be bound.
///
/// # Errors
///
/// The first address that cannot be bound, named in one line; the listeners that were opened before
/// it are closed, and their files removed.
pub fn bind(endpoints: &[Endpoint], backlog: u32) -> Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for endpoint in endpoints {
        let before = listeners.len();
        let mut absent = None;
        for address in &endpoint.addresses {
            match listen(address, backlog) {
                Ok(listener) => listeners.push(listener),
                Err(error) if is_absent(&error) => absent = Some((error, address)),
                Err(error) => return Err(cannot_listen(error, address, &listeners)),
            }
        }
        if let (Some((error, address)), true) = (absent, listeners.len() == before) {
            return Err(cannot_listen(error, address, &listeners));
        }
    }
    Ok(listeners)
}

fn listen(address: &Address, backlog: u32) -> io::Result<Listener> {
    let (socket, file) = match address {
        Address::Unix(path) => {
            let (socket, file) = socket_file::listen(path, backlog)?;
            (socket, Some(file))
        }
        other => (Linux.listen(other, backlog)?, None),
    };
    let address = Linux.local_address(socket.as_fd())?;
    Ok(Listener { file, socket, address })
}

/// Whether this machine has no such address at all.
fn is_absent(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT))
}

/// Why not, in words that point at what can be done; `opened` are the listeners of this server.
fn cannot_listen(error: io::Error, address: &Address, opened: &[Listener]) -> Error {
    let reason = match (Errno::from_io_error(&error), address) {
        (Some(Errno::ADDRINUSE), _) => opened
            .iter()
            .find_map(|other| clash(address, other))
            .unwrap_or_else(|| Error::msg("address in use")),
        (Some(Errno::NOENT), Address::Unix(path)) => match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => {
                Error::msg(format!("the directory {} is missing", parent.display()))
            }
            _ => Error::new(error),
        },
        (Some(Errno::ACCESS), Address::Inet(inet)) if inet.port() < 1024 => {
            Error::new(error).context("ports below 1024 need a privilege")
        }
        _ => Error::new(error),
    };
    reason.context(format!("cannot listen on {address}"))
}

/// What is in the way of `address`, if it is `other`, which this server has opened itself.
fn clash(address: &Address, other: &Listener) -> Option<Error> {
    let Listener { file, address: taken, .. } = other;
    match (address, taken) {
        (Address::Unix(path), _) if file.as_ref().is_some_and(|file| file.is_at(path)) => {
            Some(Error::msg(format!("it is given twice, as {taken} too")))
        }
        (Address::Inet(inet), Address::Inet(before)) if inet.port() == before.port() => {
            let every = [inet, before].into_iter().find(|it| it.ip().is_unspecified())?;
            let both = if every.is_ipv6() { ", those of IPv4 too" } else { "" };
            Some(Error::msg(format!(
                "{taken} is given as well, and {} takes all addresses of a port{both}",
                every.ip()
            )))
        }
        _ => None,
    }
}
