//! The kernel's word on what is left to read: `TCP_INQ` and `SO_INQ`.
//!
//! A short read does not say that a socket is drained: it also comes before an end of file that
//! arrived in the same edge, before a message that carries descriptors, and at the urgent mark.
//! With these two options `recvmsg(2)` says how many bytes are left, and for TCP counts a pending
//! end of file as one. rustix has no such control message, so this module calls the C library
//! itself, with `unsafe`.
//!
//! [tcp(7)](https://man7.org/linux/man-pages/man7/tcp.7.html),
//! [recvmsg(2)](https://man7.org/linux/man-pages/man2/recv.2.html),
//! [cmsg(3)](https://man7.org/linux/man-pages/man3/cmsg.3.html)
#![allow(unsafe_code)]

use super::Received;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// `SO_INQ` of AF_UNIX sockets, from Linux 6.17 on, as most architectures number it.
const SO_INQ: libc::c_int = 84;

/// Whether an AF_UNIX socket takes descriptors, from Linux 6.16 on, numbered likewise.
const SO_PASSRIGHTS: libc::c_int = 83;

/// Where those numbers mean something else, the options are not asked for.
const NUMBERS_KNOWN: bool = cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "arm",
    target_arch = "aarch64",
    target_arch = "riscv64",
    target_arch = "loongarch64",
    target_arch = "powerpc64",
    target_arch = "s390x",
));

/// What `SO_PASSPIDFD` attaches, from Linux 6.5 on: a descriptor of the sender's process.
const SCM_PIDFD: libc::c_int = 4;

/// Room for one control message that holds a C `int`, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 24]);

/// Switches the report of a TCP socket on, and of the connections that it will accept. `false`:
/// this kernel has none.
pub(super) fn enable_tcp(socket: BorrowedFd<'_>) -> bool {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_INQ, 1)
}

/// As [`enable_tcp`], for a Unix-domain socket, whose accepted connections do not inherit it.
pub(super) fn enable_unix(socket: BorrowedFd<'_>) -> bool {
    NUMBERS_KNOWN && set_option(socket, libc::SOL_SOCKET, SO_INQ, 1)
}

/// Has the kernel refuse descriptors that a peer attaches (`EPERM` for the peer), where it can.
/// Accepted connections inherit it.
///
/// Receiving them is more than a nuisance: closing the last reference to a socket of the peer's
/// making can block for as long as the peer likes (`SO_LINGER` of socket(7)), and that would be
/// this thread's time.
pub(super) fn refuse_descriptors(socket: BorrowedFd<'_>) -> bool {
    NUMBERS_KNOWN && set_option(socket, libc::SOL_SOCKET, SO_PASSRIGHTS, 0)
}

fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> bool {
    let length = mem::size_of_val(&value) as libc::socklen_t;
    let value = ptr::from_ref(&value).cast();
    // SAFETY: the descriptor is open for the borrow, and `value` is a readable `int`, of that
    // length.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, length) };
    result == 0
}

/// recvmsg(2) into `buf`, with what the kernel said is left.
///
/// Descriptors that came along, from the peer or for it, are closed: a byte stream has no use for
/// them, and they would otherwise pile up in this process. Where the kernel can, it was told to
/// [refuse](refuse_descriptors) those of the peer.
pub(super) fn recv(socket: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<Received> {
    let mut control = Control([0; 24]);
    let mut room = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
    // SAFETY: `msghdr` is a C struct of integers and pointers, for which all zeroes are a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut room;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    // The field's type is not the same in every C library.
    message.msg_controllen = mem::size_of::<Control>() as _;

    let flags = libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the descriptor is open for the borrow; `message` names one buffer and one control
    // buffer, both alive, writable and of the lengths given.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: recvmsg has filled `message` in, and `control` is still alive; this is the only walk.
    let left = unsafe { take_control(&message) };
    Ok(Received { bytes, left })
}

/// Walks the control messages: takes the word on what is left, and closes every descriptor.
///
/// # Safety
///
/// `message` is as a successful recvmsg(2) left it, its control buffer is alive, and the
/// descriptors in it are nobody's yet.
unsafe fn take_control(message: &libc::msghdr) -> Option<usize> {
    let mut left = None;
    // SAFETY: `message` is as recvmsg(2) left it, its control buffer is still alive.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: a non-null header from CMSG_FIRSTHDR or CMSG_NXTHDR lies whole in the buffer.
        let found = unsafe { *header };
        // SAFETY: as above; the data follows the header.
        let data: *const libc::c_int = unsafe { libc::CMSG_DATA(header) }.cast();
        let count = ints_within(found.cmsg_len as _);
        for index in 0..count {
            // SAFETY: the kernel stored `count` whole ints from `data` on.
            let value = unsafe { data.wrapping_add(index).read_unaligned() };
            match (found.cmsg_level, found.cmsg_type) {
                (libc::IPPROTO_TCP, libc::TCP_CM_INQ) | (libc::SOL_SOCKET, SO_INQ) => {
                    left = usize::try_from(value).ok();
                }
                // A pidfd that could not be made is an error number in its place.
                (libc::SOL_SOCKET, libc::SCM_RIGHTS | SCM_PIDFD) if value >= 0 => {
                    // SAFETY: the kernel has just opened this descriptor for us, and nobody else
                    // knows of it.
                    drop(unsafe { OwnedFd::from_raw_fd(value) });
                }
                _ => {}
            }
        }
        // SAFETY: `header` is a header of this message.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    left
}

/// How many whole ints a control message of `length` bytes carries, its header included.
fn ints_within(length: usize) -> usize {
    // SAFETY: CMSG_LEN only computes.
    let header = unsafe { libc::CMSG_LEN(0) } as usize;
    length.saturating_sub(header) / mem::size_of::<libc::c_int>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    /// A socket that came with `SO_PASSPIDFD` set gets a descriptor with every message.
    #[test]
    fn e03_a_peers_pidfd_is_closed() {
        const SO_PASSPIDFD: libc::c_int = 76;
        let (ours, peer) = UnixStream::pair().expect("descriptors are left");
        if !set_option(ours.as_fd(), libc::SOL_SOCKET, SO_PASSPIDFD, 1) {
            return; // before Linux 6.5
        }
        rustix::io::write(&peer, b"data").expect("there is room");
        let received = recv(ours.as_fd(), &mut [0; 8]).expect("data is there");
        assert_eq!(received.bytes, 4);
        let links = std::fs::read_dir("/proc/self/fd").expect("proc is mounted").flatten();
        let pidfd = |link: std::path::PathBuf| link.to_string_lossy().contains("pidfd");
        let open = links.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(pidfd);
        assert!(!open, "the descriptor of the peer's process is left open");
    }
}
