//! The eventfd: a counter that can be waited for.
//! ([eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html))

use crate::arena::Id;
use crate::effects::Effects;
use crate::errno::Errno;
use crate::events::Mask;
use crate::rules::Rule;
use crate::wait_queue::{WaitQueue, Wake};

/// The largest count that writes can reach. `u64::MAX` itself is for signals that the kernel posts.
pub const MAX_COUNT: u64 = u64::MAX - 1;

/// A counter of 64 bits, its mode, and those who wait for it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Eventfd {
    count: u64,
    semaphore: bool,
    pub(crate) queue: Id<WaitQueue>,
}

impl Eventfd {
    /// A counter that starts at `initval`, which has 32 bits (E007).
    pub(crate) fn new(initval: u32, semaphore: bool, queue: Id<WaitQueue>) -> Eventfd {
        Eventfd { count: u64::from(initval), semaphore, queue }
    }

    /// Takes the whole count, or one unit in semaphore mode (E030, E031).
    ///
    /// The buffer must have room for eight bytes; what is behind them stays untouched (E033, E034).
    /// A successful read signals `OUT`, to everybody who asked for it, even where there was room
    /// before (S126, Y006).
    ///
    /// # Errors
    ///
    /// `EINVAL` for a short buffer, before anything else; `EAGAIN` at zero, where a blocking reader
    /// sleeps. Neither signals anything.
    pub(crate) fn read(&mut self, room: usize, fx: &mut Effects) -> Result<Vec<u8>, Errno> {
        if room < 8 {
            return Err(Errno::EINVAL);
        }
        if self.count == 0 {
            if !fx.keeps(Rule::RefusalsSignalNothing) {
                fx.wake(Wake::one(self.queue, Mask::OUT));
            }
            return Err(Errno::EAGAIN);
        }
        let one = self.semaphore && fx.keeps(Rule::SemaphoreReadTakesOne);
        let taken = if one { 1 } else { self.count };
        self.count -= taken;
        if fx.keeps(Rule::ReadSignalsOut) {
            fx.wake(Wake::one(self.queue, Mask::OUT));
        }
        Ok(taken.to_ne_bytes().to_vec())
    }

    /// Adds the eight bytes written.
    ///
    /// A successful write signals `IN`: also one of zero, which makes nothing readable (E040, E098,
    /// Y011), and also one to a counter that is readable already. That is why **an edge repeats**:
    /// an edge-triggered registration is told of every write, not of every change (S122).
    ///
    /// # Errors
    ///
    /// `EINVAL` for any length but eight (E035, E036) and for `u64::MAX`, even where a blocking
    /// writer would sleep (E037). `EAGAIN` where the sum would pass [`MAX_COUNT`] (E039); nothing
    /// is added.
    pub(crate) fn write(&mut self, bytes: &[u8], fx: &mut Effects) -> Result<usize, Errno> {
        let value = <[u8; 8]>::try_from(bytes).map_err(|_| Errno::EINVAL)?;
        let value = u64::from_ne_bytes(value);
        if value == u64::MAX {
            return Err(Errno::EINVAL);
        }
        if value > MAX_COUNT - self.count.min(MAX_COUNT) || self.count == u64::MAX {
            if !fx.keeps(Rule::RefusalsSignalNothing) {
                fx.wake(Wake::one(self.queue, Mask::IN));
            }
            return Err(Errno::EAGAIN);
        }
        let readable_before = self.count > 0;
        self.count += value;
        let silent = value == 0 && !fx.keeps(Rule::WriteOfZeroSignals)
            || readable_before && !fx.keeps(Rule::EveryWriteIsAnEdge)
            || readable_before && fx.oracle.quiet_while_readable;
        if fx.keeps(Rule::WriteSignalsIn) && !silent {
            fx.wake(Wake::one(self.queue, Mask::IN));
        }
        Ok(8)
    }

    /// A signal that the kernel itself posts, as asynchronous I/O does: one unit more, up to
    /// `u64::MAX`, which no write reaches (E104).
    pub(crate) fn post(&mut self, fx: &mut Effects) {
        self.count = self.count.saturating_add(1);
        let overflow = Mask::ERR.when(self.count == u64::MAX);
        fx.wake(Wake::one(self.queue, Mask::IN | overflow));
    }

    /// Readable above zero, writable while 1 fits, in error at `u64::MAX` (E090, E104).
    ///
    /// Never `RDNORM` or `WRNORM` (E094).
    pub(crate) fn readiness(&self) -> Mask {
        Mask::IN.when(self.count > 0)
            | Mask::OUT.when(self.count < MAX_COUNT)
            | Mask::ERR.when(self.count == u64::MAX)
    }

    /// What proc_pid_fdinfo(5) shows (E004, E010).
    pub(crate) fn fdinfo(&self) -> String {
        let semaphore = u8::from(self.semaphore);
        format!("eventfd-count: {:16x}\neventfd-semaphore: {semaphore}\n", self.count)
    }
}
