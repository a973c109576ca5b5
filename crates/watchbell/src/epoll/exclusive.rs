//! Registrations of one target in several instances, of which an event wakes one or a few.

use super::registered::{Mode, sealed};
use super::{AnyFd, Epoll, OnBlocking, Registered, Source};
use crate::Rejected;
use crate::kernel::{EventFlags, Kernel};
use crate::sync::Arc;
use std::io::{PipeReader, PipeWriter};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

/// Exclusive (`EPOLLEXCLUSIVE`): of the instances that watch a target this way, an event wakes one
/// or more, not all.
///
/// Such a registration can never be modified, and `modify` does not exist for it:
///
/// ```compile_fail,E0599
/// # use watchbell::epoll::{Epoll, ExclusiveInterest, Interest, Trigger};
/// let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
/// let epoll = Epoll::new().unwrap();
/// let readable = ExclusiveInterest::Readable;
/// let registered = epoll.exclusive(listener, readable, Trigger::Level).unwrap();
/// registered.modify(Interest::READABLE).unwrap(); // no such method
/// ```
///
/// It can only be ended, and made anew:
///
/// ```
/// # use watchbell::epoll::{Epoll, ExclusiveInterest, Interest, Trigger};
/// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let epoll = Epoll::new()?;
/// let registered = epoll.exclusive(listener, ExclusiveInterest::Readable, Trigger::Level)?;
/// let listener = registered.into_inner();
/// let registered = epoll.level(listener, Interest::READABLE)?;
/// registered.modify(Interest::NONE)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub enum Exclusive {}

impl sealed::Sealed for Exclusive {}

impl Mode for Exclusive {
    const FLAGS: EventFlags = EventFlags::EXCLUSIVE;
}

/// What an exclusive registration watches for: only these masks are legal.
///
/// Errors and hang-ups are told unasked, as always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExclusiveInterest {
    /// Input (`EPOLLIN`).
    Readable,
    /// Room for output (`EPOLLOUT`).
    Writable,
    /// Both.
    Both,
}

/// When a registration is told again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// At each wait, for as long as the target is ready.
    Level,
    /// Once an edge (`EPOLLET`): whoever is woken drains the target, or keeps account of the rest.
    /// That takes a non-blocking target.
    Edge(OnBlocking),
}

/// What can be watched exclusively: anything but an epoll instance (`EINVAL`).
///
/// An epoll instance is not an `ExclusiveTarget`, so this is refused before it is tried:
///
/// ```compile_fail,E0277
/// # use watchbell::epoll::{Epoll, ExclusiveInterest, Trigger};
/// let (outer, inner) = (Epoll::new().unwrap(), Epoll::new().unwrap());
/// outer.exclusive(inner, ExclusiveInterest::Readable, Trigger::Level).unwrap();
/// ```
///
/// Watched in the ordinary way it is welcome:
///
/// ```
/// # use watchbell::epoll::{Epoll, Interest};
/// let (outer, inner) = (Epoll::new()?, Epoll::new()?);
/// let _registered = outer.level(inner, Interest::READABLE)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Implement it for a source type of your own; where its descriptor is an epoll instance all the
/// same, the kernel refuses it.
pub trait ExclusiveTarget {}

impl ExclusiveTarget for TcpListener {}
impl ExclusiveTarget for TcpStream {}
impl ExclusiveTarget for UdpSocket {}
impl ExclusiveTarget for UnixListener {}
impl ExclusiveTarget for UnixStream {}
impl ExclusiveTarget for UnixDatagram {}
impl ExclusiveTarget for PipeReader {}
impl ExclusiveTarget for PipeWriter {}
impl<T: ExclusiveTarget + ?Sized> ExclusiveTarget for Arc<T> {}
impl<T: ExclusiveTarget + ?Sized> ExclusiveTarget for &T {}
impl<T: ExclusiveTarget + AsFd> ExclusiveTarget for AnyFd<T> {}

impl ExclusiveInterest {
    pub(crate) fn flags(self) -> EventFlags {
        match self {
            ExclusiveInterest::Readable => EventFlags::IN,
            ExclusiveInterest::Writable => EventFlags::OUT,
            ExclusiveInterest::Both => EventFlags::IN | EventFlags::OUT,
        }
    }
}

impl Trigger {
    pub(crate) fn flags(self) -> EventFlags {
        match self {
            Trigger::Level => EventFlags::empty(),
            Trigger::Edge(_) => EventFlags::ET,
        }
    }
}

impl<K: Kernel> Epoll<K> {
    /// Watches `source` exclusively: an event wakes one or more of the instances that watch the
    /// same target this way, and every one that watches it ordinarily.
    ///
    /// How many are woken is not promised, and being woken reserves nothing: accept(2) may find
    /// another's connection gone (`EAGAIN`), or several. One wake goes to one waiter however much
    /// work it brings, so whoever is woken consumes all of it, keeps it for later, or wakes
    /// another. A target that several share this way should be non-blocking also when it is
    /// level-triggered: accept(2) would block the loser of the race.
    ///
    /// # Errors
    ///
    /// As [`Epoll::level`], and as [`Epoll::edge`] where the trigger is one.
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html) adds `EINVAL`: the
    /// target is an epoll instance after all.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::net::{TcpListener, TcpStream};
    /// # use watchbell::epoll::{Epoll, Events, ExclusiveInterest, Trigger};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// listener.set_nonblocking(true)?;
    /// let (one, other) = (Epoll::new()?, Epoll::new()?);
    /// let _one = one.exclusive(&listener, ExclusiveInterest::Readable, Trigger::Level)?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// let _other = other.exclusive(&listener, ExclusiveInterest::Readable, Trigger::Level)?;
    /// let mut events = Events::with_capacity(16);
    /// other.wait(&mut events, None)?;
    /// assert!(listener.accept().is_ok());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "EPOLLEXCLUSIVE")]
    pub fn exclusive<S: Source<Fd = K::Fd> + ExclusiveTarget>(
        &self,
        source: S,
        interest: ExclusiveInterest,
        trigger: Trigger,
    ) -> Result<Registered<S, Exclusive, K>, Rejected<S>> {
        let on_blocking = match trigger {
            Trigger::Level => None,
            Trigger::Edge(on_blocking) => Some(on_blocking),
        };
        let token = self.instance().next_token();
        let flags = interest.flags() | trigger.flags();
        Registered::add(self.instance(), source, token, flags, on_blocking)
    }
}
