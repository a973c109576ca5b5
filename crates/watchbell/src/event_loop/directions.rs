//! Readiness, kept for each direction of a source: the account that no edge gets lost from.
//!
//! An edge is told once. From then on this account, not the kernel, knows that there is something
//! to do, until an operation has met the boundary:
//!
//! ```text
//!                      edge                          EAGAIN, or the kernel's word
//!          ┌────────────────────────► ready ──────────────────────────────┐
//!          │                          │   ▲                               ▼
//!        quiet ◄──────────────────────┼───┼─────────────────────────────quiet
//!                                     │   │ resume
//!                               pause ▼   │
//!                                     paused      end of file: ended, for good
//! ```
//!
//! A direction that is ready, wanted, and neither paused nor ended makes its source runnable. That
//! is one of the three states that an edge may leave behind, and there is no fourth: *the boundary
//! was reached*, *the source is terminal*, or *it is runnable or explicitly paused*. (A handler
//! that leaves its input alone while its output is blocked has paused it, until the edge of room
//! that is then watched for.)

use crate::epoll::{Interest, Readiness};

/// One of the two ways that data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the descriptor to us: read, receive, accept.
    Input,
    /// From us to the descriptor: write, send, connect.
    Output,
}

/// What an operation found out about its direction, beside its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// There may be more.
    More,
    /// The kernel said that nothing is left, or `EAGAIN` did.
    Boundary,
    /// End of file: there will never be more.
    End,
    /// Less was taken than was offered; the rest waits for the next operation.
    Short,
}

/// The account of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Directions {
    input: Account,
    output: Account,
    /// An error, a hang-up or the peer's half-close was told: the kernel's word that nothing is
    /// left to read is not the end of the matter, only the read that returns it is.
    hangup: bool,
    /// One run is due: an error or a hang-up was told, which needs no interest and overrides a
    /// pause, or somebody has woken the source.
    due: bool,
}

/// The account of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Account {
    /// No operation has met the boundary since the last edge.
    ready: bool,
    /// The registration's own interest: run the source whenever this direction is ready.
    standing: bool,
    /// An operation was refused or cut short: run the source once the direction is ready (again).
    pending: bool,
    /// The standing interest has a reason: an edge, an operation or a resume, and since then no run
    /// that made no use of it. What is made no use of is kept, but not run for: room for output
    /// when there is nothing to write, and input while output is blocked.
    wanted: bool,
    /// Paused by somebody's explicit word. Of the three pauses none takes another back.
    paused: bool,
    /// Paused until a timer ends it.
    rests: bool,
    /// Paused by so many output queues above their high-water marks.
    held: u32,
    ended: bool,
}

impl Account {
    fn is_runnable(self) -> bool {
        self.ready && (self.is_standing() || self.pending) && !self.is_paused() && !self.ended
    }

    fn is_standing(self) -> bool {
        self.standing && self.wanted
    }

    fn is_paused(self) -> bool {
        self.paused || self.rests || self.held > 0
    }

    /// Whether the kernel has to tell of the next edge. For a pending operation only while it is
    /// blocked: a standing interest in output makes an event each time that the peer reads.
    fn is_armed(self) -> bool {
        self.standing || (self.pending && !self.ready && !self.ended)
    }

    /// What nobody watches for is tried without being told.
    fn is_taken_for_ready(self) -> bool {
        !self.is_standing() && !self.pending
    }

    /// Whether a level-triggered registration may watch for it: what is not consumed is told again
    /// at once.
    fn is_armed_level(self) -> bool {
        let wanted = self.is_standing() || (self.pending && !self.ready);
        wanted && !self.is_paused() && !self.ended
    }
}

impl Directions {
    /// The account of a source that is just being registered.
    ///
    /// `EPOLL_CTL_ADD` tells of readiness that is there already. Where it is not asked to, the
    /// direction is taken for ready: write first, then wait.
    pub(crate) fn new(interest: Interest) -> Directions {
        let account =
            |standing| Account { standing, ready: !standing, wanted: true, ..Account::default() };
        Directions {
            input: account(
                interest.contains(Interest::READABLE) || interest.contains(Interest::PRIORITY),
            ),
            output: account(interest.contains(Interest::WRITABLE)),
            ..Directions::default()
        }
    }

    /// Takes in an event.
    ///
    /// `EPOLLERR` and `EPOLLHUP` concern both directions: the next operation of either tells which
    /// error it was.
    pub(crate) fn tell(&mut self, readiness: Readiness) {
        let ended = readiness.is_error() || readiness.is_hangup();
        let input = readiness.is_readable() || readiness.is_priority();
        self.input.ready |= input || readiness.is_peer_closed() || ended;
        self.output.ready |= readiness.is_writable() || ended;
        self.output.wanted |= readiness.is_writable() || ended;
        self.input.wanted = true;
        self.hangup |= readiness.is_peer_closed() || ended;
        self.due |= ended;
    }

    /// Whether the source has to be run without any new event.
    pub(crate) fn is_runnable(&self) -> bool {
        self.due || self.input.is_runnable() || self.output.is_runnable()
    }

    /// A run begins: it is the one that was due.
    pub(crate) fn begin_run(&mut self) {
        self.due = false;
    }

