//! One turn: harvest events, run every source that is runnable once, fire the timers that are due.
//!
//! A source that becomes runnable during the turn, or is still runnable after its run, has its next
//! run in the next turn, behind the others. So a source that floods cannot keep a quiet one waiting
//! longer than one run of each runnable source.

use super::Direction;
use super::core::{Core, Tenant};
use super::failure::Reason;
use super::ready::{Message, Run};
use super::timers::Due;
use super::turn::Turn;
use crate::epoll::{Event, Interest, Readiness, Token};
use crate::error::Error;
use crate::kernel::Kernel;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The token of the eventfd that stops the loop: no slot's.
pub(super) const STOP: Token = Token(u64::MAX);

impl<D, K: Kernel> Core<D, K> {
    pub(super) fn turn(&mut self, state: &mut D, longest: Option<Duration>) -> Result<(), Error> {
        self.stats.turns += 1;
        self.wait(longest)?;
        self.look_at_bells();
        self.harvest();
        for _ in 0..self.runnable.len() {
            let Some(token) = self.runnable.pop_front() else { break };
            self.run_source(token, state);
        }
        self.fire_timers(state);
        self.heal(state);
        Ok(())
    }

    /// Waits for events: not at all while a source is runnable, no longer than until the next
    /// timer.
    fn wait(&mut self, longest: Option<Duration>) -> Result<(), Error> {
        let timeout = if !self.runnable.is_empty() || self.stopping {
            Some(Duration::ZERO)
        } else {
            let until = |due: Instant| due.saturating_duration_since(self.now());
            let next = self.timers.next_due().map(until);
            let timeout = next.into_iter().chain(longest).min();
            // A wait that cannot block is no sleep to be woken from.
            let may_block = timeout != Some(Duration::ZERO);
            let brief = if may_block { self.arm_bells() } else { None };
            brief.into_iter().chain(timeout).min()
        };
        let instance = self.epoll.instance();
        let kernel = &instance.kernel;
        match kernel.epoll_wait(instance.fd(), &mut self.buffer, timeout) {
            // A signal has eaten no event; its handler may have made one. Timers are looked at too.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.buffer.clear();
                Ok(())
            }
            result => Ok(result?),
        }
    }

    /// Moves the events into the accounts of their sources.
    fn harvest(&mut self) {
        for index in 0..self.buffer.len() {
            let Some(event) = self.buffer.get(index).map(Event::new) else { break };
            self.stats.events += 1;
            if event.token == STOP {
                self.stopping = true;
            } else if let Some(tenant) = self.slots.get_mut(event.token) {
                tenant.directions.tell(event.readiness);
                tenant.readiness = tenant.readiness.and(event.readiness);
                if tenant.directions.is_runnable() {
                    self.enqueue(event.token);
                }
            } else {
                self.stats.stale += 1;
            }
        }
    }

    fn run_source(&mut self, token: Token, state: &mut D) {
        let Some(tenant) = self.slots.get_mut(token) else { return };
        tenant.queued = false;
        // Another source's handler can have paused it since.
        if !std::mem::take(&mut tenant.due) && !tenant.directions.is_runnable() {
            return;
        }
        let Some(mut entry) = tenant.entry.take() else { return };
        let readiness = std::mem::take(&mut tenant.readiness);
        tenant.directions.begin_run();
        let (directions, budget) = (tenant.directions, tenant.budget);
        let mut run = Run::new(token, directions, readiness, budget, self.settings.accept_pause);

        self.stats.runs += 1;
        let mut turn = Turn::new(self, state, Some(token));
        // The handler's own state may be left half-changed by a panic; it is dropped with the
        // source.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            entry.run(&mut run, &mut turn)?;
            Ok(entry.is_replaced())
        }));

        let Some(tenant) = self.slots.get_mut(token) else { return };
        tenant.entry = Some(entry);
        self.deliver(std::mem::take(&mut run.messages));
        let reason = match outcome {
            Ok(Ok(false)) => return self.after_run(token, run, state),
            Ok(Ok(true)) => Reason::Replaced,
            Ok(Err(error)) => Reason::Error(error),
            Err(payload) => Reason::Panic(payload),
        };
        self.close(token);
        self.fail(Some(token), reason, state);
    }

    /// Tells other sources what a run has to say to them.
    fn deliver(&mut self, messages: Vec<(Token, Message)>) {
        for (token, message) in messages {
            match message {
                Message::Write => self.wake(token, Direction::Output),
                Message::Release => self.change(token, |tenant| tenant.directions.let_input_go()),
            };
        }
    }

    /// Keeps account of what a run has left.
    fn after_run(&mut self, token: Token, run: Run, state: &mut D) {
        self.stats.spent += u64::from(run.left.is_spent());
        self.stats.skipped_accepts += run.skipped_accepts;
        self.stats.accept_pauses += run.accept_pauses;
        let limit = self.settings.idle_runs;
        let Some(tenant) = self.slots.get_mut(token) else { return };
        if std::mem::take(&mut tenant.changes.close) {
            return self.close(token);
        }
        tenant.directions = run.directions;
        tenant.directions.end_run(run.operations > 0);
        if tenant.entry.as_ref().is_some_and(|entry| entry.is_level()) {
            tenant.directions.end_level_run();
        }
        tenant.take_changes();
        if run.touched && tenant.is_unregistered() {
            self.close(token);
            return self.fail(Some(token), Reason::Replaced, state);
        }
        let again = run.again || run.left.messages_are_spent();
        let rests = run.rest.iter().any(Option::is_some);
        tenant.count_idle(run.operations > 0 || again || rests, run.readiness);
        if tenant.idle_runs >= limit {
            return self.suspend(token, state);
        }
        for direction in [Direction::Input, Direction::Output] {
            if let Some(rest) = run.rest[direction as usize] {
                self.rest(token, direction, rest);
            }
        }
        if again {
            self.enqueue_due(token);
        }
        if let Err(error) = self.settle(token) {
            self.close(token);
            return self.fail(Some(token), Reason::Registration(error.into()), state);
        }
        self.stats.retained += u64::from(self.slots.get(token).is_some_and(|it| it.queued));
    }

    /// Stops running a source whose handler does nothing with it, and says so, instead of spinning.
    fn suspend(&mut self, token: Token, state: &mut D) {
        let Some(tenant) = self.slots.get_mut(token) else { return };
        tenant.idle_runs = 0;
        tenant.directions.suspend();
        let silenced = match &tenant.entry {
            Some(entry) if entry.is_level() => {
                tenant.armed = Interest::NONE;
                entry.rearm(Interest::NONE)
            }
            _ => Ok(()),
        };
        let reason = match silenced {
            Ok(()) => Reason::Ignored,
            Err(error) => {
                self.close(token);
                Reason::Registration(error.into())
            }
        };
        self.fail(Some(token), reason, state);
    }

    /// Fires the timers that are due, each once; one that another sets waits for the next turn.
    fn fire_timers(&mut self, state: &mut D) {
        if self.timers.next_due().is_none() {
            return;
        }
        let (now, horizon) = (self.now(), self.timers.horizon());
        while let Some(due) = self.timers.take_due(now, horizon) {
            let callback = match due {
                Due::Call(callback) => callback,
                Due::Rested(token, direction) => {
                    self.change(token, |tenant| {
                        tenant.rests[direction as usize] = None;
                        tenant.directions.end_rest(direction);
                    });
                    continue;
                }
            };
            self.stats.timers += 1;
            let mut turn = Turn::new(self, state, None);
            match catch_unwind(AssertUnwindSafe(|| callback(&mut turn))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.fail(None, Reason::Error(error), state),
                Err(payload) => self.fail(None, Reason::Panic(payload), state),
            }
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.epoll.instance().kernel.now()
    }
}

impl<D, K: Kernel> Tenant<D, K> {
    /// Counts the runs in a row in which a handler did nothing with its source.
    ///
    /// A new edge is a reason of its own to be run. Of a level-triggered source the kernel tells at
    /// each wait, so there an event says nothing.
    fn count_idle(&mut self, worked: bool, readiness: Readiness) {
        let is_level = self.entry.as_ref().is_some_and(|entry| entry.is_level());
        let had_reason = worked || !is_level && readiness != Readiness::NONE;
        self.idle_runs = if had_reason { 0 } else { self.idle_runs.saturating_add(1) };
    }

    /// Whether the registration is not the source's any more, though its number may be: another
    /// file has that by now. `EPOLL_CTL_MOD` finds a registration by both.
    fn is_unregistered(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.rearm(self.armed).is_err())
    }

    /// Does what was asked of the source while it ran.
    fn take_changes(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        for direction in [Direction::Input, Direction::Output] {
            match changes.pause[direction as usize] {
                Some(true) => self.directions.pause(direction),
                Some(false) => self.directions.resume(direction),
                None => {}
            }
            if changes.wake[direction as usize] {
                self.directions.wake(direction);
            }
        }
    }
}
