//! A kernel that lets a test act between a call and its caller, to put two threads' steps in the
//! order that is wanted.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use watchbell::kernel::{
    EventBuffer, EventFlags, EventfdFlags, EventfdMode, Kernel, Linux, Process,
};

/// [`Linux`], with a moment before its next wait, and one after its next successful wait or modify.
#[derive(Clone, Default)]
pub struct Hooked {
    before_wait: Moment,
    after_wait: Moment,
    after_modify: Moment,
}

#[derive(Clone, Default)]
struct Moment(Arc<Mutex<Option<Act>>>);

type Act = Box<dyn FnOnce() + Send>;

impl Hooked {
    /// Calls `act` when the next wait is about to begin, its caller having decided for how long.
    pub fn before_next_wait(&self, act: impl FnOnce() + Send + 'static) {
        self.before_wait.set(act);
    }

    /// Calls `act` once the next wait has its events, before its caller sees them.
    pub fn after_next_wait(&self, act: impl FnOnce() + Send + 'static) {
        self.after_wait.set(act);
    }

    /// Calls `act` once the next `EPOLL_CTL_MOD` was made, before its caller goes on.
    pub fn after_next_modify(&self, act: impl FnOnce() + Send + 'static) {
        self.after_modify.set(act);
    }
}

impl Moment {
    fn set(&self, act: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::new(act));
    }

    fn pass(&self) {
        // Taken out first: what is done in the moment may come here again.
        let act = self.0.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
    }
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooked")
    }
}

impl Kernel for Hooked {
    type Fd = OwnedFd;

    fn epoll_modify(
        &self,
        epoll: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        Linux.epoll_modify(epoll, target, flags, data)?;
        self.after_modify.pass();
        Ok(())
    }

    fn epoll_wait(
        &self,
        epoll: BorrowedFd<'_>,
        events: &mut EventBuffer,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        self.before_wait.pass();
        Linux.epoll_wait(epoll, events, timeout)?;
        self.after_wait.pass();
        Ok(())
    }

    fn eventfd(&self, initval: u32, flags: EventfdFlags) -> io::Result<OwnedFd> {
        Linux.eventfd(initval, flags)
    }

    fn eventfd_mode(&self, fd: BorrowedFd<'_>) -> io::Result<EventfdMode> {
        Linux.eventfd_mode(fd)
    }

    fn read(&self, fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
        Linux.read(fd, buf)
    }

    fn write(&self, fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
        Linux.write(fd, buf)
    }

    fn is_nonblocking(&self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        Linux.is_nonblocking(fd)
    }

    fn set_nonblocking(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Linux.set_nonblocking(fd)
    }

    fn duplicate(&self, fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        Linux.duplicate(fd)
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

    fn epoll_delete(&self, epoll: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
        Linux.epoll_delete(epoll, target)
    }

    fn poll_readable(&self, fd: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<bool> {
        Linux.poll_readable(fd, timeout)
    }

    fn now(&self) -> Instant {
        Linux.now()
    }

    fn process(&self) -> Process {
        Linux.process()
    }
}
