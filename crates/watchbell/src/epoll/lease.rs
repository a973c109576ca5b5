//! The right to work on one source, as a value.

use super::leases::Shared;
use super::{Event, Interest, Leases, Readiness, Source, Token};
use crate::Rejected;
use crate::kernel::{Kernel, Linux};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use std::fmt;

/// A source that an event of [`Leases`] handed out, with the duty to decide what becomes of it.
///
/// | decision | the source | system calls |
/// | --- | --- | --- |
/// | [`rearm`](Lease::rearm) | rests in the set again, until its next event | one `EPOLL_CTL_MOD` |
/// | [`transfer`](Lease::transfer) | rests in another set | `EPOLL_CTL_ADD`, `EPOLL_CTL_DEL` |
/// | [`close`](Lease::close) | is the caller's | `EPOLL_CTL_DEL` |
///
/// A lease that is dropped undecided, say by a panic, removes its source from the interest list and
/// closes it, so that the peer learns of it; [`Leases::undecided`] counts it. In a forked child
/// dropping it only closes the child's descriptor.
///
/// Each decision consumes the lease. It cannot be re-armed twice, nor used once it was re-armed and
/// belongs to whoever gets the next event:
///
/// ```compile_fail,E0382
/// # use watchbell::epoll::{Interest, Leases};
/// # let (left, _right) = std::os::unix::net::UnixStream::pair().unwrap();
/// # let leases = Leases::new().unwrap();
/// # leases.add(left, Interest::WRITABLE).unwrap();
/// let lease = leases.wait(None).unwrap().unwrap();
/// lease.rearm().unwrap();
/// lease.get_ref(); // moved by `rearm`
/// ```
///
/// The next lease is made by the next event:
///
/// ```
/// # use watchbell::epoll::{Interest, Leases};
/// # let (left, _right) = std::os::unix::net::UnixStream::pair()?;
/// # let leases = Leases::new()?;
/// # leases.add(left, Interest::WRITABLE)?;
/// let lease = leases.wait(None)?.unwrap();
/// lease.rearm()?;
/// let lease = leases.wait(None)?.unwrap();
/// lease.get_ref();
/// # drop(lease.close());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a lease that is dropped undecided closes its source"]
pub struct Lease<S: Source<Fd = K::Fd>, K: Kernel = Linux> {
    home: Arc<Shared<S, K>>,
    /// `None` only once a decision has taken it.
    source: Option<S>,
    interest: Interest,
    event: Event,
}

impl<S: Source<Fd = K::Fd>, K: Kernel> Lease<S, K> {
    pub(super) fn new(
        home: Arc<Shared<S, K>>,
        source: S,
        interest: Interest,
        event: Event,
    ) -> Lease<S, K> {
        Lease { home, source: Some(source), interest, event }
    }

    /// The source.
    pub fn get_ref(&self) -> &S {
        self.source.as_ref().expect("only a decision takes the source, and it consumes self")
    }

    /// The source, to be used but not replaced: see [`Leases::ghosts`].
    pub fn get_mut(&mut self) -> &mut S {
        self.source.as_mut().expect("only a decision takes the source, and it consumes self")
    }

    /// What the event said. A hint: the result of the operation on the source decides.
    pub fn readiness(&self) -> Readiness {
        self.event.readiness
    }

    /// What the source was watched for.
    pub fn interest(&self) -> Interest {
        self.interest
    }

    /// The name that [`Leases::add`] gave to the source. Re-arming keeps it.
    pub fn token(&self) -> Token {
        self.event.token
    }

