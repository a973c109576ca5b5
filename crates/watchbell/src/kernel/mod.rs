//! The one door to the operating system.
//!
//! Nothing above this module makes a system call: every type of the library is generic over a
//! [`Kernel`], and [`Linux`] is the default. Two traits say what a backend owes:
//!
//! - [`Kernel`]: descriptors, [eventfd(2)], [epoll(7)], [poll(2)], the monotonic clock, the
//!   process;
//! - [`Sockets`]: the socket calls that [`net`](crate::net) is made of.
//!
//! A backend makes each call once and reports what came of it. It retries nothing, not even
//! `EINTR`, and it keeps no state about readiness: both belong to the layers above.
//!
//! [`Counting`] is a decorator that counts the calls of another kernel. It shares the descriptors
//! of the kernel that it wraps, so that a source made for one can be registered on the other.
//!
//! [eventfd(2)]: https://man7.org/linux/man-pages/man2/eventfd.2.html
//! [epoll(7)]: https://man7.org/linux/man-pages/man7/epoll.7.html
//! [poll(2)]: https://man7.org/linux/man-pages/man2/poll.2.html

mod address;
mod counting;
mod descriptor;
mod fork;
mod inq;
mod linux;
mod linux_sockets;
mod old_wait;
mod sockets;

pub use address::{Address, AddressError};
pub use counting::{Call, Counting};
pub(crate) use descriptor::number;
pub use descriptor::{Borrowed, Descriptor};
pub use linux::Linux;
pub use sockets::{Received, Shutdown, Sockets};

pub use rustix::event::EventfdFlags;
pub use rustix::event::epoll::EventFlags;

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// A kernel: the system calls that event loops on eventfd and epoll are made of.
///
/// The methods carry the names of the calls that they make; the man pages say what those do.
/// Errors are the call's own `errno` as an [`io::Error`].
pub trait Kernel: Clone + Send + Sync + 'static {
    /// An open descriptor; dropping it closes it.
    type Fd: Descriptor;

    /// [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html): a counter that starts at
    /// `initval`.
    fn eventfd(&self, initval: u32, flags: EventfdFlags) -> io::Result<Self::Fd>;

    /// What kind of object the descriptor refers to, as far as the kernel tells.
    fn eventfd_mode(&self, fd: Borrowed<'_, Self>) -> io::Result<EventfdMode>;

    /// [read(2)](https://man7.org/linux/man-pages/man2/read.2.html).
    fn read(&self, fd: Borrowed<'_, Self>, buf: &mut [u8]) -> io::Result<usize>;

    /// [write(2)](https://man7.org/linux/man-pages/man2/write.2.html).
    fn write(&self, fd: Borrowed<'_, Self>, buf: &[u8]) -> io::Result<usize>;

    /// Whether `O_NONBLOCK` is set on the open file
    /// ([fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html), `F_GETFL`).
    fn is_nonblocking(&self, fd: Borrowed<'_, Self>) -> io::Result<bool>;

    /// Sets `O_NONBLOCK` on the open file, and so for every duplicate of it, in one call
    /// (`ioctl(FIONBIO)`).
    fn set_nonblocking(&self, fd: Borrowed<'_, Self>) -> io::Result<()>;

    /// Another descriptor of the same open file, closed on exec (`F_DUPFD_CLOEXEC`).
    fn duplicate(&self, fd: Borrowed<'_, Self>) -> io::Result<Self::Fd>;

    /// [epoll_create1(2)](https://man7.org/linux/man-pages/man2/epoll_create.2.html), closed on exec.
    fn epoll_create(&self) -> io::Result<Self::Fd>;

    /// `EPOLL_CTL_ADD` of [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html).
    fn epoll_add(
        &self,
        epoll: Borrowed<'_, Self>,
        target: Borrowed<'_, Self>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()>;

    /// `EPOLL_CTL_MOD` of [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html).
    fn epoll_modify(
        &self,
        epoll: Borrowed<'_, Self>,
        target: Borrowed<'_, Self>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()>;

    /// `EPOLL_CTL_DEL` of [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html).
    fn epoll_delete(&self, epoll: Borrowed<'_, Self>, target: Borrowed<'_, Self>)
    -> io::Result<()>;

    /// [epoll_pwait2(2)](https://man7.org/linux/man-pages/man2/epoll_wait.2.html): replaces what the
    /// buffer holds by at most its capacity of events. `None` waits for ever; the time-out has
    /// nanosecond resolution, where the kernel has it, and never ends early. ([`Linux`] makes do
    /// with epoll_wait(2) and whole milliseconds before Linux 5.11.)
    fn epoll_wait(
        &self,
        epoll: Borrowed<'_, Self>,
        events: &mut EventBuffer,
        timeout: Option<Duration>,
    ) -> io::Result<()>;

    /// [ppoll(2)](https://man7.org/linux/man-pages/man2/poll.2.html) of one descriptor for input:
    /// whether it became readable, or failed, before the time-out.
    fn poll_readable(&self, fd: Borrowed<'_, Self>, timeout: Option<Duration>) -> io::Result<bool>;

    /// The monotonic clock.
    fn now(&self) -> Instant;

    /// Which process this is: never the same in a forked child as it was in its parent before the
    /// [fork(2)](https://man7.org/linux/man-pages/man2/fork.2.html).
    ///
    /// It is asked once a turn of a loop. [`Linux`] makes no system call for it, where the kernel
    /// wipes a page at a fork (`MADV_WIPEONFORK`). A child of vfork(2) shares its parent's memory,
    /// is not told from its parent, and may do nothing but exec.
    ///
    /// ```
    /// use watchbell::kernel::{Kernel, Linux};
    ///
    /// assert_eq!(Linux.process(), Linux.process());
    /// ```
    #[doc(alias = "getpid")]
    fn process(&self) -> Process;
}

/// A process, as [`Kernel::process`] tells it from its parent and its children.
///
/// It is no process id, and tells nothing of processes that are not each other's ancestors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process(u64);

impl Process {
    /// The process that a kernel of your own calls `number`. [`Linux`] has numbers of its own.
    pub const fn new(number: u64) -> Process {
        Process(number)
    }
}

/// What [`Kernel::eventfd_mode`] found behind a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventfdMode {
    /// An eventfd whose reads take the whole count.
    Drain,
    /// An eventfd whose reads take one unit (`EFD_SEMAPHORE`).
    Semaphore,
    /// An eventfd, but this kernel does not tell of which mode.
    Untold,
    /// Something else.
    NotEventfd,
}

/// A fixed amount of room for the events of one [`Kernel::epoll_wait`].
pub struct EventBuffer {
    events: Vec<rustix::event::epoll::Event>,
}

impl EventBuffer {
    /// Room for `capacity` events a wait, the `maxevents` of epoll_wait(2).
    ///
    /// # Panics
    ///
    /// If `capacity` is zero: the call would be refused with `EINVAL` each time.
    pub fn with_capacity(capacity: usize) -> EventBuffer {
        assert!(capacity > 0, "an event buffer has room for at least one event");
        EventBuffer { events: Vec::with_capacity(capacity) }
    }

    /// How many events the last wait brought.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether the last wait brought none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The event at `index` of the last wait: its data and its flags.
    pub fn get(&self, index: usize) -> Option<(u64, EventFlags)> {
        self.events.get(index).map(|event| (event.data.u64(), event.flags))
    }

    /// The events of the last wait, in the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, EventFlags)> {
        self.events.iter().map(|event| (event.data.u64(), event.flags))
    }

    /// Forgets the events of the last wait.
    pub fn clear(&mut self) {
        self.events.clear();
    }
}

impl fmt::Debug for EventBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
