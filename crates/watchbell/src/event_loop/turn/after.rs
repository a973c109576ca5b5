//! The long way out of a run: something was asked, said, left, or went wrong.

use crate::epoll::Token;
use crate::error::Error;
use crate::event_loop::account::Direction;
use crate::event_loop::registry::{Reason, Registry};
use crate::event_loop::run::Notes;
use crate::event_loop::store::{Seat, Wish};
use crate::kernel::Kernel;
use crate::sync::thread;
use rustix::io::Errno;
use std::io;

impl<D, K: Kernel> Registry<D, K> {
    #[cold]
    #[inline(never)]
    pub(super) fn after_run(
        &mut self,
        token: Token,
        outcome: thread::Result<io::Result<()>>,
        notes: u8,
        state: &mut D,
    ) {
        self.stats.spent += u64::from(self.run.left.is_spent());
        self.stats.skipped_accepts += u64::from(self.run.skipped_accepts.take());
        self.stats.accept_pauses += u64::from(self.run.accept_pauses.take());
        let letters = self.run.take_letters();
        match outcome {
            Ok(Ok(())) if notes & Notes::REPLACED != 0 => self.end(token, Reason::Replaced),
            Ok(Ok(())) if notes & Notes::CLOSE != 0 => self.close(token),
            Ok(Ok(())) => self.keep(token, notes),
            Ok(Err(error)) => self.end(token, Reason::Error(error)),
            Err(payload) => self.end(token, Reason::Panic(payload)),
        }
        self.deliver(letters);
        self.read_inbox();
        self.report_failures(state);
    }

    /// Closes a source that has failed.
    fn end(&mut self, token: Token, reason: Reason) {
        let name = self.name_of(token);
        self.close(token);
        self.fail(Some(token), name, reason);
    }

    /// Keeps a source, with what its run has left.
    fn keep(&mut self, token: Token, notes: u8) {
        if notes & Notes::TOUCHED != 0 && self.is_unregistered(token) {
            return self.end(token, Reason::Replaced);
        }
        let again = notes & Notes::AGAIN != 0 || self.run.left.messages_are_spent();
        if self.is_ignored(token, notes, again) {
            return self.suspend(token);
        }
        self.settle(token);
        if again {
            self.enqueue_certain(token);
        }
        let is_kept = self.slots.get(token).is_some_and(|slot| !slot.place.is_none());
        self.stats.retained += u64::from(is_kept);
    }

    /// Whether the registration is not the source's any more, though its number may be: another
    /// file has that by now. `EPOLL_CTL_MOD` and `EPOLL_CTL_ADD` find a registration by both.
    fn is_unregistered(&mut self, token: Token) -> bool {
        let Some(slot) = self.slots.get_mut(token) else { return false };
        let (armed, data) = (slot.armed(), token.data());
        let Seat::Resting(source) = &mut slot.seat else { return false };
        let flags = source.account.flags(armed);
        if !source.account.is_exclusive() {
            return source.entry.modify(&self.epoll, flags, data).is_err();
        }
        if armed.is_empty() {
            return false;
        }
        match source.entry.add(&self.epoll, flags, data) {
            Err(Error::Os(error)) => Errno::from_io_error(&error) != Some(Errno::EXIST),
            Ok(()) | Err(_) => true,
        }
    }

    /// Counts the runs in a row that came to nothing, and whether that is too many.
    ///
    /// A new edge is a reason of its own to be run, and the boundary is the end of it. Of a
    /// level-triggered source the kernel reports at each wait, so neither says anything there: with
    /// an error that stands, or data that no operation takes, each run meets `EAGAIN` and the next
    /// wait reports the same. But several that share one level-triggered descriptor race, and the
    /// losers meet `EAGAIN` too. So the kernel is asked before such a source is blamed.
    fn is_ignored(&mut self, token: Token, notes: u8, again: bool) -> bool {
        let limit = self.settings.idle_runs;
        let had_event = !self.run.readiness().is_none();
        let Some(slot) = self.slots.get_mut(token) else { return false };
        let Seat::Resting(source) = &slot.seat else { return false };
        let (account, boundary) = (source.account, notes & Notes::BOUNDARY != 0);
        let rests = Direction::BOTH.iter().any(|direction| account.is_resting(*direction));
        let had_reason = !account.is_level() && (had_event || boundary);
        if notes & Notes::WORKED != 0 || again || rests || had_reason {
            slot.idle = 0;
            return false;
        }
        slot.idle = slot.idle.saturating_add(1);
        if !boundary || slot.idle < limit {
            return slot.idle >= limit;
        }
        if !source.entry.is_reported_ready(self.epoll.kernel()) {
            slot.idle = 0;
        }
        slot.idle >= limit.saturating_mul(2)
    }

    /// Stops running a source whose handler does nothing with it, and says so, instead of spinning.
    fn suspend(&mut self, token: Token) {
        let name = self.name_of(token);
        if let Some(slot) = self.slots.get_mut(token) {
            slot.idle = 0;
        }
        for direction in Direction::BOTH {
            self.wish(token, Wish::Pause(direction));
        }
        self.fail(Some(token), name, Reason::Ignored);
    }
}
