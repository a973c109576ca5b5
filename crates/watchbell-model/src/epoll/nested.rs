//! An epoll instance as a target: it can be polled, and watched by another instance.
//!
//! An instance is readable while a registration on its ready list is ready; it is never writable
//! (C060). To find out, the list is scanned as by a wait, except that the scan stops at the first
//! that is ready and leaves it where it is: **looking consumes no edge** (C073, C076).
//! Registrations that turn out not to be ready are dropped on the way.

use crate::arena::Id;
use crate::errno::Errno;
use crate::events::Mask;
use crate::file::{File, Object};
use crate::kernel::Kernel;
use crate::rules::Rule;

/// How many instances a chain may have (C063). man epoll_ctl(2) counts the links, of which there
/// are 4.
pub const DEEPEST_CHAIN: usize = 5;

impl Kernel {
    /// What an instance is ready for.
    pub(crate) fn epoll_readiness(&mut self, instance: Id<File>) -> Mask {
        let list: Vec<_> = self.epoll_mut(instance).ready.iter().copied().collect();
        for id in list {
            if !self.is_ready(id) {
                self.unqueue(id);
                continue;
            }
            if !self.fx.keeps(Rule::PeekConsumesNothing)
                && self.registrations[id].asked.has(Mask::ET)
            {
                self.unqueue(id);
            }
            self.wake_next(instance);
            return (Mask::IN | Mask::RDNORM).when(self.fx.keeps(Rule::NestedIsReadable));
        }
        Mask::NONE
    }

    /// Whether `instance` may come to watch `target`, another instance.
    ///
    /// # Errors
    ///
    /// `ELOOP` where `target` watches `instance`, however indirectly (C062), or where the longest
    /// chain through the two would have more than [`DEEPEST_CHAIN`] instances. It does not matter
    /// from which end the chain was built (C063, C064).
    pub(crate) fn check_nesting(
        &mut self,
        instance: Id<File>,
        target: Id<File>,
    ) -> Result<(), Errno> {
        if self.watches(target, instance) {
            // Nobody could go on from a circle: the test that breaks this rule gets another error.
            let kept = self.fx.keeps(Rule::NoCircles);
            return Err(if kept { Errno::ELOOP } else { Errno::EINVAL });
        }
        let chain = self.instances_above(instance) + 2 + self.instances_below(target);
        if chain > DEEPEST_CHAIN && self.fx.keeps(Rule::FiveInstancesDeep) {
            return Err(Errno::ELOOP);
        }
        Ok(())
    }

    fn nested_in(&self, instance: Id<File>) -> impl Iterator<Item = Id<File>> + '_ {
        let interest = match &self.files[instance].object {
            Object::Epoll(epoll) => Some(&epoll.interest),
            _ => None,
        };
        let targets = interest.into_iter().flat_map(|interest| interest.keys());
        targets.map(|(target, _)| *target).filter(|target| self.files[*target].is_epoll())
    }

    fn watches(&self, instance: Id<File>, other: Id<File>) -> bool {
        self.nested_in(instance).any(|nested| nested == other || self.watches(nested, other))
    }

    /// The length of the longest chain of instances that `instance` watches.
    fn instances_below(&self, instance: Id<File>) -> usize {
        self.nested_in(instance).map(|nested| 1 + self.instances_below(nested)).max().unwrap_or(0)
    }

    /// The length of the longest chain of instances that watch `instance`.
    fn instances_above(&self, instance: Id<File>) -> usize {
        let watchers = self.files[instance].watchers.iter();
        watchers
            .map(|id| 1 + self.instances_above(self.registrations[*id].epoll))
            .max()
            .unwrap_or(0)
    }
}
