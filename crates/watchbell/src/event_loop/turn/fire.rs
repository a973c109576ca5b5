//! Firing the timers.

use crate::event_loop::registry::{Due, Reason, Registry};
use crate::event_loop::store::Wish;
use crate::kernel::Kernel;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl<D, K: Kernel> Registry<D, K> {
    /// Fires the timers that are due, each once, and no more than a turn's share of them: the
    /// sources have their runs in between. A timer that another sets waits for the next turn.
    pub(super) fn fire_timers(&mut self, state: &mut D) {
        if self.timers.next_due().is_none() {
            return;
        }
        let now = self.now();
        let look = self.timers.look(now);
        for _ in 0..self.settings.timers_a_turn {
            let callback = match self.timers.take_due(&look) {
                None => return,
                Some(Due::Call(callback)) => callback,
                Some(Due::Rested(token, direction)) => {
                    self.wish(token, Wish::EndRest(direction));
                    continue;
                }
            };
            self.stats.timers += 1;
            match catch_unwind(AssertUnwindSafe(|| callback(self, state))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.fail(None, None, Reason::Error(error)),
                Err(payload) => self.fail(None, None, Reason::Panic(payload)),
            }
        }
    }
}
