//! The eventfd whose reads take one.

use super::object::{Object, impl_descriptor};
use super::{Admission, Adopt, AdoptError, NotAdmitted, NotSemaphore};
use crate::epoll::{ExclusiveTarget, Source};
use crate::kernel::{EventfdFlags, EventfdMode, Kernel, Linux};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// An eventfd in semaphore mode (`EFD_SEMAPHORE`): waiting takes one unit.
///
/// The words are those of [sem_post(3)] and [sem_wait(3)]. Posting n feeds n waits. Readable
/// says that there is at least one unit: whoever was told once by an edge and has taken one unit
/// goes on until [`try_wait`](Semaphore::try_wait) finds none, or keeps account of the rest. See
/// the [module](super) for what holds of both types.
///
/// # Example
///
/// ```
/// use std::thread;
/// use watchbell::eventfd::Semaphore;
///
/// let slots = Semaphore::new(2)?; // at most two at a time
/// thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             slots.wait().expect("no system call fails here");
///             // ... work ...
///             slots.post(1).expect("there is room for a unit that was taken");
///         });
///     }
/// });
/// assert!(slots.try_wait()? && slots.try_wait()? && !slots.try_wait()?);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// A [`Counter`](super::Counter) is another type, since it would hand out all units at once:
///
/// ```compile_fail,E0308
/// use watchbell::eventfd::{Counter, Semaphore};
///
/// fn worker(units: &Semaphore) {
///     units.wait().unwrap();
/// }
/// let units = Counter::new(1).unwrap();
/// worker(&units);
/// ```
///
/// ```
/// use watchbell::eventfd::Semaphore;
///
/// fn worker(units: &Semaphore) {
///     units.wait().unwrap();
/// }
/// let units = Semaphore::new(1).unwrap();
/// worker(&units);
/// ```
///
/// [sem_post(3)]: https://man7.org/linux/man-pages/man3/sem_post.3.html
/// [sem_wait(3)]: https://man7.org/linux/man-pages/man3/sem_wait.3.html
#[doc(alias = "EFD_SEMAPHORE")]
pub struct Semaphore<K: Kernel = Linux> {
    object: Object<K>,
}

impl Semaphore<Linux> {
    /// A new semaphore of the running kernel that holds `value` units.
    ///
    /// # Errors
    ///
    /// Those of [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html): `EMFILE`,
    /// `ENFILE`, `ENODEV`, `ENOMEM`.
    ///
    /// ```
    /// let semaphore = watchbell::eventfd::Semaphore::new(1)?;
    /// assert!(semaphore.try_wait()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "sem_init")]
    #[doc(alias = "eventfd2")]
    pub fn new(value: u32) -> io::Result<Semaphore<Linux>> {
        Semaphore::on(Linux, value)
    }

    /// Takes over a descriptor that was inherited or passed ([unix(7)], `SCM_RIGHTS`), once it is
    /// known to be an eventfd in semaphore mode.
    ///
    /// The semaphore keeps a duplicate that is closed on exec, under another number, and `fd` is
    /// closed.
    ///
    /// # Errors
    ///
    /// [`AdoptError`] hands the descriptor back and says what is wrong with it, or has the errors
    /// of reading `/proc` and of
    /// [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html).
    ///
    /// ```
    /// use watchbell::eventfd::{Adopt, AdoptRefusal, Semaphore};
    ///
    /// let fd = Semaphore::new(1)?.into_fd();
    /// let semaphore = Semaphore::adopt(fd, Adopt::default())?;
    /// assert!(semaphore.try_wait()?);
    ///
    /// let file = std::fs::File::open("/dev/null")?;
    /// let refused = Semaphore::adopt(file.into(), Adopt::default()).unwrap_err();
    /// assert!(matches!(refused.reason, AdoptRefusal::NotEventfd));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// [unix(7)]: https://man7.org/linux/man-pages/man7/unix.7.html
    pub fn adopt(
        fd: <Linux as Kernel>::Fd,
        policy: Adopt,
    ) -> Result<Semaphore<Linux>, AdoptError<<Linux as Kernel>::Fd>> {
        Semaphore::adopt_on(Linux, fd, policy)
    }
}

