//! Descriptors that somebody else made: inherited, or passed over a Unix socket.

use super::object::Object;
use crate::epoll::OnBlocking;
use crate::kernel::{Borrowed, Descriptor, EventfdMode, Kernel};
use std::error;
use std::fmt;
use std::io;

/// What to accept of a descriptor that is adopted. The default refuses whatever is in doubt.
///
/// ```
/// use watchbell::epoll::OnBlocking;
/// use watchbell::eventfd::Adopt;
///
/// let lenient = Adopt { on_blocking: OnBlocking::SetNonblocking, ..Adopt::default() };
/// assert_ne!(lenient, Adopt::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adopt {
    /// What to do where `O_NONBLOCK` is not set. It belongs to the open file, so setting it changes
    /// every duplicate, in this process and in others.
    pub on_blocking: OnBlocking,
    /// What to do where the kernel does not tell the mode.
    pub on_untold: OnUntold,
}

/// What to do with an eventfd whose mode the kernel does not tell: older ones have no
/// `eventfd-semaphore` line in `/proc`
/// ([proc_pid_fdinfo(5)](https://man7.org/linux/man-pages/man5/proc_pid_fdinfo.5.html)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUntold {
    /// Refuse it with [`AdoptRefusal::ModeUntold`].
    #[default]
    Refuse,
    /// Trust that it is of the right mode. Where a drained eventfd is taken for a semaphore,
    /// waiting reports [`NotSemaphore`](super::NotSemaphore); a semaphore that is taken for a
    /// counter shows nothing, and hands out single units.
    Trust,
}

/// A descriptor that was not adopted: it comes back, with the reason.
///
/// It converts into [`io::Error`], which closes the descriptor.
pub struct AdoptError<Fd> {
    /// The descriptor, as it was given.
    pub fd: Fd,
    /// Why it was refused.
    pub reason: AdoptRefusal,
}

/// Why a descriptor was not adopted.
#[derive(Debug)]
#[non_exhaustive]
pub enum AdoptRefusal {
    /// It is something else than an eventfd.
    NotEventfd,
    /// It is an eventfd of the other mode.
    WrongMode,
    /// It is an eventfd of which the kernel does not tell the mode, and [`OnUntold::Refuse`] was
    /// asked for.
    ModeUntold,
    /// It is blocking, and [`OnBlocking::Refuse`] was asked for.
    Blocking,
    /// The operating system refused; `ENOENT` where `/proc`, which tells the mode, is not mounted.
    Os(io::Error),
}

impl<K: Kernel> Object<K> {
    /// Checks `fd` and takes it over, closed on exec from now on.
    pub(super) fn adopt(
        kernel: K,
        fd: K::Fd,
        mode: EventfdMode,
        policy: Adopt,
    ) -> Result<Object<K>, AdoptError<K::Fd>> {
        match prepare(&kernel, fd.borrow(), mode, policy) {
            Ok(prepared) => Ok(Object::from_checked(kernel, prepared)),
            Err(reason) => Err(AdoptError { fd, reason }),
        }
    }
}

/// A duplicate of `fd` that is closed on exec (inherited descriptors are not) and non-blocking.
///
/// Everything that can refuse comes before the one change that others can see, `O_NONBLOCK`.
fn prepare<K: Kernel>(
    kernel: &K,
    fd: Borrowed<'_, K>,
    mode: EventfdMode,
    policy: Adopt,
) -> Result<K::Fd, AdoptRefusal> {
    check_mode(kernel.eventfd_mode(fd)?, mode, policy.on_untold)?;
    let nonblocking = kernel.is_nonblocking(fd)?;
    if !nonblocking && policy.on_blocking == OnBlocking::Refuse {
        return Err(AdoptRefusal::Blocking);
    }
    let duplicate = kernel.duplicate(fd)?;
    if !nonblocking {
        kernel.set_nonblocking(duplicate.borrow())?;
    }
    Ok(duplicate)
}

fn check_mode(
    found: EventfdMode,
    wanted: EventfdMode,
    on_untold: OnUntold,
) -> Result<(), AdoptRefusal> {
    match (found, on_untold) {
        (EventfdMode::NotEventfd, _) => Err(AdoptRefusal::NotEventfd),
        (EventfdMode::Untold, OnUntold::Refuse) => Err(AdoptRefusal::ModeUntold),
        (EventfdMode::Untold, OnUntold::Trust) => Ok(()),
        (found, _) if found == wanted => Ok(()),
        _ => Err(AdoptRefusal::WrongMode),
    }
}

impl<Fd> fmt::Debug for AdoptError<Fd> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdoptError").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<Fd> fmt::Display for AdoptError<Fd> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the descriptor was not adopted: {}", self.reason)
    }
}

impl<Fd> error::Error for AdoptError<Fd> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.reason)
    }
}

impl<Fd> From<AdoptError<Fd>> for io::Error {
    fn from(error: AdoptError<Fd>) -> io::Error {
        match error.reason {
            AdoptRefusal::Os(error) => error,
            reason => io::Error::new(io::ErrorKind::InvalidInput, reason),
        }
    }
}

impl fmt::Display for AdoptRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdoptRefusal::NotEventfd => f.write_str("it is not an eventfd"),
            AdoptRefusal::WrongMode => f.write_str("it is an eventfd of the other mode"),
            AdoptRefusal::ModeUntold => f.write_str("the kernel does not tell the eventfd's mode"),
            AdoptRefusal::Blocking => f.write_str("it is blocking"),
            AdoptRefusal::Os(error) => error.fmt(f),
        }
    }
}

impl error::Error for AdoptRefusal {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            AdoptRefusal::Os(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for AdoptRefusal {
    fn from(error: io::Error) -> AdoptRefusal {
        AdoptRefusal::Os(error)
    }
}
