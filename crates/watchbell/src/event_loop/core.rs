//! The loop's state: its sources, who of them is runnable, its timers.

use super::builder::Settings;
use super::directions::Directions;
use super::failure::{Failure, Reason};
use super::handler::{Dispatch, Entry, Handler, LoopMode};
use super::served::{QueueHandler, Served};
use super::slots::Slots;
use super::stats::Stats;
use super::timers::{Due, TimerId, Timers};
use super::{Budget, Direction};
use crate::doorbell::Queue;
use crate::epoll::{Epoll, Interest, Level, Readiness, Registered, Source, Token};
use crate::error::{Error, Rejected};
use crate::eventfd::Counter;
use crate::kernel::{EventBuffer, EventFlags, Kernel};
use crate::sync::{Arc, thread};
use std::any::TypeId;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

pub(crate) struct Core<D, K: Kernel> {
    pub(super) epoll: Epoll<K>,
    pub(super) buffer: EventBuffer,
    pub(super) slots: Slots<Tenant<D, K>>,
    /// Sources with something to do that no event will tell of (again), in the order in which they
    /// have their turn. Each stands here at most once.
    pub(super) runnable: VecDeque<Token>,
    /// The queues among the sources.
    pub(super) bells: Vec<Token>,
    /// How long the last sleep was, if a push was under way.
    pub(super) brief: Duration,
    pub(super) timers: Timers<D, K>,
    pub(super) stop: Registered<Arc<Counter<K>>, Level, K>,
    pub(super) stopping: bool,
    /// When leaving ghosts behind, which failed for want of descriptors or memory, is tried again.
    pub(super) heal_at: Option<Instant>,
    pub(super) settings: Settings,
    pub(super) on_failure: Option<OnFailure<D>>,
    pub(super) stats: Stats,
}

pub(super) type OnFailure<D> = Box<dyn FnMut(&Failure, &mut D)>;

/// A source in its slot.
pub(super) struct Tenant<D, K: Kernel> {
    /// `None` while the source runs; what is asked of it meanwhile is kept in `changes`.
    pub(super) entry: Option<Box<dyn Dispatch<D, K>>>,
    pub(super) directions: Directions,
    /// What the events since the last run said.
    pub(super) readiness: Readiness,
    pub(super) asked: Interest,
    pub(super) armed: Interest,
    /// The flags of `EPOLL_CTL_ADD`, to register with a new epoll instance.
    pub(super) flags: EventFlags,
    pub(super) budget: Budget,
    pub(super) queued: bool,
    /// Run it in its turn whatever its readiness.
    pub(super) due: bool,
    /// Runs in a row that made no operation.
    pub(super) idle_runs: u32,
    pub(super) changes: Changes,
    /// The timers that end the rests of its directions.
    pub(super) rests: [Option<TimerId>; 2],
}

/// What was asked of a source while its handler ran.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) close: bool,
    pub(super) pause: [Option<bool>; 2],
    pub(super) wake: [bool; 2],
}

/// How a source is to be watched.
#[derive(Clone, Copy)]
pub(super) struct Watch {
    pub(super) interest: Interest,
    pub(super) flags: EventFlags,
}

impl Watch {
    pub(super) fn new(interest: Interest) -> Watch {
        Watch { interest, flags: interest.flags() }
    }

    pub(super) fn with_flags(self, flags: EventFlags) -> Watch {
        Watch { flags, ..self }
    }
}

impl<D, K: Kernel> Core<D, K> {
    pub(super) fn insert<S, M, H>(
        &mut self,
        source: S,
        watch: Watch,
        handler: H,
    ) -> Result<Token, Rejected<S>>
    where
        S: Source<Fd = K::Fd> + 'static,
        M: LoopMode + 'static,
        H: Handler<S, D, K> + 'static,
    {
        let (instance, token) = (self.epoll.instance(), self.slots.vacant());
        let on_blocking = Some(self.settings.on_blocking);
        let registered =
            Registered::<S, M, K>::add(instance, source, token, watch.flags, on_blocking)?;
        self.seat(token, Box::new(Entry { registered, handler }), watch);
        Ok(token)
    }