impl<K: Kernel> Semaphore<K> {
    /// A new semaphore of `kernel` that holds `value` units.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::new`], which has an example.
    #[doc(alias = "eventfd2")]
    pub fn on(kernel: K, value: u32) -> io::Result<Semaphore<K>> {
        let object = Object::create(kernel, value, EventfdFlags::SEMAPHORE)?;
        Ok(Semaphore { object })
    }

    /// As [`Semaphore::adopt`], with a descriptor of `kernel`.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::adopt`], which has an example.
    pub fn adopt_on(
        kernel: K,
        fd: K::Fd,
        policy: Adopt,
    ) -> Result<Semaphore<K>, AdoptError<K::Fd>> {
        let object = Object::adopt(kernel, fd, EventfdMode::Semaphore, policy)?;
        Ok(Semaphore { object })
    }

    /// Posts `units` at once and never blocks. Posting 0 changes nothing, though it does wake who
    /// watches edge-triggered.
    ///
    /// # Errors
    ///
    /// [`NotAdmitted`], with [`Refusal::Full`](super::Refusal::Full) where the value would pass
    /// [`MAX_COUNT`](super::MAX_COUNT) (sem_post(3): `EOVERFLOW`), and
    /// [`Refusal::TooMany`](super::Refusal::TooMany) where `units` alone do, or with the errors of
    /// [write(2)](https://man7.org/linux/man-pages/man2/write.2.html), of which no other is
    /// expected. Nothing has been posted then.
    ///
    /// # Panics
    ///
    /// If the kernel does not write eight bytes: the descriptor has been replaced behind our back.
    ///
    /// ```
    /// let semaphore = watchbell::eventfd::Semaphore::new(0)?;
    /// semaphore.post(2)?;
    /// assert!(semaphore.try_wait()? && semaphore.try_wait()? && !semaphore.try_wait()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "sem_post")]
    #[doc(alias = "eventfd_write")]
    pub fn post(&self, units: u64) -> Result<(), NotAdmitted> {
        self.object.add(units)
    }

    /// Posts `units` at once, and waits for as long as it takes until all of them fit.
    ///
    /// The wait sleeps until a unit has been taken, each time; it does not spin where there is room
    /// for less than `units`. It needs a descriptor of its own meanwhile.
    ///
    /// # Errors
    ///
    /// [`NotAdmitted`] with [`Refusal::TooMany`](super::Refusal::TooMany), which would never fit,
    /// or with the errors of [epoll_create1(2)] and [epoll_ctl(2)]. Nothing has been posted then.
    ///
    /// # Panics
    ///
    /// As [`Semaphore::post`].
    ///
    /// ```
    /// use watchbell::eventfd::{MAX_COUNT, Semaphore};
    ///
    /// let semaphore = Semaphore::new(0)?;
    /// semaphore.post(MAX_COUNT)?;
    /// std::thread::scope(|scope| {
    ///     let blocked = scope.spawn(|| semaphore.post_wait(2));
    ///     semaphore.wait()?;
    ///     semaphore.wait()?;
    ///     blocked.join().expect("it does not panic")?;
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// [epoll_create1(2)]: https://man7.org/linux/man-pages/man2/epoll_create.2.html
    /// [epoll_ctl(2)]: https://man7.org/linux/man-pages/man2/epoll_ctl.2.html
    pub fn post_wait(&self, units: u64) -> Result<(), NotAdmitted> {
        self.object.add_until(units, None)
    }

