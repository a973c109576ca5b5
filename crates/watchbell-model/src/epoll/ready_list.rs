//! The ready list: what a wakeup of a target does to its registrations.
//!
//! The list says which registrations *may* have something to tell. That one is on it proves
//! nothing: whether its target is ready is tested when a wait delivers it. Two rules make its
//! order:
//!
//! - a registration is queued at the **tail**, so that a wait tells in the order of becoming ready
//!   (S160);
//! - one that is on the list already **keeps its place**, so that two wakeups before a wait are one
//!   event (S124), and a modification does not move it (S169).

use super::Registration;
use crate::arena::Id;
use crate::events::Mask;
use crate::file::File;
use crate::kernel::Kernel;
use crate::oracle::Question;
use crate::rules::Rule;
use crate::wait_queue::Wake;

impl Kernel {
    /// A wakeup with `key` has come to a registration on its target's queue. Says whether it takes
    /// the wakeup, so that the walk may stop after it; see [`wait_queue`](crate::wait_queue).
    ///
    /// A registration that is disarmed hears nothing: **what a fired one-shot hides** is
    /// everything, `ERR` and `HUP` too (S150).
    pub(crate) fn tell(&mut self, id: Id<Registration>, key: Mask) -> bool {
        let asked = self.registrations[id].asked;
        let instance = self.registrations[id].epoll;
        let plain = !asked.has(Mask::EXCLUSIVE);
        let disarmed = !asked.has(!Mask::PRIVATE);
        if disarmed || !self.passes(key, asked) {
            return plain;
        }
        self.queue(id);
        let takes = plain || self.exclusive_takes(instance, asked, key);
        self.wake_instance(instance);
        takes
    }

    /// An empty key passes every filter.
    fn passes(&mut self, key: Mask, asked: Mask) -> bool {
        key.is_empty() || key.has(asked) || !self.fx.keeps(Rule::KeyFilters)
    }

    /// An exclusive registration takes the wakeup if a thread is blocked on its instance, and if
    /// the key is of one direction, which it asked for. One of both directions, as at the end of a
    /// peer, is told to it and passed on to the next.
    fn exclusive_takes(&mut self, instance: Id<File>, asked: Mask, key: Mask) -> bool {
        let waiters = self.epoll_mut(instance).waiters;
        if self.queues[waiters].is_empty() {
            return !self.fx.keeps(Rule::PassesExclusiveWithoutWaiter);
        }
        match (key.has(Mask::IN), key.has(Mask::OUT)) {
            (true, false) => asked.has(Mask::IN),
            (false, true) => asked.has(Mask::OUT),
            (true, true) => false,
            (false, false) => key.is_empty(),
        }
    }

    /// Puts a registration at the tail of the ready list, unless it is on it.
    ///
    /// At the permissive level it may come to stand further in front while somebody else scans the
    /// list.
    pub(crate) fn queue(&mut self, id: Id<Registration>) {
        if self.registrations[id].queued {
            if self.fx.keeps(Rule::QueuedOnce) {
                return;
            }
            self.unqueue(id);
        }
        if !self.fx.keeps(Rule::MaskAtDelivery) {
            self.registrations[id].noted = self.item_readiness(id);
        }
        self.registrations[id].queued = true;
        let at_tail = self.fx.keeps(Rule::QueuedAtTail);
        let instance = self.registrations[id].epoll;
        let epoll = self.epoll_mut(instance);
        let places = if epoll.scanned { epoll.ready.len() + 1 } else { 1 };
        let forward = self.fx.oracle.choose(Question::ReadyOrder, places);
        let ready = &mut self.epoll_mut(instance).ready;
        let place = if at_tail { ready.len() - forward } else { 0 };
        ready.insert(place, id);
    }

    /// Takes a registration off the ready list.
    pub(crate) fn unqueue(&mut self, id: Id<Registration>) {
        if self.registrations[id].queued {
            self.registrations[id].queued = false;
            let instance = self.registrations[id].epoll;
            self.epoll_mut(instance).ready.retain(|other| *other != id);
            self.leave_scans(id);
        }
    }

    /// Adding or modifying found the target ready. One that was on the list already wakes nobody.
    pub(crate) fn queue_and_wake(&mut self, id: Id<Registration>) {
        if self.registrations[id].queued && self.fx.keeps(Rule::QueuedOnce) {
            return;
        }
        self.queue(id);
        self.wake_instance(self.registrations[id].epoll);
    }

    /// Something was queued: one thread that waits on the instance is woken, and whoever watches
    /// the instance itself learns that it is readable.
    pub(crate) fn wake_instance(&mut self, instance: Id<File>) {
        let epoll = self.epoll_mut(instance);
        let (waiters, pollers) = (epoll.waiters, epoll.pollers);
        self.walk(Wake::one(waiters, Mask::NONE));
        self.walk(Wake::one(pollers, Mask::IN));
    }

    /// What the target is ready for, of what was asked.
    pub(crate) fn item_readiness(&mut self, id: Id<Registration>) -> Mask {
        let Registration { target, asked, .. } = self.registrations[id];
        self.readiness(target) & asked
    }

    pub(crate) fn is_ready(&mut self, id: Id<Registration>) -> bool {
        !self.item_readiness(id).is_empty()
    }
}
