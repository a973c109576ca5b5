//! Waiting. ([epoll_wait(2)](https://man7.org/linux/man-pages/man2/epoll_wait.2.html))
//!
//! A wait takes the ready list and goes through it from the head, until it has as many events as it
//! has room for. What becomes of each registration:
//!
//! | the registration is | before | after |
//! | --- | --- | --- |
//! | not ready after all | on the list | off the list; not counted (S153) |
//! | ready, level-triggered | on the list | at the **tail** of the list: told again next time (S120, S162) |
//! | ready, edge-triggered | on the list | **off** the list until its target is signalled again (S122) |
//! | ready, one-shot | on the list | off the list and **disarmed**: nothing is told, not even `ERR` and `HUP`, until `EPOLL_CTL_MOD` (S150) |
//! | not reached | on the list | in **front** of the list, in its order (S162) |
//!
//! So with less room than ready registrations, level-triggered ones take turns (S164).
//!
//! If anything is on the list in the end, the next blocked thread is woken: that is how one write
//! to a level-triggered target wakes every waiter, one after the other (W180).

use super::Registration;
use crate::arena::Id;
use crate::events::{Event, Mask};
use crate::file::File;
use crate::kernel::Kernel;
use crate::rules::Rule;
use crate::wait_queue::Wake;
use std::collections::VecDeque;

/// A wait that goes through the ready list.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scan {
    /// What it has not reached yet. Still counts as queued.
    pub(crate) list: VecDeque<Id<Registration>>,
    pub(crate) events: Vec<Event>,
}

impl Kernel {
    /// Delivers up to `max` events, in one step.
    pub(crate) fn scan(&mut self, instance: Id<File>, max: usize) -> Vec<Event> {
        let mut scan = self.begin_scan(instance);
        while self.scan_one(&mut scan, max) {}
        self.end_scan(instance, scan)
    }

    /// Takes the ready list. What is queued from now on is queued beside it.
    pub(crate) fn begin_scan(&mut self, instance: Id<File>) -> Scan {
        let list = std::mem::take(&mut self.epoll_mut(instance).ready);
        Scan { list, events: Vec::new() }
    }

    /// Looks at one registration, and says whether there is one more to look at.
    pub(crate) fn scan_one(&mut self, scan: &mut Scan, max: usize) -> bool {
        if scan.events.len() < max
            && let Some(id) = scan.list.pop_front()
        {
            self.registrations[id].queued = false;
            let ready = self.readiness_at_delivery(id);
            if !ready.is_empty() || !self.fx.keeps(Rule::StaleDropped) {
                scan.events.push(Event { events: ready, data: self.registrations[id].data });
                self.after_delivery(id);
            }
        }
        scan.events.len() < max && !scan.list.is_empty()
    }

    /// Puts back what was not reached.
    pub(crate) fn end_scan(&mut self, instance: Id<File>, scan: Scan) -> Vec<Event> {
        self.put_in_front(instance, scan.list);
        self.wake_next(instance);
        scan.events
    }

    fn readiness_at_delivery(&mut self, id: Id<Registration>) -> Mask {
        let now = self.item_readiness(id);
        if self.fx.keeps(Rule::MaskAtDelivery) { now } else { self.registrations[id].noted }
    }

    /// What each trigger mode leaves behind. One-shot goes before edge: together they are a
    /// one-shot.
    fn after_delivery(&mut self, id: Id<Registration>) {
        let asked = self.registrations[id].asked;
        if asked.has(Mask::ONESHOT) && self.fx.keeps(Rule::OneShotDisarms) {
            let hides = self.fx.keeps(Rule::FiredOneShotHidesUnasked);
            let left = Mask::PRIVATE | if hides { Mask::NONE } else { Mask::UNASKED };
            self.registrations[id].asked = asked & left;
        } else if !asked.has(Mask::ET) {
            self.registrations[id].queued = true;
            let to_tail = self.fx.keeps(Rule::LevelToTail);
            let ready = &mut self.epoll_mut(self.registrations[id].epoll).ready;
            if to_tail { ready.push_back(id) } else { ready.push_front(id) }
        } else if !self.fx.keeps(Rule::EdgeLeaves) {
            self.queue(id);
        }
    }

    fn put_in_front(&mut self, instance: Id<File>, list: VecDeque<Id<Registration>>) {
        let in_front = list.is_empty() || self.fx.keeps(Rule::UndeliveredInFront);
        let ready = &mut self.epoll_mut(instance).ready;
        let delivered = std::mem::replace(ready, list);
        if in_front {
            ready.extend(delivered);
        } else {
            let undelivered = std::mem::replace(ready, delivered);
            ready.extend(undelivered);
        }
    }

    /// The end of every scan, also of one that only looked.
    pub(crate) fn wake_next(&mut self, instance: Id<File>) {
        let epoll = self.epoll_mut(instance);
        let waiters = epoll.waiters;
        if !epoll.ready.is_empty()
            && !self.queues[waiters].is_empty()
            && self.fx.keeps(Rule::DeliveryWakesNext)
        {
            self.walk(Wake::one(waiters, Mask::NONE));
        }
    }
}