    /// A run has ended. If no operation came to anything, there is nothing to write, or no room for
    /// what reading would bring.
    pub(crate) fn end_run(&mut self, worked: bool) {
        self.output.wanted &= worked;
        let waits_for_room = self.output.pending && (!self.output.ready || self.output.is_paused());
        self.input.wanted = worked || !waits_for_room;
    }

    /// A run of a level-triggered source has ended: the kernel tells again of all that is left, so
    /// nothing is kept but what it is not asked about.
    pub(crate) fn end_level_run(&mut self) {
        self.input.ready = self.input.is_taken_for_ready();
        self.output.ready = self.output.is_taken_for_ready();
    }

    /// Whether an operation of that direction may be tried. Where it may not, the wish is kept.
    pub(crate) fn may_try(&mut self, direction: Direction) -> bool {
        let account = self.account(direction);
        account.wanted = true;
        let may = account.ready && !account.is_paused();
        account.pending |= !may;
        may
    }

    /// An operation succeeded, or met its boundary.
    pub(crate) fn settle(&mut self, direction: Direction, after: After) {
        let hangup = self.hangup;
        let account = self.account(direction);
        account.pending = after == After::Short;
        match after {
            After::More | After::Short => {}
            // With a hang-up told, "nothing is left" leaves the end of file or the error to be
            // read.
            After::Boundary if hangup && direction == Direction::Input => {}
            After::Boundary => account.ready = false,
            After::End => {
                account.ended = true;
                account.ready = false;
            }
        }
    }

    /// An operation met `EAGAIN`: the one certain boundary.
    pub(crate) fn block(&mut self, direction: Direction) {
        let account = self.account(direction);
        account.ready = false;
        account.pending = true;
    }

    /// An operation was refused for want of budget: the source is run again in a later turn.
    pub(crate) fn want(&mut self, direction: Direction) {
        self.account(direction).pending = true;
    }

    pub(crate) fn pause(&mut self, direction: Direction) {
        self.account(direction).paused = true;
    }

    pub(crate) fn resume(&mut self, direction: Direction) {
        self.account(direction).paused = false;
        self.end_rest(direction);
    }

    pub(crate) fn rest(&mut self, direction: Direction) {
        self.account(direction).rests = true;
    }

    pub(crate) fn end_rest(&mut self, direction: Direction) {
        self.account(direction).rests = false;
        self.account(direction).wanted = true;
        self.input.wanted = true;
    }

    /// Pauses input because of the output that it makes, or takes that back.
    /// One more output queue holds the input that fills it.
    pub(crate) fn hold_input(&mut self) {
        self.input.held = self.input.held.saturating_add(1);
    }

    /// One output queue fewer holds it.
    pub(crate) fn let_input_go(&mut self) {
        self.input.held = self.input.held.saturating_sub(1);
        self.input.wanted = true;
    }

    /// No output queue holds it any more.
    pub(crate) fn release_input(&mut self) {
        self.input.held = 0;
        self.input.wanted = true;
    }

    /// Takes a direction for ready on the word of somebody else than the kernel, and makes one run
    /// due. It costs one operation at most if that was wrong.
    pub(crate) fn wake(&mut self, direction: Direction) {
        self.due = true;
        self.account(direction).ready = true;
        self.account(direction).wanted = true;
        self.input.wanted = true;
    }

    /// Nothing is tried any more until somebody resumes.
    pub(crate) fn suspend(&mut self) {
        self.due = false;
        self.pause(Direction::Input);
        self.pause(Direction::Output);
    }

    pub(crate) fn is_ready(&self, direction: Direction) -> bool {
        self.peek(direction).ready
    }

    pub(crate) fn is_standing(&self, direction: Direction) -> bool {
        self.peek(direction).standing
    }

    /// From now on the direction is wanted only when an operation asks for it.
    pub(crate) fn stand_down(&mut self, direction: Direction) {
        self.account(direction).standing = false;
    }

    pub(crate) fn is_paused(&self, direction: Direction) -> bool {
        self.peek(direction).is_paused()
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.output.pending && !self.output.ready
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.input.ended
    }

    /// What an edge-triggered registration has to watch for now.
    pub(crate) fn armed(&self, asked: Interest) -> Interest {
        Self::interest(asked, self.input.is_armed(), self.output.is_armed())
    }

    /// What a level-triggered registration has to watch for now.
    pub(crate) fn armed_level(&self, asked: Interest) -> Interest {
        Self::interest(asked, self.input.is_armed_level(), self.output.is_armed_level())
    }

    fn interest(asked: Interest, input: bool, output: bool) -> Interest {
        let mut interest = Interest::NONE;
        if input {
            interest |= asked.input_part();
        }
        if output {
            interest |= Interest::WRITABLE;
        }
        interest
    }

    fn peek(&self, direction: Direction) -> Account {
        match direction {
            Direction::Input => self.input,
            Direction::Output => self.output,
        }
    }

    fn account(&mut self, direction: Direction) -> &mut Account {
        match direction {
            Direction::Input => &mut self.input,
            Direction::Output => &mut self.output,
        }
    }
}

#[cfg(test)]
mod tests;
