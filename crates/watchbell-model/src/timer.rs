//! The timerfd: a clock that can be waited for.
//! ([timerfd_create(2)](https://man7.org/linux/man-pages/man2/timerfd_create.2.html))
//!
//! Time is an input of the machine: [`Kernel::advance`](crate::Kernel::advance) says what time it
//! is.
//!
//! A periodic timer signals **once**. Its later expirations are counted when it is read, and only
//! the read sets it going again; so an edge-triggered watcher that does not read is never told
//! again.

use crate::arena::Id;
use crate::effects::Effects;
use crate::errno::Errno;
use crate::events::Mask;
use crate::rules::Rule;
use crate::wait_queue::{WaitQueue, Wake};

/// What timerfd_gettime(2) tells, and timerfd_settime(2) takes; in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimerSpec {
    /// Until the next expiration; 0 for "not set".
    pub value: u64,
    /// Between expirations; 0 for "once".
    pub interval: u64,
}

/// A timer of the monotonic clock.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Timer {
    /// When it expires next, if it is set.
    due: Option<u64>,
    interval: u64,
    /// Expirations that were not read.
    ticks: u64,
    /// Whether it waits for a read to go on.
    expired: bool,
    pub(crate) queue: Id<WaitQueue>,
}

impl Timer {
    pub(crate) fn new(queue: Id<WaitQueue>) -> Timer {
        Timer { due: None, interval: 0, ticks: 0, expired: false, queue }
    }

    /// Sets or, with a value of 0, stops the timer, and forgets what was not read. Says what was
    /// left.
    pub(crate) fn set(&mut self, spec: TimerSpec, now: u64) -> TimerSpec {
        let before = self.get(now);
        self.due = (spec.value > 0).then(|| now.saturating_add(spec.value));
        self.interval = spec.interval;
        self.ticks = 0;
        self.expired = false;
        before
    }

    /// What is left. Asking counts missed expirations, as reading does.
    pub(crate) fn get(&mut self, now: u64) -> TimerSpec {
        if self.expired && self.interval > 0 {
            self.go_on(now);
        }
        let value = self.due.map_or(0, |due| due.saturating_sub(now).max(1));
        TimerSpec { value, interval: self.interval }
    }

    /// How many times it has expired since the last read, as eight bytes.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a buffer of less than eight bytes; `EAGAIN` where it has not expired.
    pub(crate) fn read(&mut self, room: usize, now: u64) -> Result<Vec<u8>, Errno> {
        if room < 8 {
            return Err(Errno::EINVAL);
        }
        if self.ticks == 0 {
            return Err(Errno::EAGAIN);
        }
        if self.expired && self.interval > 0 {
            self.go_on(now);
        }
        self.expired = false;
        Ok(std::mem::take(&mut self.ticks).to_ne_bytes().to_vec())
    }

    /// Counts the periods that have passed since the expiration, and sets the next.
    fn go_on(&mut self, now: u64) {
        let expiration = self.due.unwrap_or(now);
        let missed = now.saturating_sub(expiration) / self.interval;
        self.ticks += missed;
        self.due = Some(expiration + (missed + 1) * self.interval);
        self.expired = false;
    }

    /// When it will expire next, if it is going.
    pub(crate) fn next(&self) -> Option<u64> {
        self.due.filter(|_| !self.expired)
    }

    /// It is `now`: expires if it is due.
    pub(crate) fn advance(&mut self, now: u64, fx: &mut Effects) {
        if self.next().is_none_or(|due| due > now) {
            return;
        }
        self.expired = true;
        self.ticks += 1;
        if self.interval == 0 {
            self.due = None;
        }
        if fx.keeps(Rule::ExpirationSignalsIn) {
            fx.wake(Wake::one(self.queue, Mask::IN));
        }
    }

    /// Readable with an expiration that was not read; never writable.
    pub(crate) fn readiness(&self) -> Mask {
        Mask::IN.when(self.ticks > 0)
    }
}
