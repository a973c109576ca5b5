//! A Unix-domain peer whose path fills `sun_path` to its last byte: unix(7), BUGS. rustix and std
//! make no such address.
#![allow(unsafe_code, unreachable_pub)]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// A file name of such a length that its path in `directory` has 108 bytes.
pub fn path_in(directory: &Path) -> PathBuf {
    let rest = 108 - directory.as_os_str().len() - 1;
    directory.join("p".repeat(rest))
}

/// A stream that is bound to `path`, 108 bytes without a closing NUL, and connected to `listener`.
pub fn connect_from(path: &Path, listener: &Path) -> io::Result<UnixStream> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        None,
    )?;
    // SAFETY: `sockaddr_un` is integers, for which all zeroes are a value.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_os_str().as_bytes();
    assert_eq!(bytes.len(), address.sun_path.len(), "the path fills the structure");
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let length = mem::size_of_val(&address) as libc::socklen_t;
    let pointer = (&raw const address).cast();
    // SAFETY: the descriptor is open, and `address` is a structure of that length.
    let bound = unsafe { libc::bind(socket.as_fd().as_raw_fd(), pointer, length) };
    if bound != 0 {
        return Err(io::Error::last_os_error());
    }
    rustix::net::connect(&socket, &rustix::net::SocketAddrUnix::new(listener)?)?;
    Ok(socket.into())
}
