//! The wait queue: who is told when an object may have become ready, and in which order.
//!
//! Every object has one (a pipe has one for each end, an epoll instance has two). On it stand the
//! registrations of epoll instances that watch the object, threads in poll(2) or select(2), and
//! threads that are blocked in a call on the object itself. A *wakeup* walks the queue from its
//! head:
//!
//! ```text
//!              head                                                       tail
//!   a wakeup     ┌──────────┬──────────┬──────────┐┌───────────┬───────────┬───────────┐
//!   walks  ────► │ plain 3  │ poller   │ plain 1  ││ exclusive │ exclusive │ exclusive │
//!   this way     │ (newest) │          │ (oldest) ││ 1 (oldest)│ 2         │ 3 (newest)│
//!                └──────────┴──────────┴──────────┘└───────────┴───────────┴───────────┘
//!                  all of these are told, each      asked in turn, until the first that
//!                  walk, the newest first           has a blocked thread to give it to
//! ```
//!
//! - **Plain registrations and pollers enter at the head**, so that the newest is told first (Y011,
//!   C032). The walk passes all of them: nobody plain is ever left out (W190).
//! - **Exclusive registrations enter at the tail**, so that the oldest is asked first (W191). The
//!   walk **stops after the first exclusive entry that takes the wakeup**. A registration takes it
//!   if its instance has a thread blocked in epoll_wait(2) at this moment; one without is told all
//!   the same, but the walk goes on (W193, W198). So a wakeup rouses all plain waiters and one
//!   exclusive waiter (W191, W192), always the oldest registration whose instance has somebody
//!   blocked (W196).
//! - **Threads blocked on the object itself** enter where their object says: readers and writers of
//!   an eventfd at the tail and not exclusively (each wakeup rouses them all, and they race: E065,
//!   E067), those of a pipe at the tail and exclusively, those of a stream socket at the head.
//! - **Threads blocked in epoll_wait(2)** stand on the queue of the epoll instance, exclusively
//!   *and at the head*. One wakeup rouses one, and it is the one that came last (W181, W184).
//!
//! A wakeup carries a [key](Wake::key): the readiness that may have changed. A registration or
//! poller that did not ask for any of it is passed by, and takes nothing. An empty key passes every
//! filter. A blocked thread does not look at the key: it wakes, tests its own condition, and sleeps
//! again.

use crate::arena::Id;
use crate::epoll::Registration;
use crate::events::Mask;
use crate::kernel::Kernel;
use crate::rules::Rule;
use crate::task::Task;

/// Entries in the order in which a wakeup meets them.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct WaitQueue {
    entries: Vec<Entry>,
}

/// One that waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) who: Waiter,
    /// Whether the walk stops after it, if it takes the wakeup.
    pub(crate) exclusive: bool,
}

/// Who waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Waiter {
    /// A registration: the item is put on the ready list of its epoll instance.
    Registration(Id<Registration>),
    /// A thread in poll(2) or select(2), which stays on the queue until its call returns.
    Poller(Task, Mask),
    /// A thread blocked on the object; it leaves the queue by being woken.
    Sleeper(Task),
}

impl Entry {
    pub(crate) fn plain(who: Waiter) -> Entry {
        Entry { who, exclusive: false }
    }

    pub(crate) fn exclusive(who: Waiter) -> Entry {
        Entry { who, exclusive: true }
    }

    fn is(&self, task: Task) -> bool {
        matches!(self.who, Waiter::Poller(t, _) | Waiter::Sleeper(t) if t == task)
    }
}

/// Where a blocked thread enters a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Head,
    Tail,
}

/// A wakeup that an operation owes to a queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Wake {
    pub(crate) queue: Id<WaitQueue>,
    /// The readiness that may have changed; empty for "anything".
    pub(crate) key: Mask,
    /// Whether it passes all exclusive entries (a peer is gone) or stops after one (data came).
    pub(crate) all: bool,
}

impl Wake {
    /// Stops after the first exclusive entry that takes it.
    pub(crate) fn one(queue: Id<WaitQueue>, key: Mask) -> Wake {
        Wake { queue, key, all: false }
    }

    /// Passes everybody, and every filter: the state of the object has changed for good.
    pub(crate) fn everybody(queue: Id<WaitQueue>) -> Wake {
        Wake { queue, key: Mask::NONE, all: true }
    }
}

impl WaitQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn enter(&mut self, place: Place, entry: Entry) {
        match place {
            Place::Head => self.entries.insert(0, entry),
            Place::Tail => self.entries.push(entry),
        }
    }

    pub(crate) fn leave(&mut self, task: Task) {
        self.entries.retain(|entry| !entry.is(task));
    }

    pub(crate) fn strike(&mut self, registration: Id<Registration>) {
        self.entries.retain(
            |entry| !matches!(entry.who, Waiter::Registration(other) if other == registration),
        );
    }

    /// The entries, for a walk: [`Kernel::walk`](crate::Kernel::walk) asks each and may strike
    /// those that leave by being woken.
    pub(crate) fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    pub(crate) fn put_back(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
    }
}

impl Kernel {
    pub(crate) fn new_queue(&mut self) -> Id<WaitQueue> {
        self.queues.insert(WaitQueue::default())
    }

    /// A wakeup walks its queue; the picture is at the head of this file.
    pub(crate) fn walk(&mut self, wake: Wake) {
        if self.queues[wake.queue].is_empty() {
            return;
        }
        let mut rest = self.queues[wake.queue].take().into_iter();
        let mut staying = Vec::with_capacity(rest.len());
        for entry in rest.by_ref() {
            let takes = self.ask(entry, wake.key);
            if !matches!(entry.who, Waiter::Sleeper(_)) {
                staying.push(entry);
            }
            if takes && entry.exclusive && !wake.all && self.stops_after(entry) {
                break;
            }
        }
        staying.extend(rest);
        self.queues[wake.queue].put_back(staying);
    }

    fn ask(&mut self, entry: Entry, key: Mask) -> bool {
        match entry.who {
            Waiter::Registration(registration) => self.tell(registration, key),
            Waiter::Poller(task, wanted) => {
                let concerns = key.is_empty() || key.has(wanted);
                if concerns {
                    self.rouse(task);
                }
                concerns
            }
            Waiter::Sleeper(task) => {
                self.rouse(task);
                true
            }
        }
    }

    fn stops_after(&mut self, entry: Entry) -> bool {
        match entry.who {
            Waiter::Registration(_) => self.fx.keeps(Rule::StopsAtExclusiveWithWaiter),
            Waiter::Poller(..) => false,
            Waiter::Sleeper(_) => self.fx.keeps(Rule::OneWaiterAWakeup),
        }
    }

    /// Walks the queues that the operations so far have owed a wakeup to.
    pub(crate) fn deliver(&mut self) {
        if !self.fx.wakes.is_empty() {
            for wake in std::mem::take(&mut self.fx.wakes) {
                self.walk(wake);
            }
        }
    }
}
