//! The interest list. ([epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html))
//!
//! A registration names a descriptor number *and* the open file behind it at that moment (C032,
//! S211). So one open file can be registered twice by two numbers, and a number that has come to
//! mean another file is not registered (S210).

use crate::arena::Id;
use crate::errno::Errno;
use crate::events::{Event, Mask};
use crate::file::{File, Object};
use crate::kernel::Kernel;
use crate::process::Fd;
use crate::rules::Rule;
use crate::task::Task;
use crate::wait_queue::{Entry, Place, WaitQueue, Waiter};

/// What [`Kernel::epoll_ctl`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// `EPOLL_CTL_ADD`
    Add,
    /// `EPOLL_CTL_MOD`
    Mod,
    /// `EPOLL_CTL_DEL`
    Del,
}

/// One entry of an interest list.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Registration {
    /// The instance that it belongs to.
    pub(crate) epoll: Id<File>,
    /// The open file that it watches, and the number by which it was registered.
    pub(crate) target: Id<File>,
    pub(crate) number: Fd,
    /// What is asked, with the private bits; see [`Mask`].
    pub(crate) asked: Mask,
    pub(crate) data: u64,
    /// The target's queue, on which it stands.
    pub(crate) queue: Id<WaitQueue>,
    /// Whether it is on the ready list.
    pub(crate) queued: bool,
    /// Its readiness when it was queued: nothing looks at it, unless a test breaks the rule.
    pub(crate) noted: Mask,
}

/// The bits that may go with `EPOLLEXCLUSIVE` (C041, C042).
const EXCLUSIVE_ALLOWS: Mask = Mask(
    Mask::EXCLUSIVE.0
        | Mask::IN.0
        | Mask::OUT.0
        | Mask::ERR.0
        | Mask::HUP.0
        | Mask::WAKEUP.0
        | Mask::ET.0,
);

impl Kernel {
    /// `epoll_ctl(2)`: adds, modifies or deletes a registration.
    ///
    /// Adding and modifying test the target's readiness at once, and queue the registration if it
    /// is ready: so a target that was ready before is reported (S161), and a modification
    /// **re-arms** an edge that was taken or a one-shot that has fired (S140, S151).
    ///
    /// `EPOLLWAKEUP` is dropped, as Linux does without suspend (C051).
    ///
    /// # Errors
    ///
    /// In the order in which they are looked for:
    ///
    /// 1. `EBADF`: the instance's number or the target's is not open (C020);
    /// 2. `EPERM`: the target has no readiness (C021);
    /// 3. `EINVAL`: the instance is none (C024), or is the target (C023);
    /// 4. `EINVAL`: [`Mask::EXCLUSIVE`] where it may not be (C042, C043, C045);
    /// 5. `ELOOP`: instances would watch each other in a circle or too deep (C062, C063);
    /// 6. `EEXIST`, `ENOENT`: registered already, or not at all (C030);
    /// 7. `EINVAL`: an exclusive registration is never modified (C043).
    pub fn epoll_ctl(
        &mut self,
        task: Task,
        epoll: Fd,
        op: Op,
        fd: Fd,
        event: Event,
    ) -> Result<(), Errno> {
        let instance = self.file_of(task, epoll)?;
        let target = self.file_of(task, fd)?;
        if matches!(self.files[target].object, Object::Null) {
            return Err(Errno::EPERM);
        }
        if instance == target || !self.files[instance].is_epoll() {
            return Err(Errno::EINVAL);
        }
        if op != Op::Del && event.events.has(Mask::EXCLUSIVE) {
            self.check_exclusive(op, target, event.events)?;
        }
        if op == Op::Add && self.files[target].is_epoll() {
            self.check_nesting(instance, target)?;
        }
        let number = if self.fx.keeps(Rule::KeyedByNumberAndFile) { fd } else { 0 };
        let found = self.epoll(instance)?.interest.get(&(target, number)).copied();
        match (op, found) {
            (Op::Add, Some(_)) => Err(Errno::EEXIST),
            (Op::Add, None) => {
                self.add(instance, target, number, event);
                Ok(())
            }
            (Op::Mod | Op::Del, None) => Err(Errno::ENOENT),
            (Op::Mod, Some(registration)) => self.modify(registration, event),
            (Op::Del, Some(registration)) => {
                self.files[target].watchers.retain(|other| *other != registration);
                self.end_registration(registration);
                Ok(())
            }
        }
    }

