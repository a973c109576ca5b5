//! The sources that have a turn, in the order in which they have it.
//!
//! There are two lists: the sources of this turn, and those of the next. A source stands in one of
//! them at most, and its slot knows where ([`Place`]), so that it can be taken out at no search.
//! The slot's place and the lists are one fact kept at both ends; each is asserted against the
//! other.

/// Where a slot stands in the lists: nowhere, or which list and how far in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    pub(crate) const NONE: Place = Place(u32::MAX);

    pub(crate) fn is_none(self) -> bool {
        self == Place::NONE
    }

    fn new(mark: u32, at: usize) -> Place {
        debug_assert!(at < u32::MAX as usize >> 1, "a slot stands in a list once");
        Place((at as u32) << 1 | mark)
    }

    /// Of a vacant slot: the next vacant one.
    pub(crate) fn next_vacant(index: u32) -> Place {
        Place(index)
    }

    pub(crate) fn as_next_vacant(self) -> Option<u32> {
        (!self.is_none()).then_some(self.0)
    }

    fn mark(self) -> u32 {
        self.0 & 1
    }

    fn at(self) -> usize {
        (self.0 >> 1) as usize
    }
}

/// What stands in a list where a source was taken out.
const GONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Runnable {
    /// This turn's list, and how far it has been run.
    now: Vec<u32>,
    cursor: usize,
    /// The next turn's.
    next: Vec<u32>,
    /// The mark of the next turn's list in a [`Place`]. The lists change places each turn, and the
    /// marks stay with them.
    mark: u32,
    /// How many sources stand in the lists.
    len: usize,
    /// Between the turn's first run and its last.
    is_running: bool,
}

impl Runnable {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts a slot at the end: of this turn's list if it may still join it, else of the next one's.
    pub(crate) fn push(&mut self, index: u32, joins: bool) -> Place {
        if !(joins && self.is_running) {
            return self.push_next(index);
        }
        let place = Place::new(1 - self.mark, self.now.len());
        self.now.push(index);
        self.len += 1;
        place
    }

    /// Puts a slot at the end of the next turn's list.
    #[inline]
    pub(crate) fn push_next(&mut self, index: u32) -> Place {
        let place = Place::new(self.mark, self.next.len());
        self.next.push(index);
        self.len += 1;
        place
    }

    /// Takes a slot out.
    pub(crate) fn remove(&mut self, index: u32, place: Place) {
        let list = if place.mark() == self.mark { &mut self.next } else { &mut self.now };
        let entry = &mut list[place.at()];
        assert_eq!(*entry, index, "a slot stands where it says");
        *entry = GONE;
        self.len -= 1;
    }

    /// The next turn's list becomes this turn's.
    #[inline]
    pub(crate) fn begin_turn(&mut self) {
        debug_assert_eq!(self.cursor, self.now.len(), "the last turn was run to its end");
        self.now.clear();
        std::mem::swap(&mut self.now, &mut self.next);
        self.mark = 1 - self.mark;
        self.cursor = 0;
        self.is_running = true;
    }

    /// The next slot of this turn.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u32> {
        while let Some(&index) = self.now.get(self.cursor) {
            self.cursor += 1;
            if index != GONE {
                self.len -= 1;
                return Some(index);
            }
        }
        self.is_running = false;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(runnable: &mut Runnable) -> Vec<u32> {
        runnable.begin_turn();
        std::iter::from_fn(|| runnable.next()).collect()
    }

    #[test]
    fn e10_sources_are_run_in_the_order_in_which_they_came() {
        let mut runnable = Runnable::default();
        let places = [3, 1, 2].map(|index| runnable.push(index, true));
        runnable.remove(1, places[1]);
        assert_eq!((runnable.len(), turn(&mut runnable)), (2, vec![3, 2]));
        assert!(runnable.is_empty() && turn(&mut runnable).is_empty());
    }

    #[test]
    fn e10_one_that_has_run_waits_for_the_next_turn_and_one_that_has_not_joins() {
        let mut runnable = Runnable::default();
        runnable.push(1, true);
        runnable.begin_turn();
        assert_eq!(runnable.next(), Some(1));
        runnable.push(1, false);
        let place = runnable.push(2, true);
        runnable.push(3, true);
        runnable.remove(2, place);
        assert_eq!((runnable.next(), runnable.next(), runnable.len()), (Some(3), None, 1));
        runnable.push(4, true); // by a timer, after the runs
        assert_eq!(turn(&mut runnable), [1, 4]);
    }
}
