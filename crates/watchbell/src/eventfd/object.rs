//! The kernel's object behind both types: one read, one write, and waiting for a read.

use crate::kernel::{Borrowed, Descriptor, EventfdFlags, Kernel, number};
use std::io;
use std::time::{Duration, Instant};

/// An eventfd, non-blocking and closed on exec.
pub(super) struct Object<K: Kernel> {
    kernel: K,
    fd: K::Fd,
}

impl<K: Kernel> Object<K> {
    /// A new eventfd; `mode` is empty or `EFD_SEMAPHORE`.
    pub(super) fn create(kernel: K, initval: u32, mode: EventfdFlags) -> io::Result<Object<K>> {
        let flags = mode | EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let fd = kernel.eventfd(initval, flags)?;
        Ok(Object { kernel, fd })
    }

    /// Takes over a descriptor that has been checked.
    pub(super) fn from_checked(kernel: K, fd: K::Fd) -> Object<K> {
        Object { kernel, fd }
    }

    pub(super) fn kernel(&self) -> &K {
        &self.kernel
    }

    pub(super) fn fd(&self) -> Borrowed<'_, K> {
        self.fd.borrow()
    }

    /// The descriptor's number, for `Debug`.
    pub(super) fn number(&self) -> i32 {
        number::<K>(self.fd())
    }

    pub(super) fn owned(&self) -> &K::Fd {
        &self.fd
    }

    pub(super) fn into_fd(self) -> K::Fd {
        self.fd
    }

    pub(super) fn duplicate(&self) -> io::Result<Object<K>> {
        let fd = self.kernel.duplicate(self.fd())?;
        Ok(Object { kernel: self.kernel.clone(), fd })
    }

    /// One read: what it took, or `None` where the count was zero.
    pub(super) fn read(&self) -> io::Result<Option<u64>> {
        let mut bytes = [0; 8];
        let read = retried(|| self.kernel.read(self.fd(), &mut bytes))?;
        assert!(matches!(read, None | Some(8)), "an eventfd is read in eight bytes");
        Ok(read.map(|_| u64::from_ne_bytes(bytes)))
    }

    /// One write: whether it was accepted. Refused, it has added nothing.
    pub(super) fn write(&self, units: u64) -> io::Result<bool> {
        let written = retried(|| self.kernel.write(self.fd(), &units.to_ne_bytes()))?;
        assert!(matches!(written, None | Some(8)), "an eventfd is written in eight bytes");
        Ok(written.is_some())
    }

    /// Reads until a read takes something or the deadline has passed; at least once.
    ///
    /// Readable is a hint: between poll(2) and the read another receiver may have taken what was
    /// there. The wait then goes on, towards the same deadline.
    pub(super) fn read_until(&self, deadline: Option<Instant>) -> io::Result<Option<u64>> {
        loop {
            if let Some(taken) = self.read()? {
                return Ok(Some(taken));
            }
            let left = self.time_left(deadline);
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            interruptible(self.kernel.poll_readable(self.fd(), left))?;
        }
    }

    /// Reads until a read takes something.
    pub(super) fn read_wait(&self) -> io::Result<u64> {
        let taken = self.read_until(None)?;
        Ok(taken.expect("without a deadline the wait ends only with something taken"))
    }

    /// The time-out of the next wait: `None` is for ever, and zero means that the deadline has
    /// passed.
    pub(super) fn time_left(&self, deadline: Option<Instant>) -> Option<Duration> {
        deadline.map(|deadline| deadline.saturating_duration_since(self.kernel.now()))
    }
}

/// Calls again after `EINTR`, and says `None` where the call would block.
fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<Option<T>> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            result => return result.map(Some),
        }
    }
}

/// A wait that a signal handler may end early: the caller looks again in any case.
pub(super) fn interruptible<T>(result: io::Result<T>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// What both types are to others: a descriptor, a source that may be watched exclusively.
macro_rules! impl_descriptor {
    ($type:ident) => {
        impl<K: Kernel> AsFd for $type<K>
        where
            K::Fd: AsFd,
        {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.object.owned().as_fd()
            }
        }

        impl<K: Kernel> Source for $type<K> {
            type Fd = K::Fd;

            const IS_NONBLOCKING: bool = true;

            fn descriptor(&self) -> $crate::kernel::Borrowed<'_, K> {
                self.object.fd()
            }
        }

        impl<K: Kernel> ExclusiveTarget for $type<K> {}

        impl<K: Kernel> fmt::Debug for $type<K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let fd = self.object.number();
                f.debug_struct(stringify!($type)).field("fd", &fd).finish_non_exhaustive()
            }
        }
    };
}

pub(super) use impl_descriptor;