    fn check_exclusive(&mut self, op: Op, target: Id<File>, asked: Mask) -> Result<(), Errno> {
        if op == Op::Mod {
            return Err(Errno::EINVAL);
        }
        let allowed = !asked.has(!EXCLUSIVE_ALLOWS) && !self.files[target].is_epoll();
        if allowed || !self.fx.keeps(Rule::ExclusiveMaskIsNarrow) {
            return Ok(());
        }
        Err(Errno::EINVAL)
    }

    /// The mask as it is stored: `ERR` and `HUP` are always asked for (C034), `EPOLLWAKEUP` is
    /// dropped.
    fn stored(&mut self, asked: Mask) -> Mask {
        let unasked = Mask::UNASKED.when(self.fx.keeps(Rule::UnaskedAreAdded));
        (asked | unasked) & !Mask::WAKEUP
    }

    fn add(&mut self, instance: Id<File>, target: Id<File>, number: Fd, event: Event) {
        let asked = self.stored(event.events);
        let queue = self.poll_queue(target);
        let registration = self.registrations.insert(Registration {
            epoll: instance,
            target,
            number,
            asked,
            data: event.data,
            queue,
            queued: false,
            noted: Mask::NONE,
        });
        self.epoll_mut(instance).interest.insert((target, number), registration);
        self.files[target].watchers.push(registration);
        self.stand(queue, registration, asked.has(Mask::EXCLUSIVE));
        if self.is_ready(registration) && self.fx.keeps(Rule::AddTests) {
            self.queue_and_wake(registration);
        }
    }

    /// Enters the target's wait queue; see [`wait_queue`](crate::wait_queue).
    fn stand(&mut self, queue: Id<WaitQueue>, registration: Id<Registration>, exclusive: bool) {
        let who = Waiter::Registration(registration);
        if exclusive {
            let behind = self.fx.keeps(Rule::ExclusiveBehindOldestFirst);
            let place = if behind { Place::Tail } else { Place::Head };
            self.queues[queue].enter(place, Entry::exclusive(who));
        } else {
            let newest_first = self.fx.keeps(Rule::PlainNewestFirst);
            let place = if newest_first { Place::Head } else { Place::Tail };
            self.queues[queue].enter(place, Entry::plain(who));
        }
    }

    fn modify(&mut self, id: Id<Registration>, event: Event) -> Result<(), Errno> {
        let asked = self.stored(event.events);
        let registration = &mut self.registrations[id];
        if registration.asked.has(Mask::EXCLUSIVE) && self.fx.keeps(Rule::ExclusiveNeverModified) {
            return Err(Errno::EINVAL);
        }
        registration.asked = asked;
        registration.data = event.data;
        if self.is_ready(id) && self.fx.keeps(Rule::ModTests) {
            self.queue_and_wake(id);
        }
        Ok(())
    }

    /// Takes a registration off the target's queue, off the ready list, off the interest list. (The
    /// target's own list of watchers is the caller's.)
    pub(crate) fn end_registration(&mut self, id: Id<Registration>) {
        self.unqueue(id);
        let registration = self.registrations.remove(id);
        self.queues[registration.queue].strike(id);
        let key = (registration.target, registration.number);
        self.epoll_mut(registration.epoll).interest.remove(&key);
    }

    /// Ends the registrations of a file that were made by `number`: what Linux does *not* do when a
    /// number is closed.
    pub(crate) fn end_registrations_of(&mut self, target: Id<File>, number: Fd) {
        for id in self.files[target].watchers.clone() {
            if self.registrations[id].number == number {
                self.files[target].watchers.retain(|other| *other != id);
                self.end_registration(id);
            }
        }
    }
}

impl Registration {
    /// What proc_pid_fdinfo(5) shows of it.
    pub(crate) fn fdinfo(&self) -> String {
        format!("tfd: {:8} events: {:8x} data: {:16x}\n", self.number, self.asked.0, self.data)
    }
}
