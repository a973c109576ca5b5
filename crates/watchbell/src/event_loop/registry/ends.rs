//! How a source enters its slot, and how it leaves the loop.

use super::{Boxed, Registry};
use crate::epoll::{Readiness, Token};
use crate::event_loop::store::{Extras, Place, Seat, Slot, Source};
use crate::kernel::Kernel;
use crate::sync::thread;
use std::any::TypeId;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A source that has just left its slot, and what had been reported to it and not yet heard.
pub(in crate::event_loop) struct Unseated<D, K: Kernel> {
    pub(in crate::event_loop) source: Source<Boxed<D, K>>,
    pub(in crate::event_loop) readiness: Readiness,
    pub(in crate::event_loop) certain: bool,
}

impl<D, K: Kernel> Registry<D, K> {
    /// Seats a source that has been registered under this token.
    pub(in crate::event_loop) fn seat(&mut self, token: Token, mut source: Source<Boxed<D, K>>) {
        source.moved(&self.inbox, token);
        let (armed, is_bell) = (source.account.armed(), source.entry.bell().is_some());
        if let Some(group) = source.extras.as_ref().and_then(|extras| extras.group.as_ref()) {
            group.join(&self.inbox, token, !armed.is_empty());
        }
        self.slots.insert(token, source, armed);
        if is_bell {
            self.bells.push(token);
            // Items may be there already, and nobody has rung for them.
            self.enqueue_certain(token);
        }
    }

    /// Takes a source at rest out of its slot and out of the interest list, with its timers, queue
    /// entry and memberships. It is the one way out. `None`: there is none, or it is running.
    pub(in crate::event_loop) fn unseat(&mut self, token: Token) -> Option<Unseated<D, K>> {
        let slot = self.slots.get_mut(token)?;
        slot.source()?;
        let place = std::mem::replace(&mut slot.place, Place::NONE);
        if !place.is_none() {
            self.runnable.remove(token.index(), place);
        }
        let slot = self.slots.remove(token)?;
        let armed = slot.armed();
        let Slot { seat: Seat::Resting(mut source), readiness, certain, .. } = slot else {
            return None;
        };
        let is_away = source.account.is_exclusive() && armed.is_empty();
        if !is_away {
            let deleted = source.entry.delete(&self.epoll);
            self.contain(deleted);
        }
        if let Some(extras) = &mut source.extras {
            self.unlink(token, extras);
        }
        self.bells.retain(|bell| *bell != token);
        Some(Unseated { source, readiness, certain })
    }

    /// Undoes what ties a source to this loop. What is left of a rest goes with the source.
    fn unlink(&mut self, token: Token, extras: &mut Extras) {
        for rest in &mut extras.rests {
            if let Some(timer) = rest.timer.take() {
                self.timers.cancel(timer);
                rest.asked = Some(timer.due().saturating_duration_since(self.now()));
            }
        }
        // In a forked child the other members are the parent's.
        if self.epoll.check_owner().is_ok() {
            extras.group.iter().for_each(|group| group.leave(token));
        }
        extras.end_flows();
    }

    /// Ends a source at rest: it leaves the interest list before its descriptor closes.
    pub(in crate::event_loop) fn close(&mut self, token: Token) {
        if let Some(Unseated { source, readiness, .. }) = self.unseat(token) {
            self.stats.stale += u64::from(readiness != Readiness::NONE);
            self.discard(source.entry);
            self.discard(source.extras);
        }
    }

    /// Drops what is the user's. This is the one place for it: a destructor's panic stays here.
    pub(in crate::event_loop) fn discard<T>(&mut self, value: T) {
        self.contain(catch_unwind(AssertUnwindSafe(|| drop(value))));
    }

    /// Counts a panic that has been caught.
    pub(in crate::event_loop) fn contain(&mut self, outcome: thread::Result<()>) {
        if let Err(panic) = outcome {
            self.stats.panics += 1;
            std::mem::forget(panic); // its own destructor could panic again
        }
    }

    /// The name that the source's owner gave to it.
    pub(in crate::event_loop) fn name_of(&mut self, token: Token) -> Option<Cow<'static, str>> {
        self.slots.resting(token)?.extras.as_ref()?.name.clone()
    }

    pub(in crate::event_loop) fn is_of_type<S: 'static>(slot: &Slot<Boxed<D, K>>) -> bool {
        match &slot.seat {
            Seat::Resting(source) => source.entry.source_type() == TypeId::of::<S>(),
            Seat::Vacant | Seat::Running => false,
        }
    }
}

impl<D, K: Kernel> Drop for Registry<D, K> {
    /// Each source and timer ends by itself, so that a destructor's panic does not keep the others.
    fn drop(&mut self) {
        for token in self.slots.tokens() {
            self.close(token);
        }
        for timer in self.timers.take_all() {
            self.discard(timer);
        }
        for failure in std::mem::take(&mut self.failures) {
            self.discard(failure);
        }
    }
}
