//! The account of a source's readiness: what keeps an edge from being lost.
//!
//! An edge is reported once. From then on this account, not the kernel, knows that there is
//! something to do, until an operation has met the boundary. Each fact is a set of directions, so
//! that the rule of the whole library is one line ([`Account::runnable`]):
//!
//! ```text
//! runnable = ready & wanted & !stopped & !ended        stopped = paused | resting | held
//! ```
//!
//! | fact | set by | cleared by |
//! | --- | --- | --- |
//! | `ready` | an event, a wake | `EAGAIN`, the kernel's word that nothing is left, end of file |
//! | `standing` | the registration's interest | `stand_down` |
//! | `wanted` | an event or a resume (where standing), an operation that was refused or cut short | the run that it causes |
//! | `paused` | `pause` | `resume` |
//! | `resting` | `rest` | its timer, `resume` |
//! | `held` | an output queue above its high-water mark | the last such queue |
//! | `ended` | end of file | a new edge of input without a hang-up: a FIFO has a new writer |
//!
//! After a run, each direction of which an edge was reported is in one of three states: the
//! boundary was met (`ready` is clear), the source has ended, or the direction is runnable or
//! stopped. Two kinds of readiness are kept and cause no run, since a run would find nothing to do:
//! room for output that the handler left unused, and input that it left alone while its output was
//! blocked. The next event, operation, resume or wake makes them wanted again.
//!
//! Every transition leaves the account in its normal form: two accounts that behave alike for ever
//! are equal. `walk.rs` visits every state and shows that, and that no transition loses readiness.

mod budget;
mod directions;
mod memo;
#[cfg(test)]
mod walk;

pub(crate) use budget::Allowance;
pub use budget::Budget;
pub use directions::Direction;
pub(crate) use directions::Directions;
pub(crate) use memo::Memo;

use crate::epoll::{Interest, Readiness};
use crate::kernel::EventFlags;
use std::fmt;

/// The account of one source: seven facts and four traits, each a set of directions, in one word.
///
/// (One word, since a turn reads and writes all of them several times an event.)
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Account(u32);

/// Where a set stands in the word.
#[derive(Clone, Copy)]
struct Fact(u32);

const READY: Fact = Fact(0);
const STANDING: Fact = Fact(2);
const WANTED: Fact = Fact(4);
const PAUSED: Fact = Fact(6);
const RESTING: Fact = Fact(8);
const HELD: Fact = Fact(10);
const ENDED: Fact = Fact(12);
/// Of an urgent source, an operation waits for ordinary input. (Of every other source, that is
/// what `wanted` says.)
const AWAITED: Fact = Fact(24);
/// Neither stopped nor ended; standing and not ended. Both follow from the others, and are kept so
/// that they need not be worked out several times an event.
const OPEN: Fact = Fact(26);
const KEPT: Fact = Fact(28);
/// Level-triggered: both directions or none.
const LEVEL: Fact = Fact(14);
/// Exclusive: both directions or none.
const EXCLUSIVE: Fact = Fact(16);
/// `EPOLLPRI` is watched for: input or none.
const PRIORITY: Fact = Fact(18);
/// `EPOLLPRI` is watched for and `EPOLLIN` is not, unless an operation waits for it: input or none.
const URGENT: Fact = Fact(20);
/// The kernel's word that nothing is left to read is not the end, since a hang-up was reported, or
/// none would be. Only the read that returns it is, or `EAGAIN`. Input or none.
const DOUBT: Fact = Fact(22);

/// What an operation found out about its direction, beside its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum After {
    /// There may be more.
    More,
    /// Less was taken than was offered; the rest waits for the next operation.
    Short,
    /// The operation itself left nothing behind.
    Empty,
    /// The kernel says that nothing is left to read. A hang-up may still be.
    Drained,
    /// End of file.
    End,
}

/// How a source is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Trigger {
    Edge,
    Level,
    Exclusive,
}

impl Account {
    #[inline]
    const fn of(self, fact: Fact) -> Directions {
        Directions::from_bits(self.0 >> fact.0)
    }

    #[inline]
    const fn add(&mut self, fact: Fact, directions: Directions) {
        self.0 |= directions.bits() << fact.0;
    }

