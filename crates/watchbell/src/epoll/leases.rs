//! A set of one-shot registrations, and the waiting that hands their sources out.

use super::next_home;
use super::{Event, Events, Instance, Interest, Lease, Source, Token};
use crate::kernel::{Borrowed, EventBuffer, EventFlags, Kernel, Linux, number};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, OnceLock, lock};
use crate::{Error, Rejected};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// One-shot registrations (`EPOLLONESHOT`), whose event hands out the source itself.
///
/// This is an epoll instance of its own, and it keeps the sources that are added to it. An event
/// takes the source out and gives it to whoever waited, as a [`Lease`]; from then on the kernel is
/// silent about it (epoll_ctl(2)), whatever arrives. Whoever holds the lease works on the source,
/// alone, and decides: [`rearm`](Lease::rearm), [`transfer`](Lease::transfer) or
/// [`close`](Lease::close).
///
/// Any number of threads may wait on one `Leases` by `&self`, and a lease may be given back from
/// any thread. There is no way to re-arm early, to re-arm twice, or for two threads to hold one
/// source.
///
/// Whether an edge or a level is watched makes no difference to a registration that is told once,
/// and re-arming looks again (`EPOLL_CTL_MOD`), so that what arrived in between is never lost. That
/// is also why a source is not required to be non-blocking: one read an event is enough. Readiness
/// is a hint all the same, and only a non-blocking source is certain not to block.
///
/// Dropping the set removes and closes the sources that rest in it. A lease that is still out can
/// be closed or transferred then, and re-arming it is refused with [`Error::Closed`].
///
/// # Example
///
/// ```
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
/// use watchbell::epoll::{Interest, Leases};
///
/// let (mut client, server) = UnixStream::pair()?;
/// let leases = Leases::new()?;
/// leases.add(server, Interest::READABLE)?;
///
/// client.write_all(b"bell")?;
/// let mut lease = leases.wait(None)?.expect("without a time-out it waits for an event");
/// assert_eq!(leases.out(), 1);
///
/// let mut four = [0; 4];
/// lease.get_mut().read_exact(&mut four)?;
/// lease.rearm()?; // gone: the next event makes the next lease
/// assert_eq!((leases.out(), leases.undecided()), (0, 0));
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias = "EPOLLONESHOT")]
pub struct Leases<S: Source<Fd = K::Fd>, K: Kernel = Linux> {
    shared: Arc<Shared<S, K>>,
}

/// What a set and its leases share.
pub(super) struct Shared<S: Source<Fd = K::Fd>, K: Kernel> {
    pub(super) instance: Instance<K>,
    resting: Mutex<Resting<S>>,
    /// The sources that have been added and have not left, resting or leased.
    len: AtomicUsize,
    /// Leases that are not decided yet.
    pub(super) out: AtomicUsize,
    pub(super) undecided: AtomicU64,
    pub(super) report: OnceLock<Report>,
    stale: AtomicU64,
}

type Report = Box<dyn Fn(Event) + Send + Sync>;

/// The sources that are in the interest list and not leased.
///
/// The lock around it is held while a source is armed (`EPOLL_CTL_ADD`, `EPOLL_CTL_MOD`): another
/// thread may have its event before the call has returned, and waits for the lock until the source
/// is in its place.
pub(super) struct Resting<S> {
    sources: BTreeMap<Token, (S, Interest)>,
    closed: bool,
}

impl<S: Source<Fd = OwnedFd>> Leases<S, Linux> {
    /// A new set, with an epoll instance of the running kernel that is closed on exec.
    ///
    /// # Errors
    ///
    /// As [`Epoll::new`](super::Epoll::new). The [type](Leases) has the example.
    #[doc(alias = "epoll_create1")]
    pub fn new() -> io::Result<Leases<S, Linux>> {
        Leases::on(Linux)
    }
}

impl<S: Source<Fd = K::Fd>, K: Kernel> Leases<S, K> {
    /// A new set, with an epoll instance of `kernel`.
    ///
    /// # Errors
    ///
    /// As [`Epoll::new`](super::Epoll::new), which has an example on another kernel.
    #[doc(alias = "epoll_create1")]
    pub fn on(kernel: K) -> io::Result<Leases<S, K>> {
        let shared = Shared {
            instance: Instance::on(kernel, next_home())?,
            resting: Mutex::new(Resting { sources: BTreeMap::new(), closed: false }),
            len: AtomicUsize::new(0),
            out: AtomicUsize::new(0),
            undecided: AtomicU64::new(0),
            report: OnceLock::new(),
            stale: AtomicU64::new(0),
        };
        Ok(Leases { shared: Arc::new(shared) })
    }
}

