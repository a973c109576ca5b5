//! The client's part of an event, and a loop by hand: what the library is measured against.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Reads one byte.
#[inline]
pub fn recv(fd: RawFd) -> io::Result<usize> {
    let mut byte = 0_u8;
    // SAFETY: the buffer is one byte long.
    match unsafe { libc::recv(fd, (&raw mut byte).cast(), 1, 0) } {
        -1 => Err(io::Error::last_os_error()),
        read => Ok(read as usize),
    }
}

/// Writes one byte.
#[inline]
pub fn send(fd: RawFd) {
    // SAFETY: the buffer is one byte long.
    unsafe { libc::send(fd, b"e".as_ptr().cast(), 1, 0) };
}

/// A pair of connected, non-blocking sockets.
pub fn pair() -> [OwnedFd; 2] {
    let mut fds = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
    // SAFETY: there is room for two descriptors.
    let made = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) };
    assert_eq!(made, 0, "descriptors are left: {}", io::Error::last_os_error());
    // SAFETY: both were just made, and nobody else has them.
    fds.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// As many descriptors as the system allows.
pub fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives until the calls have returned.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}

/// An epoll instance by hand.
pub struct Epoll(RawFd);

impl Epoll {
    pub fn new() -> Epoll {
        // SAFETY: the call takes no pointer.
        Epoll(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
    }

    pub fn add(&self, fd: RawFd, flags: i32, data: u64) {
        let mut event = libc::epoll_event { events: flags as u32, u64: data };
        // SAFETY: the structure lives until the call has returned.
        let added = unsafe { libc::epoll_ctl(self.0, libc::EPOLL_CTL_ADD, fd, &mut event) };
        assert_eq!(added, 0, "{}", io::Error::last_os_error());
    }

    /// Looks, and does not wait.
    pub fn look(&self, events: &mut Vec<libc::epoll_event>) {
        let room = events.capacity() as i32;
        // SAFETY: the kernel writes as many events as there is room for, and says how many.
        unsafe {
            let count = libc::epoll_wait(self.0, events.as_mut_ptr(), room, 0);
            events.set_len(count.max(0) as usize);
        }
    }
}