    #[inline]
    const fn remove(&mut self, fact: Fact, directions: Directions) {
        self.0 &= !(directions.bits() << fact.0);
    }

    #[inline]
    const fn has(self, fact: Fact) -> bool {
        !self.of(fact).is_empty()
    }

    /// The account of a source that is being registered.
    ///
    /// `EPOLL_CTL_ADD` reports readiness that is there already. A direction that is not watched is
    /// taken for ready: write first, then wait.
    pub(crate) fn new(interest: Interest, trigger: Trigger) -> Account {
        let reads = interest.contains(Interest::READABLE);
        let priority = interest.contains(Interest::PRIORITY);
        let urgent = priority && !reads && trigger != Trigger::Level;
        let standing = Directions::INPUT.when(reads || priority)
            | Directions::OUTPUT.when(interest.contains(Interest::WRITABLE));
        let doubt = !reads || trigger == Trigger::Exclusive;
        let mut account = Account::default();
        account.add(READY, !standing);
        account.add(STANDING, standing);
        account.add(LEVEL, Directions::BOTH.when(trigger == Trigger::Level));
        account.add(EXCLUSIVE, Directions::BOTH.when(trigger == Trigger::Exclusive));
        account.add(PRIORITY, Directions::INPUT.when(priority));
        account.add(URGENT, Directions::INPUT.when(urgent));
        account.add(DOUBT, Directions::INPUT.when(doubt));
        account.reopen();
        account.add(WANTED, standing);
        account
    }

    /// The rule: what the source has to be run for without any new event.
    #[inline]
    pub(crate) fn runnable(self) -> Directions {
        self.of(READY) & self.of(WANTED) & self.of(OPEN)
    }

    #[inline]
    pub(crate) fn is_runnable(self) -> bool {
        !self.runnable().is_empty()
    }

    fn stopped(self) -> Directions {
        self.of(PAUSED) | self.of(RESTING) | self.of(HELD)
    }

    /// After a change of what they follow from.
    fn reopen(&mut self) {
        let Account(both) = Account::default().with(OPEN).with(KEPT);
        self.0 &= !both;
        self.add(OPEN, !self.stopped() & !self.of(ENDED));
        self.add(KEPT, self.of(STANDING) & !self.of(ENDED));
    }

    const fn with(mut self, fact: Fact) -> Account {
        self.add(fact, Directions::BOTH);
        self
    }

    /// What the kernel has to watch for.
    ///
    /// Edge-triggered, a standing interest is always watched for, and the wish of an operation only
    /// while it is blocked: standing interest in output makes an event each time that the peer
    /// reads. Level-triggered and exclusive, what is stopped is not watched for: the first would be
    /// reported at each wait, the second would take a wake that another could use.
    #[inline]
    pub(crate) fn armed(self) -> Directions {
        let blocked = self.of(WANTED) & !self.of(READY);
        if self.has(LEVEL) {
            return self.of(WANTED) & self.of(OPEN);
        }
        if self.has(EXCLUSIVE) {
            return (self.of(STANDING) | blocked) & self.of(OPEN);
        }
        (self.of(STANDING) | blocked) & !self.of(URGENT) | self.of(AWAITED)
    }

