//! The running kernel, by rustix.

use super::{EventBuffer, EventFlags, EventfdFlags, EventfdMode, Kernel, Process, fork, old_wait};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The running Linux kernel: each method is one system call, by [rustix].
///
/// [rustix]: https://docs.rs/rustix
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Linux;

impl Kernel for Linux {
    type Fd = OwnedFd;

    fn eventfd(&self, initval: u32, flags: EventfdFlags) -> io::Result<OwnedFd> {
        Ok(eventfd(initval, flags)?)
    }

    /// Two look-ups in `/proc/self`, since no system call tells.
    fn eventfd_mode(&self, fd: BorrowedFd<'_>) -> io::Result<EventfdMode> {
        let number = fd.as_raw_fd();
        let name = fs::read_link(format!("/proc/self/fd/{number}"))?;
        if name.as_os_str() != "anon_inode:[eventfd]" {
            return Ok(EventfdMode::NotEventfd);
        }
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}"))?;
        let semaphore = info.lines().find_map(|line| line.strip_prefix("eventfd-semaphore:"));
        Ok(match semaphore.map(str::trim) {
            Some("0") => EventfdMode::Drain,
            Some("1") => EventfdMode::Semaphore,
            _ => EventfdMode::Untold,
        })
    }

    fn read(&self, fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(fd, buf)?)
    }

    fn write(&self, fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(fd, buf)?)
    }

    fn is_nonblocking(&self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        Ok(rustix::fs::fcntl_getfl(fd)?.contains(rustix::fs::OFlags::NONBLOCK))
    }

    fn set_nonblocking(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(fd, true)?)
    }

    fn duplicate(&self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        Ok(rustix::io::fcntl_dupfd_cloexec(fd, 0)?)
    }

    fn epoll_create(&self) -> io::Result<OwnedFd> {
        Ok(epoll::create(epoll::CreateFlags::CLOEXEC)?)
    }

    fn epoll_add(
        &self,
        epoll: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        Ok(epoll::add(epoll, target, epoll::EventData::new_u64(data), flags)?)
    }

    fn epoll_modify(
        &self,
        epoll: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        Ok(epoll::modify(epoll, target, epoll::EventData::new_u64(data), flags)?)
    }

    fn epoll_delete(&self, epoll: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(epoll, target)?)
    }

    fn epoll_wait(
        &self,
        epoll: BorrowedFd<'_>,
        events: &mut EventBuffer,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        events.events.clear();
        if !old_wait::is_needed() {
            let timeout = timeout.map(timespec);
            let waited = epoll::wait(epoll, spare_capacity(&mut events.events), timeout.as_ref());
            match waited {
                Err(errno) if old_wait::is_for(errno) => {}
                waited => return Ok(waited.map(drop)?),
            }
        }
        old_wait::wait(epoll, &mut events.events, timeout)
    }

    fn poll_readable(&self, fd: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<bool> {
        let timeout = timeout.map(timespec);
        Ok(poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], timeout.as_ref())? > 0)
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn process(&self) -> Process {
        fork::process()
    }
}

/// A time-out too long for the kernel's type is as long as the type can say: 292 billion years.
fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
