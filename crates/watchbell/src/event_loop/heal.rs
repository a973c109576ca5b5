//! Leaving ghosts behind.
//!
//! A ghost is a registration whose descriptor was closed or replaced while a duplicate keeps the
//! open file alive. It makes events for ever, and neither `EPOLL_CTL_DEL` nor close(2) reaches it
//! (epoll(7), questions and answers, 6): only the end of its epoll instance does. So every living
//! source is added to a new instance, and the old one is dropped.
//!
//! `EPOLL_CTL_ADD` tells of readiness that is there, so that nothing is lost on the way.

use super::core::{Core, Tenant};
use super::failure::Reason;
use crate::epoll::{Epoll, Instance, Interest, Token};
use crate::error::Error;
use crate::kernel::{EventFlags, Kernel};
use crate::sync::Arc;
use rustix::io::Errno;

/// Sources that could not be moved, and why.
type Lost = Vec<(Token, Error)>;

impl<D, K: Kernel> Core<D, K> {
    /// Moves to a new epoll instance if this one has ghosts. Until all of the sources are added to
    /// the new one, nothing is changed: where that fails, for want of descriptors or memory, the
    /// old one goes on, ghosts and all, and it is tried again later.
    pub(super) fn heal(&mut self, state: &mut D) {
        let ghosts = self.epoll.ghosts();
        if ghosts == 0 || self.heal_at.is_some_and(|due| self.now() < due) {
            return;
        }
        let Ok((healthy, lost)) = self.copy_of_interest_list() else {
            self.heal_at = Some(self.due_after(self.settings.accept_pause));
            return;
        };
        self.heal_at = None;
        self.stats.ghosts += ghosts;
        self.stats.healed += 1;
        self.stop.adopt(healthy.instance());
        for (token, tenant) in self.slots.iter_mut() {
            let is_lost = lost.iter().any(|(other, _)| *other == token);
            if let Some(entry) = tenant.entry.as_mut().filter(|_| !is_lost) {
                entry.adopt(healthy.instance());
            }
        }
        self.epoll = healthy;
        for (token, error) in lost {
            self.close(token);
            self.fail(Some(token), Reason::Registration(error.into()), state);
        }
    }

    /// A new epoll instance that watches every living source as it is watched now, and the sources
    /// that could not be added for a reason of their own.
    fn copy_of_interest_list(&self) -> Result<(Epoll<K>, Lost), Error> {
        let healthy = Epoll::on(self.epoll.instance().kernel.clone())?;
        self.stop.add_to(healthy.instance(), Interest::READABLE.flags())?;
        let mut lost = Lost::new();
        for (token, tenant) in self.slots.iter() {
            match tenant.add_to(healthy.instance()) {
                Err(error) if concerns_all(&error) => return Err(error),
                Err(error) => lost.push((token, error)),
                Ok(()) => {}
            }
        }
        Ok((healthy, lost))
    }
}

/// Whether `EPOLL_CTL_ADD` has failed for want of something that no source is to blame for.
fn concerns_all(error: &Error) -> bool {
    let Error::Os(error) = error else { return false };
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::NOMEM))
}

impl<D, K: Kernel> Tenant<D, K> {
    /// Registers the source with another epoll instance too, as it is armed now.
    fn add_to(&self, instance: &Arc<Instance<K>>) -> Result<(), Error> {
        let Some(entry) = &self.entry else { return Ok(()) };
        let flags = match self.armed {
            armed if armed == self.asked => self.flags,
            Interest::NONE if entry.is_level() => EventFlags::ET,
            armed => armed.flags(),
        };
        entry.add_to(instance, flags)
    }
}
