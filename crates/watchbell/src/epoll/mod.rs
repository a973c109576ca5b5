//! An epoll instance whose registrations are types.
//!
//! A level-triggered, an edge-triggered, a one-shot and an exclusive registration differ in what
//! may be done with them next, so each is a type of its own:
//!
//! | registration | made by | may be modified | the event hands out |
//! | --- | --- | --- | --- |
//! | [`Registered<S, Level>`](Registered) | [`Epoll::level`] | yes | a notice, again while it is ready |
//! | [`Registered<S, Edge>`](Registered) | [`Epoll::edge`] | yes | a notice, once an edge |
//! | [`Registered<S, Exclusive>`](Registered) | [`Epoll::exclusive`] | never (`EINVAL`) | a notice to one or more of several instances |
//! | inside [`Leases`] | [`Leases::add`] | by giving the lease back | the source itself, as a [`Lease`] |
//!
//! A registration owns its source: dropping it leaves the interest list *before* the descriptor is
//! closed, also where a duplicate keeps the open file alive (epoll(7), questions and answers, 6).
//!
//! This is the layer below [`event_loop`](crate::event_loop), which adds what an edge obliges to:
//! readiness that is kept until an operation has met its boundary.

mod control;
mod exclusive;
mod flags;
mod lease;
mod leases;
mod registered;
mod source;
mod token;

pub use exclusive::{Exclusive, ExclusiveInterest, ExclusiveTarget, Trigger};
pub use flags::{Interest, Readiness};
pub use lease::Lease;
pub use leases::Leases;
pub use registered::{Edge, Level, Mode, Modifiable, Registered};
pub use source::{AnyFd, Source};
pub use token::Token;

use crate::kernel::{
    Borrowed, Descriptor, EventBuffer, EventFlags, Kernel, Linux, Process, number,
};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::{Error, Rejected};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// An epoll instance; see [epoll(7)](https://man7.org/linux/man-pages/man7/epoll.7.html).
///
/// All methods take `&self`: several threads may wait on one instance and change its interest list
/// while others wait. It is itself a descriptor ([`AsFd`]) that another epoll instance, poll(2) or
/// an async runtime can watch.
///
/// # Example
///
/// ```
/// use watchbell::epoll::{Epoll, Events, Interest, OnBlocking};
/// use watchbell::eventfd::Counter;
///
/// let epoll = Epoll::new()?;
/// let counter = epoll.edge(Counter::new(0)?, Interest::READABLE, OnBlocking::Refuse)?;
/// let mut events = Events::with_capacity(16);
///
/// counter.get_ref().add(3)?;
/// epoll.wait(&mut events, None)?;
/// let event = events.iter().next().expect("one source is ready");
/// assert_eq!(event.token, counter.token());
/// assert!(event.readiness.is_readable());
/// assert_eq!(counter.get_ref().try_take()?, Some(3));
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias = "epoll_create1")]
pub struct Epoll<K: Kernel = Linux> {
    instance: Arc<Instance<K>>,
}

/// What the registrations of one epoll instance share.
pub(crate) struct Instance<K: Kernel> {
    pub(crate) kernel: K,
    fd: K::Fd,
    /// The process that made the instance. A forked child shares the interest list and must not
    /// change it.
    owner: Process,
    /// Tells its tokens from those of other instances.
    home: u64,
    next_token: AtomicU64,
    /// Registrations that could not be removed by their descriptor: their open file may live on.
    ghosts: AtomicU64,
}

/// One event: which registration, and what it is said to be ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The registration.
    pub token: Token,
    /// What was seen.
    pub readiness: Readiness,
}

/// Room for the events of one [`Epoll::wait`].
#[derive(Debug)]
pub struct Events {
    buffer: EventBuffer,
    /// The instance that filled it.
    home: u64,
}

/// What to do with a blocking descriptor that is to be edge-triggered.
///
/// `O_NONBLOCK` belongs to the open file and so to every duplicate of it, in this process and in
/// others (fcntl(2)); that is why the caller decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBlocking {
    /// Refuse it with [`Error::Blocking`].
    #[default]
    Refuse,
    /// Make it non-blocking.
    SetNonblocking,
}

impl Epoll<Linux> {
    /// A new epoll instance of the running kernel, closed on exec.
    ///
    /// # Errors
    ///
    /// Those of [epoll_create1(2)](https://man7.org/linux/man-pages/man2/epoll_create.2.html):
    /// `EMFILE`, `ENFILE`, `ENOMEM`.
    ///
    /// The [type](Epoll) has the example.
    #[doc(alias = "epoll_create1")]
    pub fn new() -> io::Result<Epoll<Linux>> {
        Epoll::on(Linux)
    }
}

