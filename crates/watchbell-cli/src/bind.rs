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
                Err(error) => return Err(cannot_listen(error, address)),
            }
        }
        if let (Some((error, address)), true) = (absent, listeners.len() == before) {
            return Err(cannot_listen(error, address));
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

fn cannot_listen(error: io::Error, address: &Address) -> Error {
    let reason = match Errno::from_io_error(&error) {
        Some(Errno::ADDRINUSE) => Error::msg("address in use"),
        _ => Error::new(error),
    };
    reason.context(format!("cannot listen on {address}"))
}