impl<S: Source<Fd = K::Fd>, K: Kernel> Leases<S, K> {
    /// Adds a source. Its next event hands it out; so may readiness that is there already.
    ///
    /// # Errors
    ///
    /// The source comes back in [`Rejected`], with [`Error::Forked`] in a forked child, or
    /// [`Error::Os`] with the errors of
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html), as
    /// [`Epoll::level`](super::Epoll::level) has them. The [type](Leases) has the example.
    #[doc(alias = "EPOLL_CTL_ADD")]
    pub fn add(&self, source: S, interest: Interest) -> Result<Token, Rejected<S>> {
        match self.shared.instance.check_owner() {
            Ok(()) => self.shared.admit(source, interest, None),
            Err(error) => Err(Rejected { source, error }),
        }
    }

    /// Takes a source that rests here out of the set, such as one that has been idle for too long.
    ///
    /// `None`: it is leased, or gone. If another thread's wait has its event already, that event is
    /// discarded there and hands out nothing, in particular no source that was added since: a token
    /// is never used twice.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`] in a forked child. That
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html) could not remove it
    /// is none, and counted by [`ghosts`](Leases::ghosts).
    ///
    /// ```
    /// # use std::os::unix::net::UnixStream;
    /// # use watchbell::epoll::{Interest, Leases};
    /// let leases = Leases::new()?;
    /// let idle = leases.add(UnixStream::pair()?.0, Interest::NONE)?;
    /// assert!(leases.take(idle)?.is_some());
    /// assert!(leases.take(idle)?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "EPOLL_CTL_DEL")]
    pub fn take(&self, token: Token) -> Result<Option<S>, Error> {
        self.shared.instance.check_owner()?;
        let taken = lock(&self.shared.resting).sources.remove(&token);
        Ok(taken.map(|(source, _)| {
            self.shared.leave(&source);
            source
        }))
    }

    /// Waits for one event until `timeout` has passed (`None`: for ever) and leases its source.
    ///
    /// Of several threads that wait here, one is given each event. An interrupted wait (`EINTR`)
    /// goes on with what is left of its time-out, which never ends early.
    ///
    /// A waiter of an empty set sleeps too, since a source may still be added; and dropping the set
    /// is not possible while it is being waited on. To end the waiters, put a source of your own
    /// into the set, such as an eventfd (`S` is then an enum of both). Its event goes to one
    /// waiter, who gives it back for the next and leaves:
    ///
    /// ```
    /// # use watchbell::epoll::{Interest, Leases};
    /// # use watchbell::eventfd::Counter;
    /// let (leases, end) = (Leases::new()?, Counter::new(1)?); // never taken: it stays readable
    /// let waiter = || leases.wait(None).unwrap().unwrap().rearm().unwrap();
    /// std::thread::scope(|scope| {
    ///     let _waiters = [scope.spawn(waiter), scope.spawn(waiter)];
    ///     leases.add(end, Interest::READABLE).map(drop)
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Forked`] in a forked child; no error of
    /// [epoll_pwait2(2)](https://man7.org/linux/man-pages/man2/epoll_wait.2.html) is expected.
    ///
    /// # Example
    ///
    /// Two threads wait; each source goes to one of them.
    ///
    /// ```
    /// use std::os::unix::net::UnixStream;
    /// use std::thread;
    /// use watchbell::epoll::{Interest, Leases};
    ///
    /// let leases = Leases::new()?;
    /// let (left, right) = UnixStream::pair()?;
    /// leases.add(left, Interest::WRITABLE)?;
    /// leases.add(right, Interest::WRITABLE)?;
    /// thread::scope(|scope| {
    ///     let wait = || leases.wait(None).unwrap().unwrap().close();
    ///     let (one, other) = (scope.spawn(wait), scope.spawn(wait));
    ///     let _: (UnixStream, UnixStream) = (one.join().unwrap(), other.join().unwrap());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "epoll_wait")]
    #[doc(alias = "epoll_pwait2")]
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<Lease<S, K>>, Error> {
        let mut lease = None;
        self.claim(&mut EventBuffer::with_capacity(1), timeout, |next| lease = Some(next))?;
        Ok(lease)
    }

    /// As [`wait`](Leases::wait), for a thread that hands the leases on: takes as many events as
    /// there are, up to the capacity of `events`, in one call, and appends a lease for each.
    ///
    /// All of them are leased when this returns, so that no event can be left behind in the buffer.
    ///
    /// # Errors
    ///
    /// As [`wait`](Leases::wait).
    ///
    /// # Example
    ///
    /// ```
    /// use std::os::unix::net::UnixStream;
    /// use watchbell::epoll::{Events, Interest, Leases};
    ///
    /// let leases = Leases::new()?;
    /// let (left, right) = UnixStream::pair()?;
    /// leases.add(left, Interest::WRITABLE)?;
    /// leases.add(right, Interest::WRITABLE)?;
    ///
    /// let mut ready = Vec::new();
    /// leases.wait_many(&mut Events::with_capacity(16), &mut ready, None)?;
    /// assert_eq!(ready.len(), 2);
    /// for lease in ready {
    ///     drop(lease.close());
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wait_many(
        &self,
        events: &mut Events,
        leases: &mut Vec<Lease<S, K>>,
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        self.claim(&mut events.buffer, timeout, |lease| leases.push(lease))
    }

    /// How many leases are out: made, and not yet decided. One that was leaked
    /// ([`mem::forget`]) stays in this number.
    pub fn out(&self) -> usize {
        self.shared.out.load(Ordering::Relaxed)
    }

    /// How many sources the set has, resting or leased. None: there will be no event.
    pub fn len(&self) -> usize {
        self.shared.len.load(Ordering::Relaxed)
    }

    /// Whether the set has no source.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many leases were dropped without a decision. Each had its source removed and closed.
    pub fn undecided(&self) -> u64 {
        self.shared.undecided.load(Ordering::Relaxed)
    }

    /// Calls `report` for each lease that is dropped without a decision, with the event that it was
    /// made from, on the thread that drops it. The first report that is set stays.
    ///
    /// The lease may be dropped by a panic, so the report must not panic.
    ///
    /// ```
    /// # use std::os::unix::net::UnixStream;
    /// # use watchbell::epoll::{Interest, Leases};
    /// let leases = Leases::new()?;
    /// leases.on_undecided(|event| eprintln!("a lease was dropped: {event:?}"));
    /// let (left, _right) = UnixStream::pair()?;
    /// leases.add(left, Interest::WRITABLE)?;
    /// drop(leases.wait(None)?);
    /// assert_eq!(leases.undecided(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_undecided(&self, report: impl Fn(Event) + Send + Sync + 'static) {
        let _ = self.shared.report.set(Box::new(report));
    }

    /// How many events were discarded because their source was [taken](Leases::take) after the wait
    /// had the event and before it looked for the source.
    pub fn stale(&self) -> u64 {
        self.shared.stale.load(Ordering::Relaxed)
    }

    /// How many sources could not be removed; see [`Epoll::ghosts`](super::Epoll::ghosts).
    pub fn ghosts(&self) -> u64 {
        self.shared.instance.ghosts.load(Ordering::Relaxed)
    }

    pub(super) fn shared(&self) -> &Arc<Shared<S, K>> {
        &self.shared
    }

    /// Waits until there is at least one lease, or the time is over.
    fn claim(
        &self,
        events: &mut EventBuffer,
        timeout: Option<Duration>,
        mut lease: impl FnMut(Lease<S, K>),
    ) -> Result<(), Error> {
        let Shared { instance, .. } = &*self.shared;
        instance.check_owner()?;
        let deadline = timeout.and_then(|timeout| instance.kernel.now().checked_add(timeout));
        let mut left = timeout;
        loop {
            instance.wait(events, left)?;
            let mut leased = false;
            for event in events.iter().map(|event| Event::new(instance.home(), event)) {
                let Some(next) = self.shared.hand_out(event) else { continue };
                lease(next);
                leased = true;
            }
            if leased || events.is_empty() {
                return Ok(());
            }
            let now = instance.kernel.now();
            left = deadline.map(|deadline| deadline.saturating_duration_since(now));
        }
    }
}