impl<K: Kernel> Epoll<K> {
    /// A new epoll instance of `kernel`.
    ///
    /// # Errors
    ///
    /// As [`Epoll::new`].
    ///
    /// # Example
    ///
    /// ```
    /// use watchbell::epoll::Epoll;
    /// use watchbell::kernel::{Call, Counting, Linux};
    ///
    /// let kernel = Counting::new(Linux);
    /// let _epoll = Epoll::on(kernel.clone())?;
    /// assert_eq!(kernel.calls(Call::EpollCreate), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "epoll_create1")]
    pub fn on(kernel: K) -> io::Result<Epoll<K>> {
        Ok(Epoll { instance: Arc::new(Instance::on(kernel, next_home())?) })
    }

    /// Watches `source` level-triggered: told at each wait for as long as it is ready.
    ///
    /// # Errors
    ///
    /// The source comes back in [`Rejected`], with [`Error::Forked`] in a forked child, or
    /// [`Error::Os`] with the errors of
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html): `EPERM` for a file
    /// that epoll does not support, `EEXIST`, `ELOOP`, `ENOSPC`, `ENOMEM`.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::io::Write;
    /// # use std::os::unix::net::UnixStream;
    /// # use watchbell::epoll::{Epoll, Events, Interest};
    /// let epoll = Epoll::new()?;
    /// let (mut left, right) = UnixStream::pair()?;
    /// let right = epoll.level(right, Interest::READABLE)?;
    /// left.write_all(b"bell")?;
    /// let mut events = Events::with_capacity(16);
    /// for _ in 0..2 {
    ///     epoll.wait(&mut events, None)?; // again, since nobody has read
    ///     let event = events.iter().next().expect("it waits for one");
    ///     assert_eq!(event.token, right.token());
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "EPOLL_CTL_ADD")]
    pub fn level<S: Source<Fd = K::Fd>>(
        &self,
        source: S,
        interest: Interest,
    ) -> Result<Registered<S, Level, K>, Rejected<S>> {
        let token = self.instance.next_token();
        Registered::add(&self.instance, source, token, interest.flags(), None)
    }

    /// Watches `source` edge-triggered: told once an edge, whatever is done about it.
    ///
    /// After an event the source has to be read or written until it would block (epoll(7)); what is
    /// left unread may never be told again. [`EventLoop`](crate::event_loop::EventLoop) keeps
    /// account of that.
    ///
    /// # Errors
    ///
    /// As [`Epoll::level`], and [`Error::Blocking`] where the descriptor is blocking and
    /// [`OnBlocking::Refuse`] was asked for. A source that was made non-blocking and is then
    /// refused by epoll_ctl(2) comes back non-blocking. One that is non-blocking from the start
    /// ([`Source::IS_NONBLOCKING`]) is not looked at.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::os::unix::net::UnixStream;
    /// # use watchbell::Error;
    /// # use watchbell::epoll::{Epoll, Interest, OnBlocking};
    /// let epoll = Epoll::new()?;
    /// let (left, _right) = UnixStream::pair()?; // std's sockets are made blocking
    /// let rejected = epoll.edge(left, Interest::READABLE, OnBlocking::Refuse).unwrap_err();
    /// assert!(matches!(rejected.error, Error::Blocking));
    /// let left = rejected.source; // nothing is lost
    /// let _left = epoll.edge(left, Interest::READABLE, OnBlocking::SetNonblocking)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "EPOLLET")]
    pub fn edge<S: Source<Fd = K::Fd>>(
        &self,
        source: S,
        interest: Interest,
        on_blocking: OnBlocking,
    ) -> Result<Registered<S, Edge, K>, Rejected<S>> {
        let (token, flags) = (self.instance.next_token(), interest.flags());
        Registered::add(&self.instance, source, token, flags, Some(on_blocking))
    }

    /// Waits until a registration is ready or `timeout` has passed; `None` waits for ever.
    ///
    /// An interrupted wait (`EINTR`) goes on with what is left of its time-out, which has
    /// nanosecond resolution and never ends early.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`] in a forked child; no error of
    /// [epoll_pwait2(2)](https://man7.org/linux/man-pages/man2/epoll_wait.2.html) is expected.
    ///
    /// # Example
    ///
    /// A look that does not wait; the [type](Epoll) has one that does.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use watchbell::epoll::{Epoll, Events};
    /// let epoll = Epoll::new()?;
    /// let mut events = Events::with_capacity(16);
    /// epoll.wait(&mut events, Some(Duration::ZERO))?;
    /// assert!(events.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "epoll_wait")]
    #[doc(alias = "epoll_pwait2")]
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> Result<(), Error> {
        self.instance.check_owner()?;
        events.home = self.instance.home;
        self.instance.wait(&mut events.buffer, timeout)
    }

    /// How many registrations could not be removed when they were dropped, because their descriptor
    /// had been closed or replaced behind their back. Where a duplicate keeps the open file alive,
    /// such a ghost still makes events (epoll(7), questions and answers, 6), and only a new epoll
    /// instance is free of it.
    pub fn ghosts(&self) -> u64 {
        self.instance.ghosts.load(Ordering::Relaxed)
    }

    pub(crate) fn instance(&self) -> &Arc<Instance<K>> {
        &self.instance
    }
}

