//! A source in the interest list.

use super::{Instance, Interest, OnBlocking, Source, Token};
use crate::kernel::{Borrowed, EventFlags, Kernel, Linux, number};
use crate::sync::Arc;
use crate::{Error, Rejected};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A source that is registered, and leaves the interest list when this is dropped.
///
/// `M` is how it is watched: [`Level`], [`Edge`] or [`Exclusive`](super::Exclusive).
///
/// In a forked child dropping it only closes the child's descriptor: the interest list is the
/// parent's.
#[must_use = "a registration that is dropped ends at once"]
pub struct Registered<S: Source<Fd = K::Fd>, M: Mode, K: Kernel = Linux> {
    instance: Arc<Instance<K>>,
    /// `None` only once [`into_inner`](Registered::into_inner) has taken it.
    source: Option<S>,
    /// The descriptor that was registered.
    number: i32,
    token: Token,
    mode: PhantomData<M>,
}

/// Level-triggered: told at each wait for as long as the source is ready.
#[derive(Debug)]
pub enum Level {}

/// Edge-triggered (`EPOLLET`): told once an edge.
#[derive(Debug)]
pub enum Edge {}

/// How a registration is watched: the flags that make the mode.
///
/// Sealed: the modes are those of epoll_ctl(2).
pub trait Mode: sealed::Sealed {
    #[doc(hidden)]
    const FLAGS: EventFlags;
}

pub(super) mod sealed {
    #[expect(unnameable_types, reason = "sealed on purpose")]
    pub trait Sealed {}
}

impl sealed::Sealed for Level {}
impl sealed::Sealed for Edge {}

impl Mode for Level {
    const FLAGS: EventFlags = EventFlags::empty();
}

impl Mode for Edge {
    const FLAGS: EventFlags = EventFlags::ET;
}

/// The modes whose registrations `EPOLL_CTL_MOD` accepts.
pub trait Modifiable: Mode {}

impl Modifiable for Level {}
impl Modifiable for Edge {}

impl<S: Source<Fd = K::Fd>, M: Mode, K: Kernel> Registered<S, M, K> {
    /// Registers `source`; of one that must not block, `on_blocking` says what to do if it would,
    /// unless its type says that it does not.
    ///
    /// The process is looked at first: `O_NONBLOCK` of an inherited descriptor is the parent's too.
    pub(crate) fn add(
        instance: &Arc<Instance<K>>,
        source: S,
        token: Token,
        flags: EventFlags,
        on_blocking: Option<OnBlocking>,
    ) -> Result<Self, Rejected<S>> {
        let added = instance.check_owner().and_then(|()| {
            let (epoll, target) = (instance.fd(), source.descriptor());
            if let Some(on_blocking) = on_blocking
                && !S::IS_NONBLOCKING
            {
                instance.ensure_nonblocking(target, on_blocking)?;
            }
            instance.kernel.epoll_add(epoll, target, flags | M::FLAGS, token.data())?;
            Ok(number::<K>(target))
        });
        match added {
            Ok(number) => Ok(Registered {
                instance: Arc::clone(instance),
                source: Some(source),
                number,
                token,
                mode: PhantomData,
            }),
            Err(error) => Err(Rejected { source, error }),
        }
    }

    /// Registers a source that does not block, under data of the caller's own.
    pub(crate) fn add_as(
        instance: &Arc<Instance<K>>,
        source: S,
        data: u64,
        flags: EventFlags,
    ) -> Result<Self, Rejected<S>> {
        Registered::add(instance, source, Token::new(instance.home(), data), flags, None)
    }

    /// The name that its events carry.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The source.
    pub fn get_ref(&self) -> &S {
        self.source.as_ref().expect("only into_inner takes the source, and it consumes self")
    }

    /// The source, to be used but not replaced: see [`Epoll::ghosts`](super::Epoll::ghosts).
    pub fn get_mut(&mut self) -> &mut S {
        self.source.as_mut().expect("only into_inner takes the source, and it consumes self")
    }

    /// Leaves the interest list and gives the source back. A registration that could not be removed
    /// is counted by [`Epoll::ghosts`](super::Epoll::ghosts).
    #[doc(alias = "EPOLL_CTL_DEL")]
    pub fn into_inner(mut self) -> S {
        self.delete();
        self.source.take().expect("only into_inner takes the source, and it consumes self")
    }

    pub(crate) fn descriptor(&self) -> Borrowed<'_, K> {
        self.get_ref().descriptor()
    }

    /// Registers with another epoll instance, beside its own.
    pub(crate) fn add_to(
        &self,
        instance: &Arc<Instance<K>>,
        flags: EventFlags,
    ) -> Result<(), Error> {
        let (epoll, target) = (instance.fd(), self.descriptor());
        Ok(instance.kernel.epoll_add(epoll, target, flags | M::FLAGS, self.token.data())?)
    }

    /// Takes the other instance for its own, which is about to end.
    pub(crate) fn adopt(&mut self, instance: &Arc<Instance<K>>) {
        self.instance = Arc::clone(instance);
    }

    /// Leaves the interest list. A source that has another descriptor now, or panics when it is
    /// asked for it, leaves a ghost: the descriptor's own registration, if it has one, is not ours
    /// to end.
    fn delete(&self) {
        let Some(source) = &self.source else { return };
        match catch_unwind(AssertUnwindSafe(|| source.descriptor())) {
            // Refused in a forked child, counted as a ghost otherwise; nothing else can be done.
            Ok(target) if number::<K>(target) == self.number => drop(self.instance.delete(target)),
            Ok(_) => self.instance.count_ghost(),
            Err(panic) => {
                self.instance.count_ghost();
                resume_unwind(panic)
            }
        }
    }
}

impl<S: Source<Fd = K::Fd>, M: Modifiable, K: Kernel> Registered<S, M, K> {
    /// Watches for something else from now on. Readiness that is already there is told (again).
    ///
    /// # Errors
    ///
    /// [`Error::Forked`] in a forked child; [`Error::Os`] with the errors of
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html): `ENOENT` or `EBADF`
    /// if the source has another descriptor now or none, `ENOMEM`.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::os::unix::net::UnixStream;
    /// # use watchbell::epoll::{Epoll, Events, Interest};
    /// let epoll = Epoll::new()?;
    /// let (left, _right) = UnixStream::pair()?;
    /// let left = epoll.level(left, Interest::READABLE)?;
    /// left.modify(Interest::WRITABLE)?;
    /// let mut events = Events::with_capacity(16);
    /// epoll.wait(&mut events, None)?;
    /// assert!(events.iter().all(|event| event.readiness.is_writable()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "EPOLL_CTL_MOD")]
    pub fn modify(&self, interest: Interest) -> Result<(), Error> {
        self.instance.check_owner()?;
        let flags = interest.flags() | M::FLAGS;
        let Instance { kernel, .. } = &*self.instance;
        Ok(kernel.epoll_modify(self.instance.fd(), self.descriptor(), flags, self.token.data())?)
    }
}

impl<S: Source<Fd = K::Fd>, M: Mode, K: Kernel> Drop for Registered<S, M, K> {
    fn drop(&mut self) {
        self.delete();
    }
}

impl<S: Source<Fd = K::Fd> + fmt::Debug, M: Mode, K: Kernel> fmt::Debug for Registered<S, M, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("source", &self.source)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