    /// The flags of epoll_ctl(2) that watch for `armed`. With nothing to watch for, a
    /// level-triggered registration becomes edge-triggered: errors and hang-ups cannot be masked,
    /// and would be reported at each wait.
    pub(crate) fn flags(self, armed: Directions) -> EventFlags {
        let input = armed.has(Direction::Input);
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::OUT, armed.has(Direction::Output));
        if self.has(EXCLUSIVE) {
            flags.set(EventFlags::IN, input);
            return flags | EventFlags::ET | EventFlags::EXCLUSIVE;
        }
        let level = self.has(LEVEL);
        let only_priority = level && self.has(PRIORITY) && self.has(DOUBT);
        flags.set(EventFlags::PRI, self.has(PRIORITY) && (input || !level));
        flags.set(EventFlags::IN | EventFlags::RDHUP, input && !only_priority);
        flags.set(EventFlags::ET, !level || armed.is_empty());
        flags
    }

    #[inline]
    pub(crate) fn is_level(self) -> bool {
        self.has(LEVEL)
    }

    pub(crate) fn is_exclusive(self) -> bool {
        self.has(EXCLUSIVE)
    }

    /// Takes in an event. `true`: one run is due whatever the account says, since an error or a
    /// hang-up needs no interest and overrides a pause.
    ///
    /// `EPOLLERR` and `EPOLLHUP` concern both directions: the next operation of either says which
    /// error it is.
    pub(crate) fn tell(&mut self, event: Readiness) -> bool {
        let reported = directions_of(event);
        if event.is_ending() || self.has(ENDED) || self.has(AWAITED) {
            self.tell_rarely(event, reported);
        }
        self.add(READY, reported & !self.of(ENDED));
        self.add(WANTED, self.of(KEPT) & (reported | Directions::INPUT));
        event.is_error() || event.is_hangup()
    }

    /// What an event says that most do not.
    #[cold]
    fn tell_rarely(&mut self, event: Readiness, reported: Directions) {
        self.remove(AWAITED, reported);
        match event.is_ending() {
            true => self.add(DOUBT, Directions::INPUT),
            // Input after the end: a FIFO has a new writer.
            false => self.remove(ENDED, reported & Directions::INPUT),
        }
        self.reopen();
    }

    /// A run begins: it is the one that was wanted.
    #[inline]
    pub(crate) fn begin_run(&mut self) {
        self.remove(WANTED, self.of(READY) & self.of(OPEN));
    }

    /// A run has ended.
    ///
    /// Input is wanted again, unless the handler left everything alone because its output is
    /// blocked. A level-triggered source keeps only what the kernel is not asked about: the kernel
    /// reports the rest again.
    pub(crate) fn end_run(&mut self) {
        let served = self.of(READY) & self.of(OPEN);
        let waits_for_room = (self.of(WANTED) & !served).has(Direction::Output);
        let left_alone = served.when(waits_for_room);
        self.add(WANTED, self.of(KEPT) & Directions::INPUT & !left_alone);
        if self.has(LEVEL) {
            self.remove(READY, Directions::BOTH);
            self.add(READY, !self.of(WANTED) & !self.of(ENDED));
        }
    }

    /// Whether an operation of that direction may be tried. Where it may not, the wish is kept.
    #[inline]
    pub(crate) fn may_try(&mut self, direction: Direction) -> bool {
        let may = (self.of(READY) & self.of(OPEN)).has(direction);
        if !may && !self.of(ENDED).has(direction) {
            self.want(direction);
            self.await_input(direction);
        }
        may
    }

    /// An operation succeeded: the handler is at work, so what is left of the input is wanted.
    #[inline]
    pub(crate) fn settle(&mut self, direction: Direction, after: After) {
        let set = Directions::of(direction);
        self.remove(WANTED, set);
        match after {
            // Level-triggered, the kernel is asked to report the room that is left, as it is for
            // the input.
            After::More if direction == Direction::Output => {
                self.add(WANTED, set & self.of(STANDING) & self.of(LEVEL));
            }
            After::More => {}
            After::Short => self.add(WANTED, set),
            After::Drained if self.has(DOUBT) => {}
            After::Drained | After::Empty => self.remove(READY, set),
            After::End => {
                self.remove(READY, set);
                self.add(ENDED, set);
                self.reopen();
            }
        }
        self.add(WANTED, self.of(KEPT) & Directions::INPUT);
    }

    /// An operation met `EAGAIN`: the one certain boundary.
    #[inline]
    pub(crate) fn block(&mut self, direction: Direction) {
        self.remove(READY, Directions::of(direction));
        self.want(direction);
        self.await_input(direction);
    }

    fn await_input(&mut self, direction: Direction) {
        self.add(AWAITED, self.of(URGENT) & Directions::of(direction) & !self.of(READY));
    }

    /// An operation was refused for want of budget: the source is run again in a later turn.
    pub(crate) fn want(&mut self, direction: Direction) {
        self.add(WANTED, Directions::of(direction));
    }

    pub(crate) fn pause(&mut self, direction: Direction) {
        self.add(PAUSED, direction.into());
        self.reopen();
        self.keep_stopped();
    }

    /// Ends a pause and a rest.
    pub(crate) fn resume(&mut self, direction: Direction) {
        self.remove(PAUSED, Directions::of(direction));
        self.reopen();
        self.end_rest(direction);
    }

    pub(crate) fn rest(&mut self, direction: Direction) {
        self.add(RESTING, direction.into());
        self.reopen();
        self.keep_stopped();
    }

    pub(crate) fn end_rest(&mut self, direction: Direction) {
        self.remove(RESTING, Directions::of(direction));
        self.reopen();
        self.rouse(direction);
    }

    /// An output queue above its high-water mark holds the input that fills it.
    pub(crate) fn hold_input(&mut self) {
        self.add(HELD, Directions::INPUT);
        self.reopen();
        self.keep_stopped();
    }

    /// Normal form: what stands and is stopped is wanted, since whatever ends the stop makes it so.
    /// Of output that is so only where there is no input that could be left alone because of it.
    fn keep_stopped(&mut self) {
        let no_input = !self.of(STANDING).has(Direction::Input);
        let kept = Directions::INPUT | Directions::OUTPUT.when(no_input);
        self.add(WANTED, self.of(KEPT) & kept & self.stopped());
    }

    /// No output queue holds it any more.
    pub(crate) fn release_input(&mut self) {
        self.remove(HELD, Directions::INPUT);
        self.reopen();
        self.rouse(Direction::Input);
    }

    /// Takes a direction for ready on somebody else's word than the kernel's. It costs one
    /// operation at most if that was wrong.
    pub(crate) fn wake(&mut self, direction: Direction) {
        self.add(READY, Directions::of(direction) & !self.of(ENDED));
        self.add(WANTED, Directions::of(direction) & !self.of(ENDED));
        self.rouse(direction);
    }

    fn rouse(&mut self, direction: Direction) {
        self.add(WANTED, self.of(KEPT) & (Directions::of(direction) | Directions::INPUT));
    }

    /// From now on the direction is wanted only when an operation asks for it.
    pub(crate) fn stand_down(&mut self, direction: Direction) {
        self.remove(STANDING, Directions::of(direction));
        self.remove(WANTED, Directions::of(direction));
        self.reopen();
    }

    #[inline]
    pub(crate) fn is_ready(self, direction: Direction) -> bool {
        self.of(READY).has(direction)
    }

    pub(crate) fn is_standing(self, direction: Direction) -> bool {
        self.of(STANDING).has(direction)
    }

    pub(crate) fn is_stopped(self, direction: Direction) -> bool {
        self.stopped().has(direction)
    }

    pub(crate) fn is_resting(self, direction: Direction) -> bool {
        self.of(RESTING).has(direction)
    }

    pub(crate) fn is_held(self) -> bool {
        !self.of(HELD).is_empty()
    }

    pub(crate) fn is_blocked(self) -> bool {
        (self.of(WANTED) & !self.of(READY)).has(Direction::Output)
    }

    pub(crate) fn has_ended(self) -> bool {
        self.of(ENDED).has(Direction::Input)
    }
}

