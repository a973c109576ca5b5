//! The eventfd whose reads take everything.

use super::object::{Object, impl_descriptor};
use super::{Admission, Adopt, AdoptError, NotAdmitted, Refusal};
use crate::epoll::{ExclusiveTarget, Source};
use crate::kernel::{EventfdFlags, EventfdMode, Kernel, Linux};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// An eventfd in drain mode: taking takes the whole count and leaves zero.
///
/// Several additions collapse into one taking. See the [module](super) for what holds of both
/// types.
///
/// # Example
///
/// ```
/// use std::thread;
/// use watchbell::eventfd::Counter;
///
/// let done = Counter::new(0)?;
/// thread::scope(|scope| {
///     scope.spawn(|| done.add(2));
///     scope.spawn(|| done.add(3));
///     let mut seen = 0;
///     while seen < 5 {
///         seen += done.take()?; // 2 and 3 in any order, or 5 at once
///     }
///     Ok::<(), std::io::Error>(())
/// })?;
/// assert_eq!(done.try_take()?, None);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Whole numbers are added and taken. There are no bytes of which to give too few:
///
/// ```compile_fail,E0308
/// # let counter = watchbell::eventfd::Counter::new(0).unwrap();
/// counter.add(&[1, 0, 0, 0]);
/// ```
///
/// ```compile_fail,E0061
/// # let counter = watchbell::eventfd::Counter::new(0).unwrap();
/// counter.try_take(&mut [0; 4]);
/// ```
///
/// ```
/// # let counter = watchbell::eventfd::Counter::new(0)?;
/// counter.add(1)?;
/// counter.try_take()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias = "eventfd")]
pub struct Counter<K: Kernel = Linux> {
    object: Object<K>,
}

impl Counter<Linux> {
    /// A new counter of the running kernel that starts at `initval`.
    ///
    /// # Errors
    ///
    /// Those of [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html): `EMFILE`,
    /// `ENFILE`, `ENODEV`, `ENOMEM`.
    ///
    /// ```
    /// let counter = watchbell::eventfd::Counter::new(7)?;
    /// assert_eq!(counter.try_take()?, Some(7));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "eventfd2")]
    pub fn new(initval: u32) -> io::Result<Counter<Linux>> {
        Counter::on(Linux, initval)
    }

    /// Takes over a descriptor that was inherited or passed ([unix(7)], `SCM_RIGHTS`), once it is
    /// known to be an eventfd in drain mode.
    ///
    /// The counter keeps a duplicate that is closed on exec, under another number, and `fd` is
    /// closed.
    ///
    /// # Errors
    ///
    /// [`AdoptError`] hands the descriptor back and says what is wrong with it, or has the errors
    /// of reading `/proc` and of
    /// [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html).
    ///
    /// ```
    /// use watchbell::eventfd::{Adopt, AdoptRefusal, Counter, Semaphore};
    ///
    /// let fd = Counter::new(7)?.into_fd();
    /// let refused = Semaphore::adopt(fd, Adopt::default()).unwrap_err();
    /// assert!(matches!(refused.reason, AdoptRefusal::WrongMode));
    /// let counter = Counter::adopt(refused.fd, Adopt::default())?;
    /// assert_eq!(counter.try_take()?, Some(7));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// [unix(7)]: https://man7.org/linux/man-pages/man7/unix.7.html
    pub fn adopt(
        fd: <Linux as Kernel>::Fd,
        policy: Adopt,
    ) -> Result<Counter<Linux>, AdoptError<<Linux as Kernel>::Fd>> {
        Counter::adopt_on(Linux, fd, policy)
    }
}

impl<K: Kernel> Counter<K> {
    /// A new counter of `kernel` that starts at `initval`.
    ///
    /// # Errors
    ///
    /// As [`Counter::new`], which has an example.
    #[doc(alias = "eventfd2")]
    pub fn on(kernel: K, initval: u32) -> io::Result<Counter<K>> {
        let object = Object::create(kernel, initval, EventfdFlags::empty())?;
        Ok(Counter { object })
    }

