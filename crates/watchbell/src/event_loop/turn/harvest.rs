//! Moving the events into the accounts of their sources.

use crate::epoll::Readiness;
use crate::event_loop::registry::{Registry, WAKE};
use crate::event_loop::store::Seat;
use crate::kernel::Kernel;

impl<D, K: Kernel> Registry<D, K> {
    pub(super) fn harvest(&mut self) {
        self.stats.events += self.buffer.len() as u64;
        for index in 0..self.buffer.len() {
            let Some((data, flags)) = self.buffer.get(index) else { break };
            let readiness = Readiness::new(flags);
            let Some(slot) = self.slots.find(data) else {
                // The loop's own eventfd says: look at the inbox, which is done each turn.
                self.stats.stale += u64::from(data != WAKE);
                continue;
            };
            let Seat::Resting(source) = &mut slot.seat else {
                self.stats.stale += 1;
                continue;
            };
            let told = self.memo.tell(source.account, readiness);
            source.account = told.account;
            slot.readiness = slot.readiness.and(readiness);
            slot.certain |= told.is_due;
            if told.has_turn && slot.place.is_none() {
                slot.place = self.runnable.push_next(data as u32);
            }
        }
    }
}
