//! Adding units, and what to do where they do not fit.

use super::object::Object;
use super::room::Room;
use super::{MAX_COUNT, NotAdmitted, Refusal};
use crate::kernel::Kernel;
use crate::sync::thread;
use std::time::{Duration, Instant};

/// What to do with units that do not fit.
///
/// Whatever the policy, either all units are admitted or none: what was refused is still the
/// caller's, in [`NotAdmitted`].
///
/// ```
/// use std::time::Duration;
/// use watchbell::eventfd::{Admission, MAX_COUNT, Refusal, Semaphore};
///
/// let semaphore = Semaphore::new(0)?;
/// semaphore.post(MAX_COUNT)?;
/// let policy = Admission::Retry { retries: 3, pause: Duration::from_micros(50) };
/// let refused = semaphore.admit(2, policy).unwrap_err();
/// assert_eq!(refused.units, 2);
/// assert!(matches!(refused.reason, Refusal::Full));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Try once.
    Fail,
    /// Try once, and up to `retries` times more, sleeping for `pause` before each of these.
    Retry {
        /// How many tries follow the first.
        retries: u32,
        /// The sleep before each of them.
        pause: Duration,
    },
    /// Wait for room until this instant of the kernel's monotonic clock.
    Until(Instant),
}

impl<K: Kernel> Object<K> {
    pub(super) fn add(&self, units: u64) -> Result<(), NotAdmitted> {
        self.try_add(units).map_err(|reason| NotAdmitted { units, reason })
    }

    pub(super) fn add_until(
        &self,
        units: u64,
        deadline: Option<Instant>,
    ) -> Result<(), NotAdmitted> {
        self.add_in_room(units, deadline).map_err(|reason| NotAdmitted { units, reason })
    }

    pub(super) fn admit(&self, units: u64, policy: Admission) -> Result<(), NotAdmitted> {
        match policy {
            Admission::Fail => self.add(units),
            Admission::Retry { retries, pause } => self.add_retrying(units, retries, pause),
            Admission::Until(deadline) => self.add_until(units, Some(deadline)),
        }
    }

    fn try_add(&self, units: u64) -> Result<(), Refusal> {
        if units > MAX_COUNT {
            return Err(Refusal::TooMany);
        }
        if self.write(units)? { Ok(()) } else { Err(Refusal::Full) }
    }

    /// Tries, watches, tries again, and then once a read.
    fn add_in_room(&self, units: u64, deadline: Option<Instant>) -> Result<(), Refusal> {
        let mut room = None;
        loop {
            match self.try_add(units) {
                Err(Refusal::Full) => {}
                outcome => return outcome,
            }
            let left = self.time_left(deadline);
            if left == Some(Duration::ZERO) {
                return Err(Refusal::Full);
            }
            match &mut room {
                None => room = Some(Room::watch(self.kernel(), self.fd())?),
                Some(room) => room.wait(self.kernel(), left)?,
            }
        }
    }

    fn add_retrying(&self, units: u64, retries: u32, pause: Duration) -> Result<(), NotAdmitted> {
        for _ in 0..retries {
            match self.try_add(units) {
                Err(Refusal::Full) => thread::sleep(pause),
                outcome => return outcome.map_err(|reason| NotAdmitted { units, reason }),
            }
        }
        self.add(units)
    }
}
