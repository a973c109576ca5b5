//! The wait, and the queues around it.
//!
//! While the loop is awake no push rings: the loop looks at every queue once a turn by itself.
//! Before a wait that may block it arms each queue, which looks once more; after the wait they are
//! awake again.

use crate::doorbell::Armed;
use crate::epoll::Token;
use crate::error::Error;
use crate::event_loop::account::Direction;
use crate::event_loop::registry::{Bell, Registry};
use crate::kernel::Kernel;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// The shortest and the longest sleep beside a push that is under way. Each in a row is twice as
/// long, so that neither a short preemption costs much time nor a long one much work.
const BRIEFEST: Duration = Duration::from_micros(10);

impl<D, K: Kernel> Registry<D, K> {
    /// Waits for events: not at all while there is something to do, no longer than until the next
    /// timer.
    pub(super) fn wait(&mut self, longest: Option<Duration>) -> Result<(), Error> {
        let timeout = match self.has_work() {
            true => Some(Duration::ZERO),
            false => self.longest_sleep(longest),
        };
        debug_assert!(timeout == Some(Duration::ZERO) || self.runnable.is_empty());
        let epoll = &self.epoll;
        match epoll.kernel().epoll_wait(epoll.fd(), &mut self.buffer, timeout) {
            // A signal has eaten no event; its handler may have made one. Timers are looked at too.
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                self.buffer.clear();
                Ok(())
            }
            result => Ok(result?),
        }
    }

    fn has_work(&self) -> bool {
        let is_said = self.inbox.is_stopping() || self.inbox.has_letters();
        !self.runnable.is_empty() || is_said || !self.failures.is_empty()
    }

    /// How long the loop may sleep: until the next timer or the next look at a ghost.
    fn longest_sleep(&mut self, longest: Option<Duration>) -> Option<Duration> {
        let next = self.timers.next_due().into_iter().chain(self.heal_at.map(|(due, _)| due)).min();
        let until = |due: Instant| due.saturating_duration_since(self.now());
        let timeout = next.map(until).into_iter().chain(longest).min();
        // A wait that cannot block is no sleep to be woken from.
        if self.bells.is_empty() || timeout == Some(Duration::ZERO) {
            return timeout;
        }
        self.arm_bells().into_iter().chain(timeout).min()
    }

    /// Before a wait that may block: arms every queue. How long the wait may be for their sake;
    /// `None`: as long as it likes.
    fn arm_bells(&mut self) -> Option<Duration> {
        let mut longest: Option<Duration> = None;
        let mut is_brief = false;
        for index in 0..self.bells.len() {
            let token = self.bells[index];
            let Some(bell) = self.bell(token) else { continue };
            match bell.arm() {
                Armed::Sleep => {}
                Armed::SleepBriefly => is_brief = true,
                Armed::Item | Armed::Closed => {
                    self.enqueue_certain(token);
                    longest = Some(Duration::ZERO);
                }
            }
        }
        self.brief = match is_brief {
            true => self.brief.saturating_mul(2).clamp(BRIEFEST, Armed::BRIEFLY),
            false => Duration::ZERO,
        };
        if is_brief { Some(longest.unwrap_or(self.brief)) } else { longest }
    }

    /// After a wait: the loop looks by itself again, once a turn.
    pub(super) fn look_at_bells(&mut self) {
        for index in 0..self.bells.len() {
            let token = self.bells[index];
            if self.bell(token).is_some_and(|bell| bell.look()) {
                self.enqueue_certain(token);
            }
        }
    }

    /// A queue that may be run: it is there, and nobody has paused it.
    fn bell(&mut self, token: Token) -> Option<&mut dyn Bell> {
        let source = self.slots.resting(token)?;
        let is_stopped = source.account.is_stopped(Direction::Input);
        if is_stopped { None } else { source.entry.bell() }
    }
}