    /// Gives the source back to the set, for the same interest, by one `EPOLL_CTL_MOD`.
    ///
    /// The kernel looks again: whatever arrived since the event, or was left unread, makes the next
    /// event at once. That may be on another thread, before this call returns.
    ///
    /// # Errors
    ///
    /// The lease comes back in [`Rejected`], to be decided otherwise, with
    /// [`Error::Forked`](crate::Error::Forked) in a forked child,
    /// [`Error::Closed`](crate::Error::Closed) if the set was dropped, or
    /// [`Error::Os`](crate::Error::Os) with the errors of
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html). None of the latter
    /// is expected of a source whose descriptor is still the one that was added.
    ///
    /// The [type](Lease) has the example.
    #[doc(alias = "EPOLL_CTL_MOD")]
    pub fn rearm(self) -> Result<(), Rejected<Lease<S, K>>> {
        let interest = self.interest;
        self.rearm_with(interest)
    }

    /// As [`rearm`](Lease::rearm), for another interest.
    ///
    /// # Errors
    ///
    /// As [`rearm`](Lease::rearm).
    ///
    /// # Example
    ///
    /// A source that has something to say waits for room.
    ///
    /// ```
    /// # use std::io::Write;
    /// # use std::os::unix::net::UnixStream;
    /// # use watchbell::epoll::{Interest, Leases};
    /// let (mut client, server) = UnixStream::pair()?;
    /// let leases = Leases::new()?;
    /// leases.add(server, Interest::READABLE)?;
    /// client.write_all(b"?")?;
    ///
    /// let lease = leases.wait(None)?.unwrap();
    /// assert!(lease.readiness().is_readable());
    /// lease.rearm_with(Interest::WRITABLE)?;
    /// let lease = leases.wait(None)?.unwrap();
    /// assert!(lease.readiness().is_writable());
    /// drop(lease.close());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "EPOLL_CTL_MOD")]
    pub fn rearm_with(mut self, interest: Interest) -> Result<(), Rejected<Lease<S, K>>> {
        if let Err(error) = self.home.instance.check_owner() {
            return Err(Rejected { source: self, error });
        }
        let source = self.decide();
        match self.home.put_back(source, interest, self.event.token) {
            Ok(()) => Ok(()),
            Err(rejected) => Err(self.undo(rejected)),
        }
    }

    /// Moves the source to another set, for the same interest, and returns its name there.
    ///
    /// It joins the other interest list before it leaves this one, so that a refusal changes
    /// nothing. Between the two calls only the other set can have its event: here the registration
    /// has been silent since its own. Within one set this is [`rearm`](Lease::rearm).
    ///
    /// # Errors
    ///
    /// The lease comes back in [`Rejected`], with the errors of [`Leases::add`], from
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html);
    /// [`Error::Closed`](crate::Error::Closed) if the other set was dropped. That it could not
    /// leave this set's interest list is no error, and counted by [`Leases::ghosts`].
    ///
    /// # Example
    ///
    /// ```
    /// # use std::os::unix::net::UnixStream;
    /// # use watchbell::epoll::{Interest, Leases};
    /// let (busy, idle) = (Leases::new()?, Leases::new()?);
    /// let (left, _right) = UnixStream::pair()?;
    /// busy.add(left, Interest::WRITABLE)?;
    ///
    /// let token = busy.wait(None)?.unwrap().transfer(&idle)?;
    /// let lease = idle.wait(None)?.unwrap();
    /// assert_eq!(lease.token(), token);
    /// assert_eq!((busy.out(), idle.out()), (0, 1));
    /// # drop(lease.close());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "EPOLL_CTL_ADD")]
    pub fn transfer(mut self, other: &Leases<S, K>) -> Result<Token, Rejected<Lease<S, K>>> {
        let other = other.shared();
        if Arc::ptr_eq(&self.home, other) {
            let token = self.event.token;
            return self.rearm().map(|()| token);
        }
        let owned = self.home.instance.check_owner();
        if let Err(error) = owned.and_then(|()| other.instance.check_owner()) {
            return Err(Rejected { source: self, error });
        }
        let home = Arc::clone(&self.home);
        let source = self.decide();
        match other.admit(source, self.interest, Some(&home)) {
            Ok(token) => Ok(token),
            Err(rejected) => Err(self.undo(rejected)),
        }
    }

    /// Ends the registration and gives the source back. One that could not be removed from the
    /// interest list is counted by [`Leases::ghosts`].
    #[doc(alias = "EPOLL_CTL_DEL")]
    pub fn close(mut self) -> S {
        let source = self.decide();
        self.home.leave(&source);
        source
    }

    /// Takes the source: from here on, dropping the lease does nothing.
    ///
    /// The lease stops being out before the source can be handed out again, so that a source is
    /// never counted by two leases.
    fn decide(&mut self) -> S {
        self.home.out.fetch_sub(1, Ordering::Relaxed);
        self.source.take().expect("only a decision takes the source, and it consumes self")
    }

    /// The decision was refused: the lease is out again.
    fn undo(mut self, Rejected { source, error }: Rejected<S>) -> Rejected<Lease<S, K>> {
        self.home.out.fetch_add(1, Ordering::Relaxed);
        self.source = Some(source);
        Rejected { source: self, error }
    }
}

impl<S: Source<Fd = K::Fd>, K: Kernel> Drop for Lease<S, K> {
    fn drop(&mut self) {
        // A forked child has a copy, which was never a lease of its own; `source` is closed below.
        if self.source.is_none() || self.home.instance.check_owner().is_err() {
            return;
        }
        let source = self.decide();
        self.home.leave(&source);
        self.home.undecided.fetch_add(1, Ordering::Relaxed);
        drop(source);
        if let Some(report) = self.home.report.get() {
            report(self.event);
        }
    }
}

impl<S: Source<Fd = K::Fd> + fmt::Debug, K: Kernel> fmt::Debug for Lease<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("source", &self.source)
            .field("interest", &self.interest)
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}
