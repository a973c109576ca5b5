//! The loop's sleep, where queues are concerned.
//!
//! While the loop is awake no push rings: it looks at every queue once a turn by itself. Before a
//! wait that may block it arms each queue, which looks once more; after the wait they are awake
//! again.

use super::Direction;
use super::core::Core;
use super::served::Bell;
use crate::doorbell::Armed;
use crate::epoll::Token;
use crate::kernel::Kernel;
use std::time::Duration;

/// The shortest and the longest sleep beside a push that is under way. Each in a row is twice as
/// long, so that neither a short preemption costs much time nor a long one much work.
const BRIEFEST: Duration = Duration::from_micros(10);

impl<D, K: Kernel> Core<D, K> {
    /// Before a wait that may block: arms every queue. How long the wait may be for their sake;
    /// `None`: as long as it likes.
    pub(super) fn arm_bells(&mut self) -> Option<Duration> {
        let mut longest: Option<Duration> = None;
        let mut is_brief = false;
        for index in 0..self.bells.len() {
            let token = self.bells[index];
            let Some(bell) = self.bell(token) else { continue };
            match bell.arm() {
                Armed::Sleep => {}
                Armed::SleepBriefly => is_brief = true,
                Armed::Item | Armed::Closed => {
                    self.enqueue_due(token);
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
                self.enqueue_due(token);
            }
        }
    }

    /// A queue that may be run: it is there, and nobody has paused it.
    fn bell(&mut self, token: Token) -> Option<&mut dyn Bell> {
        let tenant = self.slots.get_mut(token)?;
        if tenant.directions.is_paused(Direction::Input) {
            return None;
        }
        tenant.entry.as_mut()?.bell()
    }
}
