//! Deadlines, in the order in which they are due.

use std::collections::BTreeMap;
use std::time::Instant;

/// Names a timer, to cancel it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId {
    due: Instant,
    /// Tells timers of one instant apart, and keeps them in the order in which they were set.
    sequence: u64,
}

impl TimerId {
    /// When the timer is due.
    pub(crate) fn due(self) -> Instant {
        self.due
    }
}

/// The timers of a loop, with what is to be done when each is due.
pub(crate) struct Timers<T> {
    queue: BTreeMap<TimerId, T>,
    next: u64,
    /// When timers were last looked at. One that is set for an earlier instant goes behind those
    /// that were due by then: it is late already, and they are later.
    looked: Option<Instant>,
}

impl<T> Timers<T> {
    pub(crate) fn new() -> Timers<T> {
        Timers { queue: BTreeMap::new(), next: 0, looked: None }
    }

    pub(crate) fn set(&mut self, due: Instant, what: T) -> TimerId {
        let due = self.looked.map_or(due, |looked| due.max(looked));
        let id = TimerId { due, sequence: self.next };
        self.next = self.next.checked_add(1).expect("fewer than 2^64 timers");
        self.queue.insert(id, what);
        id
    }

    pub(crate) fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.queue.remove(&id)
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.queue.first_key_value().map(|(id, _)| id.due)
    }

    /// Looks at the timers at `now`: those that [`take_due`](Timers::take_due) is to hand out.
    pub(crate) fn look(&mut self, now: Instant) -> Look {
        self.looked = Some(now);
        Look { now, next: self.next }
    }

    /// The next timer that was due at a look and set before it. One that a timer sets for an
    /// instant that has passed is behind all of these, and waits for the next look.
    pub(crate) fn take_due(&mut self, look: &Look) -> Option<T> {
        let first = self.queue.first_entry()?;
        let id = first.key();
        (id.due <= look.now && id.sequence < look.next).then(|| first.remove())
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.queue).into_values()
    }
}

/// An instant, and the timers that were set until then.
pub(crate) struct Look {
    now: Instant,
    next: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn take_all<T>(timers: &mut Timers<T>, now: Instant) -> Vec<T> {
        let look = timers.look(now);
        std::iter::from_fn(|| timers.take_due(&look)).collect()
    }

    #[test]
    fn e14_timers_are_handed_out_in_order_and_never_early() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut timers = Timers::new();
        let second = timers.set(at(2), 2);
        for (due, what) in [(at(1), 1), (at(3), 3), (at(1), 11)] {
            timers.set(due, what);
        }
        assert_eq!(take_all(&mut timers, start), []);
        assert_eq!(timers.cancel(second), Some(2));
        assert_eq!(take_all(&mut timers, at(2)), [1, 11]);
        assert_eq!(timers.next_due(), Some(at(3)));
        assert_eq!(take_all(&mut timers, at(3)), [3]);
        assert_eq!(timers.cancel(second), None);
    }

    #[test]
    fn e05_one_that_is_set_for_the_past_goes_behind_those_that_are_due() {
        let start = Instant::now();
        let now = start + Duration::from_millis(5);
        let mut timers = Timers::new();
        timers.set(now, "due");
        let look = timers.look(now);
        timers.set(start, "set meanwhile");
        assert_eq!(timers.take_due(&look), Some("due"));
        assert_eq!(timers.take_due(&look), None);
        assert_eq!(timers.next_due(), Some(now));
        assert_eq!(take_all(&mut timers, now), ["set meanwhile"]);
    }
}
