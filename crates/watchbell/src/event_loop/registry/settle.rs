//! What follows from a change of a source's account: for the interest list, for its timers, and for
//! its place among the runnable.

use super::{Due, Reason, Registry};
use crate::epoll::Token;
use crate::error::Error;
use crate::event_loop::account::{Direction, Directions};
use crate::event_loop::store::{Follows, Letter, Place, Seat, Source, Wish};
use crate::kernel::{EventFlags, Kernel};
use std::time::{Duration, Instant};

impl<D, K: Kernel> Registry<D, K> {
    /// Asks something of a source, at rest or running. `false`: there is no such source.
    pub(in crate::event_loop) fn wish(&mut self, token: Token, wish: Wish) -> bool {
        let Some(slot) = self.slots.get_mut(token) else {
            if let Wish::Write(flow) = wish {
                flow.end(); // the source that wrote it out is gone
            }
            return false;
        };
        let Seat::Resting(source) = &mut slot.seat else {
            self.run.wish(wish);
            return true;
        };
        if matches!(wish, Wish::Wake(_) | Wish::TakeWake | Wish::Resume(_)) {
            slot.idle = 0;
        }
        match wish.grant(&mut source.account, &mut source.extras) {
            Follows::Close => self.close(token),
            Follows::Run => {
                self.settle(token);
                self.enqueue_certain(token);
            }
            Follows::Pass => self.pass_wake(token),
            Follows::Nothing => self.settle(token),
        }
        true
    }

    /// The wake of an exclusive source that cannot take what there is goes to another.
    fn pass_wake(&mut self, token: Token) {
        let source = self.slots.resting(token);
        let extras = source.and_then(|source| source.extras.as_ref());
        if let Some(group) = extras.and_then(|extras| extras.group.as_ref()) {
            group.pass(token);
        }
    }

    /// The loop stops: what exclusive sources have left, others take.
    pub(in crate::event_loop) fn pass_wakes(&mut self) {
        let is_left =
            |source: &Source<_>| source.account.is_exclusive() && source.account.is_runnable();
        for token in self.slots.tokens() {
            if self.slots.resting(token).is_some_and(|source| is_left(source)) {
                self.pass_wake(token);
            }
        }
    }

    /// Hands out what other threads, destructors and the last run have said.
    pub(in crate::event_loop) fn deliver(&mut self, letters: Vec<Letter>) {
        for Letter { to, wish } in letters {
            self.wish(to, wish);
        }
    }

    #[inline]
    pub(in crate::event_loop) fn read_inbox(&mut self) {
        if self.inbox.has_letters() {
            self.deliver(self.inbox.take_letters());
        }
    }

    /// Brings everything in line with the account of a source at rest. What the kernel refuses ends
    /// the source.
    pub(in crate::event_loop) fn settle(&mut self, token: Token) {
        self.settle_rests(token);
        if let Err(error) = self.settle_interest(token) {
            let name = self.name_of(token);
            self.close(token);
            return self.fail(Some(token), name, Reason::Registration(error.into()));
        }
        let Some(slot) = self.slots.get_mut(token) else { return };
        let (place, certain) = (slot.place, slot.certain);
        let Some(source) = slot.source() else { return };
        match source.account.is_runnable() {
            true => self.enqueue(token),
            false if certain || place.is_none() => {}
            false => {
                slot.place = Place::NONE;
                self.runnable.remove(token.index(), place);
            }
        }
    }

    /// Has the kernel watch for what the account says.
    fn settle_interest(&mut self, token: Token) -> Result<(), Error> {
        let Some(slot) = self.slots.get_mut(token) else { return Ok(()) };
        let before = slot.armed();
        let Seat::Resting(source) = &mut slot.seat else { return Ok(()) };
        let armed = source.account.armed();
        if armed == before {
            return Ok(());
        }
        let flags = source.account.flags(armed);
        if source.account.is_exclusive() {
            return self.settle_exclusive(token, armed, flags);
        }
        source.entry.modify(&self.epoll, flags, token.data())?;
        slot.set_armed(armed);
        Ok(())
    }

    /// An exclusive registration cannot be modified: it leaves the interest list and comes back. It
    /// cannot wait for room for output, since nothing may be added to what it watches for.
    fn settle_exclusive(
        &mut self,
        token: Token,
        armed: Directions,
        flags: EventFlags,
    ) -> Result<(), Error> {
        let Some(slot) = self.slots.get_mut(token) else { return Ok(()) };
        let Seat::Resting(source) = &mut slot.seat else { return Ok(()) };
        if armed.has(Direction::Output) {
            let message = "an exclusive registration cannot wait for room for output";
            return Err(std::io::Error::new(std::io::ErrorKind::Unsupported, message).into());
        }
        let group = source.extras.as_ref().and_then(|extras| extras.group.clone());
        if armed.is_empty() {
            // First it is no member that can take, then it leaves, then it passes on what it may
            // have been woken for: the wake can be in the ready list of this loop, unseen.
            group.iter().for_each(|group| group.set_able(token, false));
            let deleted = source.entry.delete(&self.epoll);
            slot.set_armed(armed);
            self.contain(deleted);
            group.iter().for_each(|group| group.pass(token));
        } else {
            source.entry.add(&self.epoll, flags, token.data())?;
            slot.set_armed(armed);
            group.iter().for_each(|group| group.set_able(token, true));
        }
        Ok(())
    }

    /// Sets and cancels the timers of rests.
    fn settle_rests(&mut self, token: Token) {
        let Some(source) = self.slots.resting(token) else { return };
        let Some(extras) = &mut source.extras else { return };
        let account = source.account;
        let mut rests = extras.rests;
        for direction in Direction::BOTH {
            let rest = &mut rests[direction as usize];
            let asked = rest.asked.take();
            if asked.is_none() && account.is_resting(direction) {
                continue;
            }
            if let Some(timer) = rest.timer.take() {
                self.timers.cancel(timer);
            }
            if let Some(length) = asked.filter(|_| account.is_resting(direction)) {
                let due = self.due_after(length);
                rest.timer = Some(self.timers.set(due, Due::Rested(token, direction)));
            }
        }
        if let Some(extras) = self.slots.resting(token).and_then(|it| it.extras.as_mut()) {
            extras.rests = rests;
        }
    }

    /// Gives a source a turn, unless it has one. It joins this turn if it has not been run in it.
    #[inline]
    pub(in crate::event_loop) fn enqueue(&mut self, token: Token) {
        let turn = self.stats.turns as u16;
        if let Some(slot) = self.slots.get_mut(token)
            && slot.place.is_none()
        {
            slot.place = self.runnable.push(token.index(), slot.ran != turn);
        }
    }

    /// As [`enqueue`](Registry::enqueue), whether or not the source is still ready then.
    pub(in crate::event_loop) fn enqueue_certain(&mut self, token: Token) {
        if let Some(slot) = self.slots.get_mut(token) {
            slot.certain = true;
        }
        self.enqueue(token);
    }

    /// The instant `delay` from now; a delay beyond the clock's range is as long as a century.
    pub(in crate::event_loop) fn due_after(&self, delay: Duration) -> Instant {
        const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
        let now = self.now();
        now.checked_add(delay).unwrap_or_else(|| now + CENTURY)
    }
}