/// A number for a new instance, which its tokens carry.
fn next_home() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<K: Kernel> Instance<K> {
    fn on(kernel: K, home: u64) -> io::Result<Instance<K>> {
        let fd = kernel.epoll_create()?;
        let owner = kernel.process();
        let (next_token, ghosts) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Instance { kernel, fd, owner, home, next_token, ghosts })
    }

    pub(crate) fn fd(&self) -> Borrowed<'_, K> {
        self.fd.borrow()
    }

    pub(crate) fn check_owner(&self) -> Result<(), Error> {
        if self.kernel.process() == self.owner { Ok(()) } else { Err(Error::Forked) }
    }

    fn ensure_nonblocking(
        &self,
        fd: Borrowed<'_, K>,
        on_blocking: OnBlocking,
    ) -> Result<(), Error> {
        match on_blocking {
            OnBlocking::SetNonblocking => Ok(self.kernel.set_nonblocking(fd)?),
            OnBlocking::Refuse if self.kernel.is_nonblocking(fd)? => Ok(()),
            OnBlocking::Refuse => Err(Error::Blocking),
        }
    }

    fn next_token(&self) -> Token {
        Token::new(self.home, self.next_token.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn home(&self) -> u64 {
        self.home
    }

    fn wait(&self, events: &mut EventBuffer, timeout: Option<Duration>) -> Result<(), Error> {
        let deadline = timeout.and_then(|timeout| self.kernel.now().checked_add(timeout));
        let mut left = timeout;
        loop {
            match self.kernel.epoll_wait(self.fd(), events, left) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    let now = self.kernel.now();
                    left = deadline.map(|deadline| deadline.saturating_duration_since(now));
                }
                result => return Ok(result?),
            }
        }
    }

    /// Leaves the interest list. A registration whose descriptor is gone or refers to another file
    /// cannot be removed by its number; it is counted, since the old file may still make events.
    fn delete(&self, target: Borrowed<'_, K>) -> Result<(), Error> {
        self.check_owner()?;
        self.kernel.epoll_delete(self.fd(), target).map_err(|error| {
            self.ghosts.fetch_add(1, Ordering::Relaxed);
            Error::Os(error)
        })
    }

    /// Counts a registration that nothing can name any more. (In a forked child it is the
    /// parent's.)
    fn count_ghost(&self) {
        if self.check_owner().is_ok() {
            self.ghosts.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Events {
    /// Room for `capacity` events a wait.
    ///
    /// # Panics
    ///
    /// If `capacity` is zero. [`Epoll::wait`] has the example.
    pub fn with_capacity(capacity: usize) -> Events {
        Events { buffer: EventBuffer::with_capacity(capacity), home: 0 }
    }

    /// The events of the last wait, in the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = Event> {
        self.buffer.iter().map(|event| Event::new(self.home, event))
    }

    /// How many events the last wait brought.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether the last wait brought none: it timed out.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }
}

impl Event {
    pub(crate) fn new(home: u64, (data, flags): (u64, EventFlags)) -> Event {
        Event { token: Token::new(home, data), readiness: Readiness::new(flags) }
    }
}

/// No wait on it with a time-out of zero blocks.
impl<K: Kernel> Source for Epoll<K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.instance.fd()
    }
}

impl<K: Kernel> AsFd for Epoll<K>
where
    K::Fd: AsFd,
{
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.instance.fd.as_fd()
    }
}

impl<K: Kernel> fmt::Debug for Epoll<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoll")
            .field("fd", &number::<K>(self.instance.fd()))
            .finish_non_exhaustive()
    }
}
