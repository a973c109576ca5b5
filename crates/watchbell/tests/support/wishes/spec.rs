//! What is asked of a source, by whom and when, and what has to follow.
#![allow(unreachable_pub)]

use watchbell::event_loop::Direction;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Pause(Direction),
    Resume(Direction),
    Rest(Direction),
    /// A rest that is over at once.
    RestBriefly(Direction),
    Wake(Direction),
    Hold,
    LetGo(LetGo),
    Budget,
    RunAgain,
    Close,
    Take,
    Detach,
    /// It is let go while it is in no loop.
    DetachAndLetGo,
}

/// How a queue lets the input go that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetGo {
    Dropped,
    Replaced,
    Discarded,
    Flushed,
    WriterEnded,
    DroppedBySource,
    DroppedByTimer,
}

impl LetGo {
    pub const ALL: [LetGo; 7] = [
        LetGo::Dropped,
        LetGo::Replaced,
        LetGo::Discarded,
        LetGo::Flushed,
        LetGo::WriterEnded,
        LetGo::DroppedBySource,
        LetGo::DroppedByTimer,
    ];
}

/// Who asks. What is running asks before its input and output, or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    Ready,
    ReadyLate,
    OwnToken,
    OwnTokenLate,
    Neighbour,
    OnFailure,
    Timer,
    Outside,
}

impl Asker {
    pub const ALL: [Asker; 8] = [
        Asker::Ready,
        Asker::ReadyLate,
        Asker::OwnToken,
        Asker::OwnTokenLate,
        Asker::Neighbour,
        Asker::OnFailure,
        Asker::Timer,
        Asker::Outside,
    ];

    /// A `Ready` has methods for some wishes, a token for others.
    pub fn can_ask(self, wish: Wish) -> bool {
        let is_ready = matches!(self, Asker::Ready | Asker::ReadyLate);
        match wish {
            Wish::Hold | Wish::RunAgain => is_ready,
            Wish::Pause(_) | Wish::Resume(_) | Wish::Rest(_) | Wish::RestBriefly(_) => true,
            Wish::Close => true,
            _ => !is_ready,
        }
    }

    pub fn is_own(self) -> bool {
        !matches!(self, Asker::Neighbour | Asker::OnFailure | Asker::Timer | Asker::Outside)
    }
}

/// The state of the source when it is asked. With `Reported`, the kernel has an event for it that
/// the turn in which it is asked will bring; with `Retained`, it has input left from a spent
/// budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Quiet,
    Reported,
    Retained,
    Paused,
    PausedWithInput,
    PausedWithOutput,
    HeldWithInput,
    RestingWithInput,
    Closed,
}

impl State {
    pub const ALL: [State; 9] = [
        State::Quiet,
        State::Reported,
        State::Retained,
        State::Paused,
        State::PausedWithInput,
        State::PausedWithOutput,
        State::HeldWithInput,
        State::RestingWithInput,
        State::Closed,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Edge,
    Level,
    Exclusive,
}

/// The specification, from first principles: it knows what was asked and what there is to do, and
/// nothing of how a loop works.
#[derive(Default)]
pub struct Spec {
    pub exists: bool,
    /// Its end was asked for in its own run, which is not over.
    pub is_closing: bool,
    pub is_running: bool,
    pub paused: [bool; 2],
    pub resting: [bool; 2],
    pub held: bool,
    /// One run is due, whatever there is to do.
    pub due: bool,
    /// A stop has been taken back since the loop had nothing to do: a run that finds nothing may
    /// follow.
    pub may_look: bool,
    /// Bytes that the peer has written and the source has not read.
    pub unread: usize,
    /// Bytes that the source has to write.
    pub owed: usize,
    pub written: usize,
    pub faults: Vec<String>,
}

impl Spec {
    pub fn is_open(&self, direction: Direction) -> bool {
        let is_held = direction == Direction::Input && self.held;
        !self.paused[direction as usize] && !self.resting[direction as usize] && !is_held
    }

    pub fn expect(&mut self, holds: bool, rule: &str) {
        if !holds {
            self.faults.push(rule.to_owned());
        }
    }

    /// What follows from a wish that was granted.
    pub fn ask(&mut self, wish: Wish) {
        self.may_look |= matches!(wish, Wish::Resume(_) | Wish::RestBriefly(_));
        match wish {
            Wish::Pause(direction) => self.paused[direction as usize] = true,
            Wish::Resume(direction) => {
                self.paused[direction as usize] = false;
                self.resting[direction as usize] = false;
            }
            Wish::Rest(direction) => self.resting[direction as usize] = true,
            Wish::RestBriefly(direction) => self.resting[direction as usize] = false,
            Wish::Wake(_) | Wish::RunAgain => self.due = true,
            Wish::Hold => self.held = true,
            Wish::LetGo(LetGo::Flushed) => {} // when the writer has done so
            Wish::LetGo(_) => self.held = false,
            Wish::Close => (self.exists, self.is_closing) = (false, self.is_running),
            Wish::Take => self.exists = false,
            Wish::DetachAndLetGo => self.held = false,
            Wish::Budget | Wish::Detach => {}
        }
    }

    pub fn begin_run(&mut self) {
        self.expect(self.exists, "a source that is gone is run");
        let has_output = self.is_open(Direction::Output) && self.owed > 0;
        let may_run = self.due || self.may_look || self.is_open(Direction::Input) || has_output;
        self.expect(may_run, "a source that is stopped is run");
        (self.due, self.is_running) = (false, true);
    }

    pub fn end_run(&mut self) {
        (self.is_running, self.is_closing) = (false, false);
    }

    pub fn moved(&mut self, direction: Direction, bytes: usize) {
        self.expect(self.is_open(direction), "a direction that is stopped moves bytes");
        match direction {
            Direction::Input => self.unread -= bytes,
            Direction::Output => {
                self.owed -= bytes;
                self.written += bytes;
            }
        }
    }

    /// The loop has nothing more to do.
    pub fn settled(&mut self, when: &str) {
        self.may_look = false;
        if self.exists {
            let (input, output) = (self.is_open(Direction::Input), self.is_open(Direction::Output));
            self.expect(!self.due, &format!("{when}: a run is due and never comes"));
            self.expect(!input || self.unread == 0, &format!("{when}: input is left"));
            self.expect(!output || self.owed == 0, &format!("{when}: output is left"));
        }
    }
}