    /// As [`Counter::adopt`], with a descriptor of `kernel`.
    ///
    /// # Errors
    ///
    /// As [`Counter::adopt`], which has an example.
    pub fn adopt_on(kernel: K, fd: K::Fd, policy: Adopt) -> Result<Counter<K>, AdoptError<K::Fd>> {
        let object = Object::adopt(kernel, fd, EventfdMode::Drain, policy)?;
        Ok(Counter { object })
    }

    /// One write, which makes an edge for whoever watches edge-triggered and never reads. Full, the
    /// counter refuses a write of 1; a write of 0 adds nothing and makes the edge all the same.
    pub(crate) fn ring(&self) -> Result<(), NotAdmitted> {
        match self.add(1) {
            Err(NotAdmitted { reason: Refusal::Full, .. }) => self.add(0),
            other => other,
        }
    }

    /// Adds `n` and never blocks. Adding 0 changes nothing, though it does wake who watches
    /// edge-triggered.
    ///
    /// # Errors
    ///
    /// [`NotAdmitted`], with [`Refusal::Full`](super::Refusal::Full) where the count would pass
    /// [`MAX_COUNT`](super::MAX_COUNT), and [`Refusal::TooMany`](super::Refusal::TooMany) where `n`
    /// alone does, or with the errors of
    /// [write(2)](https://man7.org/linux/man-pages/man2/write.2.html), of which no other is
    /// expected. Nothing has been added then.
    ///
    /// # Panics
    ///
    /// If the kernel does not write eight bytes: the descriptor has been replaced behind our back.
    ///
    /// ```
    /// let counter = watchbell::eventfd::Counter::new(0)?;
    /// counter.add(2)?;
    /// counter.add(3)?;
    /// assert_eq!(counter.try_take()?, Some(5));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "eventfd_write")]
    pub fn add(&self, n: u64) -> Result<(), NotAdmitted> {
        self.object.add(n)
    }

    /// Adds `n`, and waits for as long as it takes until it fits.
    ///
    /// The wait sleeps until a reader has read, each time; it does not spin where there is room for
    /// less than `n`. It needs a descriptor of its own meanwhile.
    ///
    /// # Errors
    ///
    /// [`NotAdmitted`] with [`Refusal::TooMany`](super::Refusal::TooMany), which would never fit,
    /// or with the errors of [epoll_create1(2)] and [epoll_ctl(2)]. Nothing has been added then.
    ///
    /// # Panics
    ///
    /// As [`Counter::add`].
    ///
    /// ```
    /// use watchbell::eventfd::{Counter, MAX_COUNT};
    ///
    /// let counter = Counter::new(0)?;
    /// counter.add(MAX_COUNT)?;
    /// std::thread::scope(|scope| {
    ///     let blocked = scope.spawn(|| counter.add_wait(7));
    ///     assert_eq!(counter.take()?, MAX_COUNT);
    ///     blocked.join().expect("it does not panic")?;
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// assert_eq!(counter.take()?, 7);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// [epoll_create1(2)]: https://man7.org/linux/man-pages/man2/epoll_create.2.html
    /// [epoll_ctl(2)]: https://man7.org/linux/man-pages/man2/epoll_ctl.2.html
    pub fn add_wait(&self, n: u64) -> Result<(), NotAdmitted> {
        self.object.add_until(n, None)
    }