    pub(super) fn insert_queue<T, H>(
        &mut self,
        queue: Queue<T, K>,
        handler: H,
    ) -> Result<Token, Rejected<Queue<T, K>>>
    where
        T: 'static,
        H: QueueHandler<T, D, K> + 'static,
    {
        let (instance, token) = (self.epoll.instance(), self.slots.vacant());
        let watch = Watch::new(Interest::READABLE);
        let served = Served::add(instance, queue, token, watch.flags, handler)?;
        self.seat(token, Box::new(served), watch);
        self.bells.push(token);
        // Items may be there already, and nobody has rung for them.
        self.enqueue_due(token);
        Ok(token)
    }

    fn seat(&mut self, token: Token, entry: Box<dyn Dispatch<D, K>>, watch: Watch) {
        self.slots.insert(
            token,
            Tenant {
                entry: Some(entry),
                directions: Directions::new(watch.interest),
                readiness: Readiness::NONE,
                asked: watch.interest,
                armed: watch.interest,
                flags: watch.flags,
                budget: self.settings.budget,
                queued: false,
                due: false,
                idle_runs: 0,
                changes: Changes::default(),
                rests: [None; 2],
            },
        );
    }

    /// Gives a source back, unless it is of another type, or its handler is running.
    pub(super) fn take<S: 'static>(&mut self, token: Token) -> Option<S> {
        let entry = self.slots.get(token)?.entry.as_ref()?;
        if entry.source_type() != TypeId::of::<S>() {
            return None;
        }
        let source = self.slots.remove(token)?.entry?.into_source();
        self.bells.retain(|bell| *bell != token);
        source.downcast().ok().map(|source| *source)
    }

    pub(super) fn remove(&mut self, token: Token) -> bool {
        let Some(tenant) = self.slots.get_mut(token) else { return false };
        if tenant.entry.is_none() {
            tenant.changes.close = true;
            return true;
        }
        self.close(token);
        true
    }

    /// Ends a source. Its registration leaves the interest list before its descriptor closes, and
    /// an event that was fetched for it and not yet handed out is discarded.
    pub(super) fn close(&mut self, token: Token) {
        let Some(tenant) = self.slots.remove(token) else { return };
        tenant.rests.into_iter().flatten().for_each(|timer| self.cancel_rest(timer));
        self.bells.retain(|bell| *bell != token);
        self.stats.stale += u64::from(tenant.readiness != Readiness::NONE);
        self.discard(tenant);
    }

    /// Drops what is the user's: a destructor's panic stays here.
    fn discard<T>(&mut self, value: T) {
        self.contain(catch_unwind(AssertUnwindSafe(|| drop(value))));
    }

    /// Counts a panic that has been caught.
    fn contain(&mut self, outcome: thread::Result<()>) {
        if let Err(panic) = outcome {
            self.stats.panics += 1;
            std::mem::forget(panic); // its own destructor could panic again
        }
    }

    /// Lets a direction rest until a timer ends it, in place of the rest that it had.
    pub(super) fn rest(&mut self, token: Token, direction: Direction, rest: Duration) {
        let timer = self.set_timer(self.due_after(rest), Due::Rested(token, direction));
        let tenant = self.slots.get_mut(token);
        let former = tenant.and_then(|tenant| tenant.rests[direction as usize].replace(timer));
        former.into_iter().for_each(|timer| self.cancel_rest(timer));
    }

    fn cancel_rest(&mut self, timer: TimerId) {
        self.timers.cancel(timer);
    }

    pub(super) fn set_paused(&mut self, token: Token, direction: Direction, paused: bool) -> bool {
        if !paused && let Some(tenant) = self.slots.get_mut(token) {
            let rest = tenant.rests[direction as usize].take();
            rest.into_iter().for_each(|timer| self.cancel_rest(timer));
        }
        self.change(token, |tenant| match tenant.entry {
            None => tenant.changes.pause[direction as usize] = Some(paused),
            Some(_) if paused => tenant.directions.pause(direction),
            Some(_) => tenant.directions.resume(direction),
        })
    }

    pub(super) fn wake(&mut self, token: Token, direction: Direction) -> bool {
        self.change(token, |tenant| {
            tenant.idle_runs = 0;
            match tenant.entry {
                None => tenant.changes.wake[direction as usize] = true,
                Some(_) => tenant.directions.wake(direction),
            }
        })
    }

    /// Changes the account of a source, and what follows from it. `false`: there is no such source.
    pub(super) fn change(&mut self, token: Token, change: impl FnOnce(&mut Tenant<D, K>)) -> bool {
        let Some(tenant) = self.slots.get_mut(token) else { return false };
        change(tenant);
        if tenant.entry.is_some() {
            let settled = self.settle(token);
            if settled.is_err() {
                self.enqueue_due(token); // the run finds the same error and reports it
            }
        }
        true
    }

    /// Brings the interest list and the queue of runnable sources in line with a source's account.
    pub(super) fn settle(&mut self, token: Token) -> Result<(), Error> {
        let Some(tenant) = self.slots.get_mut(token) else { return Ok(()) };
        let Some(entry) = &tenant.entry else { return Ok(()) };
        let armed = if entry.is_level() {
            tenant.directions.armed_level(tenant.asked)
        } else {
            tenant.directions.armed(tenant.asked)
        };
        let rearmed = if armed == tenant.armed { Ok(()) } else { entry.rearm(armed) };
        if rearmed.is_ok() {
            tenant.armed = armed;
        }
        if tenant.directions.is_runnable() {
            self.enqueue(token);
        }
        rearmed
    }

    /// Puts a source at the end of the queue, unless it stands there already.
    pub(super) fn enqueue(&mut self, token: Token) {
        if let Some(tenant) = self.slots.get_mut(token)
            && !tenant.queued
        {
            tenant.queued = true;
            self.runnable.push_back(token);
        }
    }

    /// As [`enqueue`](Core::enqueue), whether or not the source is still ready when its turn comes.
    pub(super) fn enqueue_due(&mut self, token: Token) {
        if let Some(tenant) = self.slots.get_mut(token) {
            tenant.due = true;
        }
        self.enqueue(token);
    }

    pub(super) fn set_budget(&mut self, token: Token, budget: Budget) -> bool {
        let tenant = self.slots.get_mut(token);
        tenant.map(|tenant| tenant.budget = budget).is_some()
    }

    /// The instant `delay` from now; a delay beyond the clock's range is as long as a century.
    pub(super) fn due_after(&self, delay: Duration) -> Instant {
        const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
        let now = self.now();
        now.checked_add(delay).unwrap_or_else(|| now + CENTURY)
    }

    pub(super) fn set_timer(&mut self, due: Instant, what: Due<D, K>) -> TimerId {
        self.timers.set(due, what)
    }

    /// The tokens of all sources of type `S`, found by looking at each.
    pub(super) fn tokens_of<S: 'static>(&self) -> impl Iterator<Item = Token> {
        let is_one = |tenant: &Tenant<D, K>| {
            tenant.entry.as_ref().is_some_and(|entry| entry.source_type() == TypeId::of::<S>())
        };
        self.slots.iter().filter(move |(_, tenant)| is_one(tenant)).map(|(token, _)| token)
    }

    pub(super) fn fail(&mut self, token: Option<Token>, reason: Reason, state: &mut D) {
        match reason {
            Reason::Panic(_) => self.stats.panics += 1,
            Reason::Ignored => self.stats.suspended += 1,
            Reason::Error(_) | Reason::Replaced | Reason::Registration(_) => self.stats.errors += 1,
        }
        let failure = Failure { token, reason };
        if let Some(mut on_failure) = self.on_failure.take() {
            let reported = catch_unwind(AssertUnwindSafe(|| on_failure(&failure, state)));
            self.on_failure = Some(on_failure);
            self.contain(reported);
        }
        self.discard(failure);
    }
}

impl<D, K: Kernel> Drop for Core<D, K> {
    /// Each source and timer ends by itself, so that a destructor's panic does not keep the others.
    fn drop(&mut self) {
        let tokens: Vec<Token> = self.slots.iter().map(|(token, _)| token).collect();
        tokens.into_iter().for_each(|token| self.close(token));
        let timers = std::mem::replace(&mut self.timers, Timers::new());
        timers.into_values().for_each(|timer| self.discard(timer));
    }
}
