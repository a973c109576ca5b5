//! Leaving ghosts behind.
//!
//! A ghost is a registration whose descriptor was closed or replaced while a duplicate keeps the
//! open file alive. It makes events for ever, and neither `EPOLL_CTL_DEL` nor close(2) reaches it
//! (epoll(7), questions and answers, 6): only the end of its epoll instance does. So every living
//! source is added to a new instance, and the old one is dropped.
//!
//! `EPOLL_CTL_ADD` reports readiness that is there, so nothing is lost on the way.

use crate::epoll::{Epoll, Interest, Token};
use crate::error::Error;
use crate::event_loop::registry::{Reason, Registry};
use crate::event_loop::store::Seat;
use crate::kernel::Kernel;
use crate::sync::thread;
use rustix::io::Errno;
use std::time::Duration;

/// The shortest pause before a healing that failed is tried again. Each in a row is twice as long,
/// up to the loop's `accept_pause`, which is for the same want.
const BRIEFEST: Duration = Duration::from_millis(1);

/// Sources that could not be moved, and why.
type Lost = Vec<(Token, Error)>;

impl<D, K: Kernel> Registry<D, K> {
    /// Moves to a new epoll instance if this one has ghosts. Where that fails, for want of
    /// descriptors or memory, the old one goes on, ghosts and all, and it is tried again after a
    /// pause.
    pub(super) fn heal(&mut self) {
        if self.epoll.ghosts() == 0 {
            return;
        }
        if let Some((due, pause)) = self.heal_at
            && self.now() < due
        {
            // A level-triggered ghost is reported at each wait. The loop must not spin meanwhile.
            if self.brought_nothing() {
                thread::sleep(pause.min(due.saturating_duration_since(self.now())));
            }
            return;
        }
        match self.copy_of_interest_list() {
            Ok((healthy, lost)) => self.move_to(healthy, lost),
            Err(_) => self.pause_healing(),
        }
    }

    fn move_to(&mut self, healthy: Epoll<K>, lost: Lost) {
        self.heal_at = None;
        self.stats.ghosts += self.epoll.ghosts();
        self.stats.healed += 1;
        // Those that are lost leave the old instance, which ends with whatever they leave in it.
        for (token, error) in lost {
            let name = self.name_of(token);
            self.close(token);
            self.fail(Some(token), name, Reason::Registration(error.into()));
        }
        self.wakes.adopt(healthy.instance());
        self.epoll = healthy;
    }

    fn pause_healing(&mut self) {
        let last = self.heal_at.map(|(_, pause)| pause.saturating_mul(2));
        let longest = self.settings.accept_pause.max(BRIEFEST);
        let pause = last.unwrap_or(BRIEFEST).min(longest);
        self.heal_at = Some((self.due_after(pause), pause));
        self.stats.heal_pauses += 1;
    }

    /// Whether the last wait brought events and none that anybody had to be run for.
    fn brought_nothing(&mut self) -> bool {
        let is_idle = self.runnable.is_empty() && !self.buffer.is_empty();
        is_idle && self.buffer.iter().all(|(data, _)| self.slots.find(data).is_none())
    }

    /// A new epoll instance that watches every living source as it is watched now, and the sources
    /// that could not be added for a reason of their own.
    fn copy_of_interest_list(&mut self) -> Result<(Epoll<K>, Lost), Error> {
        let healthy: Epoll<K> = self.epoll.successor()?;
        self.wakes.add_to(healthy.instance(), Interest::READABLE.flags())?;
        let mut lost = Lost::new();
        for token in self.slots.tokens() {
            match self.add_to(token, &healthy) {
                Err(error) if concerns_all(&error) => return Err(error),
                Err(error) => lost.push((token, error)),
                Ok(()) => {}
            }
        }
        Ok((healthy, lost))
    }

    fn add_to(&mut self, token: Token, healthy: &Epoll<K>) -> Result<(), Error> {
        let Some(slot) = self.slots.get_mut(token) else { return Ok(()) };
        let armed = slot.armed();
        let Seat::Resting(source) = &mut slot.seat else { return Ok(()) };
        if source.account.is_exclusive() && armed.is_empty() {
            return Ok(());
        }
        source.entry.add(healthy, source.account.flags(armed), token.data())
    }
}

/// Whether `EPOLL_CTL_ADD` has failed for want of something that no source is to blame for.
fn concerns_all(error: &Error) -> bool {
    let Error::Os(error) = error else { return false };
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::NOMEM))
}