impl<S: Source<Fd = K::Fd>, K: Kernel> Shared<S, K> {
    /// Adds a source to the interest list and to those that rest here; where it comes from another
    /// set, it leaves that one's interest list once this one has it.
    pub(super) fn admit(
        &self,
        source: S,
        interest: Interest,
        former: Option<&Self>,
    ) -> Result<Token, Rejected<S>> {
        let token = self.instance.next_token();
        // Counted first: once it is armed, another thread may close it before this one goes on.
        self.len.fetch_add(1, Ordering::Relaxed);
        let armed = self.arm(K::epoll_add, source, interest, token, former);
        if armed.is_err() {
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
        armed.map(|()| token)
    }

    /// Puts a source back and arms it again.
    pub(super) fn put_back(
        &self,
        source: S,
        interest: Interest,
        token: Token,
    ) -> Result<(), Rejected<S>> {
        self.arm(K::epoll_modify, source, interest, token, None)
    }

    /// Arms a source and puts it in its place.
    ///
    /// Arming against the next event: as soon as the kernel has been asked, and before this thread
    /// has its answer, another thread may have fetched the event. It then has to wait for the lock,
    /// and when it gets it the source is there.
    fn arm(
        &self,
        control: Control<K>,
        source: S,
        interest: Interest,
        token: Token,
        former: Option<&Self>,
    ) -> Result<(), Rejected<S>> {
        let mut resting = lock(&self.resting);
        if resting.closed {
            return Err(Rejected { source, error: Error::Closed });
        }
        let Instance { kernel, .. } = &self.instance;
        let flags = interest.flags() | EventFlags::ONESHOT;
        let target = source.descriptor();
        if let Err(error) = control(kernel, self.instance.fd(), target, flags, token.data()) {
            return Err(Rejected { source, error: Error::Os(error) });
        }
        if let Some(former) = former {
            former.leave(&source);
        }
        resting.sources.insert(token, (source, interest));
        Ok(())
    }

    /// Makes the lease of an event, unless its source is gone.
    ///
    /// Event against removal: thread A has fetched the event, thread B takes the source out before
    /// A gets here. A finds nothing under the event's token and discards it. B, or anyone, may have
    /// added another source by then, even one with the same descriptor number: it has another
    /// token.
    fn hand_out(self: &Arc<Self>, event: Event) -> Option<Lease<S, K>> {
        let Some((source, interest)) = lock(&self.resting).sources.remove(&event.token) else {
            self.stale.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.out.fetch_add(1, Ordering::Relaxed);
        Some(Lease::new(Arc::clone(self), source, interest, event))
    }

    /// Removes a source from the interest list before it is closed or given away.
    pub(super) fn leave(&self, source: &S) {
        self.len.fetch_sub(1, Ordering::Relaxed);
        // Refused in a forked child, counted as a ghost otherwise; nothing else can be done.
        let _ = self.instance.delete(source.descriptor());
    }
}

/// `EPOLL_CTL_ADD` or `EPOLL_CTL_MOD`.
type Control<K> = fn(&K, Borrowed<'_, K>, Borrowed<'_, K>, EventFlags, u64) -> io::Result<()>;

impl<S: Source<Fd = K::Fd>, K: Kernel> Drop for Leases<S, K> {
    fn drop(&mut self) {
        // In a forked child the interest list is the parent's, and the lock may be held by a thread
        // that was not copied: the child's descriptors are closed with `Shared`, and that is all.
        if self.shared.instance.check_owner().is_err() {
            return;
        }
        let mut resting = lock(&self.shared.resting);
        resting.closed = true;
        let sources = mem::take(&mut resting.sources);
        drop(resting);
        for (source, _) in sources.into_values() {
            self.shared.leave(&source);
        }
    }
}

impl<S: Source<Fd = K::Fd>, K: Kernel> Source for Leases<S, K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.shared.instance.fd()
    }
}

impl<S: Source<Fd = K::Fd>, K: Kernel> AsFd for Leases<S, K>
where
    K::Fd: AsFd,
{
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.instance.fd.as_fd()
    }
}

impl<S: Source<Fd = K::Fd>, K: Kernel> fmt::Debug for Leases<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leases")
            .field("fd", &number::<K>(self.shared.instance.fd()))
            .field("len", &self.len())
            .field("out", &self.out())
            .field("undecided", &self.undecided())
            .finish_non_exhaustive()
    }
}
