//! Running the sources that have a turn.

use crate::event_loop::registry::Registry;
use crate::event_loop::run::{Notes, Run};
use crate::event_loop::store::{Place, Seat, Source};
use crate::kernel::Kernel;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

impl<D, K: Kernel> Registry<D, K> {
    pub(super) fn run_sources(&mut self, state: &mut D) {
        self.runnable.begin_turn();
        let run = Rc::clone(&self.run);
        while let Some(index) = self.runnable.next() {
            self.run_source(index, &run, state);
        }
    }

    /// Runs the handler of one source. Entry and account move into the run, and back at its end.
    fn run_source(&mut self, index: u32, run: &Run, state: &mut D) {
        let turn = self.stats.turns as u16;
        let (token, slot) = self.slots.at_with_token(index);
        (slot.place, slot.ran) = (Place::NONE, turn);
        let certain = std::mem::take(&mut slot.certain);
        let Seat::Resting(mut source) = std::mem::replace(&mut slot.seat, Seat::Running) else {
            unreachable!("a queue entry names a source at rest");
        };
        let (account, extras) = (source.account, source.extras.take());
        debug_assert!(certain || account.is_runnable(), "it wants its turn: {account:?}");
        let readiness = std::mem::take(&mut slot.readiness);
        run.begin(token, account, extras, readiness, self.settings.budget);
        self.stats.runs += 1;
        // The handler's own state may be left half-changed by a panic; it is dropped with the
        // source.
        let outcome = catch_unwind(AssertUnwindSafe(|| source.entry.run(run, self, state)));

        let notes = run.notes();
        let ended = self.memo.end_run(run.account());
        let source = Source { entry: source.entry, account: ended.account, extras: run.end() };
        let slot = self.slots.at(index);
        assert!(matches!(slot.seat, Seat::Running), "nobody ends a run but this");
        slot.seat = Seat::Resting(source);
        // The short way out: it worked, nothing was asked of it or said, and nothing is different
        // for the kernel or the queue.
        let is_even = notes & !Notes::BOUNDARY == Notes::WORKED
            && ended.armed == slot.armed()
            && !ended.is_runnable;
        if is_even && matches!(outcome, Ok(Ok(()))) {
            slot.idle = 0;
            return;
        }
        self.after_run(token, outcome, notes, state);
    }
}
