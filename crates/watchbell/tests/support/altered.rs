//! The running kernel with one thing changed, for what it does seldom.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use watchbell::kernel::{
    EventBuffer, EventFlags, EventfdFlags, EventfdMode, Kernel, Linux, Process,
};

/// Linux, but for one thing.
#[derive(Clone)]
pub enum Altered {
    /// As it was before `/proc` told an eventfd's mode.
    Untelling,
    /// As it is when the process has as many descriptors as it may.
    OutOfDescriptors,
    /// As it is under a hail of signals: every second call that can be interrupted is.
    Interrupting(Arc<AtomicBool>),
}

impl Altered {
    pub fn interrupting() -> Altered {
        Altered::Interrupting(Arc::new(AtomicBool::new(false)))
    }

    fn interrupt(&self) -> io::Result<()> {
        match self {
            Altered::Interrupting(spared) if !spared.fetch_not(Ordering::SeqCst) => {
                Err(io::ErrorKind::Interrupted.into())
            }
            _ => Ok(()),
        }
    }
}

impl Kernel for Altered {
    type Fd = OwnedFd;

    fn eventfd_mode(&self, fd: BorrowedFd<'_>) -> io::Result<EventfdMode> {
        match self {
            Altered::Untelling => Ok(EventfdMode::Untold),
            _ => Linux.eventfd_mode(fd),
        }
    }

    fn eventfd(&self, initval: u32, flags: EventfdFlags) -> io::Result<OwnedFd> {
        Linux.eventfd(initval, flags)
    }

    fn read(&self, fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
        self.interrupt()?;
        Linux.read(fd, buf)
    }

    fn write(&self, fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
        self.interrupt()?;
        Linux.write(fd, buf)
    }

    fn is_nonblocking(&self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        Linux.is_nonblocking(fd)
    }

    fn set_nonblocking(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Linux.set_nonblocking(fd)
    }

    fn duplicate(&self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        match self {
            Altered::OutOfDescriptors => Err(io::Error::from_raw_os_error(libc::EMFILE)),
            _ => Linux.duplicate(fd),
        }
    }

    fn epoll_create(&self) -> io::Result<OwnedFd> {
        Linux.epoll_create()
    }

    fn epoll_add(
        &self,
        epoll: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        Linux.epoll_add(epoll, target, flags, data)
    }

    fn epoll_modify(
        &self,
        epoll: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        Linux.epoll_modify(epoll, target, flags, data)
    }

    fn epoll_delete(&self, epoll: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
        Linux.epoll_delete(epoll, target)
    }

    fn epoll_wait(
        &self,
        epoll: BorrowedFd<'_>,
        events: &mut EventBuffer,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        self.interrupt()?;
        Linux.epoll_wait(epoll, events, timeout)
    }

    fn poll_readable(&self, fd: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<bool> {
        self.interrupt()?;
        Linux.poll_readable(fd, timeout)
    }

    fn now(&self) -> std::time::Instant {
        Linux.now()
    }

    fn process(&self) -> Process {
        Linux.process()
    }
}