    /// As [`Semaphore::post_wait`], until `deadline`. It tries at least once.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::post_wait`], and [`Refusal::Full`](super::Refusal::Full) once the deadline
    /// has passed, never before it.
    ///
    /// # Panics
    ///
    /// As [`Semaphore::post`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use watchbell::eventfd::{MAX_COUNT, Semaphore};
    ///
    /// let semaphore = Semaphore::new(0)?;
    /// semaphore.post(MAX_COUNT)?;
    /// let deadline = Instant::now() + Duration::from_millis(2);
    /// assert!(semaphore.post_until(1, deadline).is_err());
    /// assert!(Instant::now() >= deadline);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn post_until(&self, units: u64, deadline: Instant) -> Result<(), NotAdmitted> {
        self.object.add_until(units, Some(deadline))
    }

    /// Posts `units` by a policy for the case that they do not fit.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::post`] or [`Semaphore::post_until`]: the units that were not posted, all of
    /// them.
    ///
    /// # Panics
    ///
    /// As [`Semaphore::post`].
    ///
    /// ```
    /// use watchbell::eventfd::{Admission, Semaphore};
    ///
    /// let semaphore = Semaphore::new(0)?;
    /// semaphore.admit(1, Admission::Fail)?;
    /// assert!(semaphore.try_wait()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn admit(&self, units: u64, policy: Admission) -> Result<(), NotAdmitted> {
        self.object.admit(units, policy)
    }

    /// Takes one unit, or says `false` where there is none; never blocks.
    ///
    /// # Errors
    ///
    /// [`NotSemaphore`], inside an [`io::Error`] of the kind
    /// [`InvalidData`](io::ErrorKind::InvalidData), where an adopted descriptor was
    /// [trusted](super::OnUntold::Trust) in vain. No error of
    /// [read(2)](https://man7.org/linux/man-pages/man2/read.2.html) is expected.
    ///
    /// # Panics
    ///
    /// If the kernel does not read eight bytes: the descriptor has been replaced behind our back.
    ///
    /// ```
    /// let semaphore = watchbell::eventfd::Semaphore::new(1)?;
    /// assert!(semaphore.try_wait()?);
    /// assert!(!semaphore.try_wait()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "sem_trywait")]
    #[doc(alias = "eventfd_read")]
    pub fn try_wait(&self) -> io::Result<bool> {
        self.object.read()?.map_or(Ok(false), one_unit)
    }

    /// Takes one unit, and waits until there is one.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::try_wait`], and those of
    /// [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html): `ENOMEM`.
    ///
    /// # Panics
    ///
    /// As [`Semaphore::try_wait`].
    ///
    /// ```
    /// let semaphore = watchbell::eventfd::Semaphore::new(0)?;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| semaphore.post(1));
    ///     semaphore.wait()
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "sem_wait")]
    pub fn wait(&self) -> io::Result<()> {
        one_unit(self.object.read_wait()?).map(|_| ())
    }

    /// As [`Semaphore::wait`], or `false` once `deadline` has passed, never before it. It tries at
    /// least once.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::wait`].
    ///
    /// # Panics
    ///
    /// As [`Semaphore::try_wait`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let semaphore = watchbell::eventfd::Semaphore::new(0)?;
    /// let deadline = Instant::now() + Duration::from_millis(2);
    /// assert!(!semaphore.wait_until(deadline)?);
    /// assert!(Instant::now() >= deadline);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "sem_timedwait")]
    #[doc(alias = "sem_clockwait")]
    pub fn wait_until(&self, deadline: Instant) -> io::Result<bool> {
        self.object.read_until(Some(deadline))?.map_or(Ok(false), one_unit)
    }

    /// Another descriptor of the same semaphore: they share its units, and it lives as long as
    /// either.
    ///
    /// # Errors
    ///
    /// Those of [dup(2)](https://man7.org/linux/man-pages/man2/dup.2.html): `EMFILE`.
    ///
    /// ```
    /// let semaphore = watchbell::eventfd::Semaphore::new(0)?;
    /// semaphore.try_clone()?.post(1)?;
    /// assert!(semaphore.try_wait()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "dup")]
    pub fn try_clone(&self) -> io::Result<Semaphore<K>> {
        Ok(Semaphore { object: self.object.duplicate()? })
    }

    /// The descriptor, to be passed on; [`Semaphore::adopt`] is the way back.
    pub fn into_fd(self) -> K::Fd {
        self.object.into_fd()
    }
}

/// A read took `units`. That it was one is known of every semaphore but one whose mode was trusted.
fn one_unit(units: u64) -> io::Result<bool> {
    if units == 1 { Ok(true) } else { Err(NotSemaphore { units }.into()) }
}

impl_descriptor!(Semaphore);