/// Whom an event concerns. `EPOLLIN`, `EPOLLPRI` and `EPOLLRDHUP` are of input, `EPOLLOUT` is of
/// output, `EPOLLERR` and `EPOLLHUP` are of both.
#[inline]
fn directions_of(event: Readiness) -> Directions {
    let bit = |flags: EventFlags| event.bits() >> flags.bits().trailing_zeros();
    let both = bit(EventFlags::ERR) | bit(EventFlags::HUP);
    let input = bit(EventFlags::IN) | bit(EventFlags::PRI) | bit(EventFlags::RDHUP) | both;
    let output = bit(EventFlags::OUT) | both;
    Directions::from_bits(input & 1 | (output & 1) << 1)
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = [
            ("ready", READY),
            ("standing", STANDING),
            ("wanted", WANTED),
            ("paused", PAUSED),
            ("resting", RESTING),
            ("held", HELD),
            ("ended", ENDED),
            ("level", LEVEL),
            ("exclusive", EXCLUSIVE),
            ("priority", PRIORITY),
            ("urgent", URGENT),
            ("doubt", DOUBT),
            ("awaited", AWAITED),
        ];
        let mut shown = f.debug_struct("Account");
        for (name, fact) in facts.iter().filter(|(_, fact)| self.has(*fact)) {
            shown.field(name, &self.of(*fact));
        }
        shown.finish()
    }
}
