//! The epoll instance. ([epoll(7)](https://man7.org/linux/man-pages/man7/epoll.7.html))
//!
//! An instance is two lists and two queues:
//!
//! ```text
//!   target's wait queue            epoll instance
//!   ┌──────────────┐   tell    ┌───────────────────────────────┐
//!   │ registration ├──────────►│ interest list: what is watched│
//!   └──────────────┘           │                               │      epoll_wait(2)
//!                              │ ready list:  head ─► ... tail │ ───► walks it from the head
//!                              │                               │
//!                              │ waiters: threads in epoll_wait│ newest first, one a wakeup
//!                              │ pollers: poll(2), and epoll   │
//!                              │          instances that watch │
//!                              │          this one             │
//!                              └───────────────────────────────┘
//! ```
//!
//! - [`interest`]: what can be registered, and how a registration is changed;
//! - [`ready_list`]: how a wakeup of a target puts its registration on the ready list;
//! - [`wait`]: how a wait takes events off it, and what each trigger mode leaves behind;
//! - [`nested`]: an instance as the target of another.

pub(crate) mod interest;
pub(crate) mod nested;
pub(crate) mod ready_list;
pub(crate) mod wait;

pub use interest::Op;
pub(crate) use interest::Registration;

use crate::arena::Id;
use crate::errno::Errno;
use crate::file::{File, Object};
use crate::kernel::Kernel;
use crate::process::{Fd, O_CLOEXEC};
use crate::task::Task;
use crate::wait_queue::WaitQueue;
use std::collections::{BTreeMap, VecDeque};

/// An epoll instance.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Epoll {
    /// The interest list: one registration for each number and open file.
    pub(crate) interest: BTreeMap<(Id<File>, Fd), Id<Registration>>,
    /// The ready list: registrations that may have something to tell, each once.
    pub(crate) ready: VecDeque<Id<Registration>>,
    /// Threads blocked in epoll_wait(2).
    pub(crate) waiters: Id<WaitQueue>,
    /// Those who watch the instance itself.
    pub(crate) pollers: Id<WaitQueue>,
    /// Whether a thread is going through the ready list, at the permissive level.
    pub(crate) scanned: bool,
}

impl Kernel {
    /// `epoll_create1(2)`: an instance that watches nothing.
    ///
    /// # Errors
    ///
    /// `EINVAL` for any flag but `EPOLL_CLOEXEC` (C002); `EMFILE`.
    pub fn epoll_create(&mut self, task: Task, flags: u32) -> Result<Fd, Errno> {
        if flags & !O_CLOEXEC != 0 {
            return Err(Errno::EINVAL);
        }
        self.check_room(task, 1)?;
        let waiters = self.new_queue();
        let pollers = self.new_queue();
        let (interest, ready) = Default::default();
        let epoll = Epoll { interest, ready, waiters, pollers, scanned: false };
        let file = self.open(Object::Epoll(epoll), 0);
        self.install(task, file, flags)
    }

    /// The instance that is the open file.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the file is something else (C024).
    pub(crate) fn epoll(&self, file: Id<File>) -> Result<&Epoll, Errno> {
        match &self.files[file].object {
            Object::Epoll(epoll) => Ok(epoll),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The instance of a registration, or of a file that is known to be one.
    pub(crate) fn epoll_mut(&mut self, file: Id<File>) -> &mut Epoll {
        match &mut self.files[file].object {
            Object::Epoll(epoll) => epoll,
            _ => unreachable!("the file was seen to be an epoll instance"),
        }
    }

    /// The instance is closed: it lets go of everything that it watched (S219).
    pub(crate) fn destroy_epoll(&mut self, epoll: Epoll) {
        for (_, id) in epoll.interest {
            let registration = self.registrations.remove(id);
            self.files[registration.target].watchers.retain(|other| *other != id);
            self.queues[registration.queue].strike(id);
        }
        self.drop_queue(epoll.waiters);
        self.drop_queue(epoll.pollers);
    }
}