    /// As [`Counter::add_wait`], until `deadline`. It tries at least once.
    ///
    /// # Errors
    ///
    /// As [`Counter::add_wait`], and [`Refusal::Full`](super::Refusal::Full) once the deadline has
    /// passed, never before it.
    ///
    /// # Panics
    ///
    /// As [`Counter::add`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use watchbell::eventfd::{Counter, MAX_COUNT};
    ///
    /// let counter = Counter::new(0)?;
    /// counter.add(MAX_COUNT)?;
    /// let deadline = Instant::now() + Duration::from_millis(2);
    /// assert!(counter.add_until(1, deadline).is_err());
    /// assert!(Instant::now() >= deadline);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn add_until(&self, n: u64, deadline: Instant) -> Result<(), NotAdmitted> {
        self.object.add_until(n, Some(deadline))
    }

    /// Adds `units` by a policy for the case that they do not fit.
    ///
    /// # Errors
    ///
    /// As [`Counter::add`] or [`Counter::add_until`]: the units that were not added, all of them.
    ///
    /// # Panics
    ///
    /// As [`Counter::add`].
    ///
    /// ```
    /// use watchbell::eventfd::{Admission, Counter};
    ///
    /// let counter = Counter::new(0)?;
    /// counter.admit(5, Admission::Fail)?;
    /// assert_eq!(counter.try_take()?, Some(5));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn admit(&self, units: u64, policy: Admission) -> Result<(), NotAdmitted> {
        self.object.admit(units, policy)
    }

    /// Takes the whole count, or `None` where it is zero; never blocks.
    ///
    /// [`OVERFLOW`](super::OVERFLOW) says that the kernel itself signalled more than a count can
    /// hold.
    ///
    /// # Errors
    ///
    /// No error of [read(2)](https://man7.org/linux/man-pages/man2/read.2.html) is expected.
    ///
    /// # Panics
    ///
    /// If the kernel does not read eight bytes: the descriptor has been replaced behind our back.
    ///
    /// ```
    /// let counter = watchbell::eventfd::Counter::new(3)?;
    /// assert_eq!(counter.try_take()?, Some(3));
    /// assert_eq!(counter.try_take()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "eventfd_read")]
    pub fn try_take(&self) -> io::Result<Option<u64>> {
        self.object.read()
    }

    /// Takes the whole count, and waits until it is not zero.
    ///
    /// # Errors
    ///
    /// As [`Counter::try_take`], and those of
    /// [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html): `ENOMEM`.
    ///
    /// # Panics
    ///
    /// As [`Counter::try_take`].
    ///
    /// ```
    /// let counter = watchbell::eventfd::Counter::new(0)?;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| counter.add(4));
    ///     assert_eq!(counter.take()?, 4);
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "eventfd_read")]
    pub fn take(&self) -> io::Result<u64> {
        self.object.read_wait()
    }

    /// As [`Counter::take`], or `None` once `deadline` has passed, never before it. It tries at
    /// least once.
    ///
    /// # Errors
    ///
    /// As [`Counter::take`].
    ///
    /// # Panics
    ///
    /// As [`Counter::try_take`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let counter = watchbell::eventfd::Counter::new(0)?;
    /// let deadline = Instant::now() + Duration::from_millis(2);
    /// assert_eq!(counter.take_until(deadline)?, None);
    /// assert!(Instant::now() >= deadline);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_until(&self, deadline: Instant) -> io::Result<Option<u64>> {
        self.object.read_until(Some(deadline))
    }

    /// Another descriptor of the same counter: they share the count, and it lives as long as
    /// either.
    ///
    /// # Errors
    ///
    /// Those of [dup(2)](https://man7.org/linux/man-pages/man2/dup.2.html): `EMFILE`.
    ///
    /// ```
    /// let counter = watchbell::eventfd::Counter::new(0)?;
    /// let other = counter.try_clone()?;
    /// other.add(1)?;
    /// drop(other);
    /// assert_eq!(counter.try_take()?, Some(1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "dup")]
    pub fn try_clone(&self) -> io::Result<Counter<K>> {
        Ok(Counter { object: self.object.duplicate()? })
    }

    /// The descriptor, to be passed on; [`Counter::adopt`] is the way back.
    pub fn into_fd(self) -> K::Fd {
        self.object.into_fd()
    }
}

impl_descriptor!(Counter);
