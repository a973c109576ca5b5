//! The decisions that Linux leaves open.
//!
//! Where the documents promise nothing, the machine asks a question. Each has a numbered list of
//! answers, and answer 0 is what Linux does when nothing disturbs it: a read takes all that is
//! there, no signal arrives, the ready list keeps its order.
//!
//! An oracle is not a callback but a list of answers, given beforehand, and a list of the questions
//! that were asked. A program that explores all behaviours runs once with an empty list, sees what
//! was asked, and runs again with other answers.

use std::collections::VecDeque;

/// How much freedom the machine takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// Every system call is one step and every question has answer 0: what a program with one
    /// thread sees. The sequential comparison with Linux runs at this level, and allows no
    /// difference.
    #[default]
    Strict,
    /// The reorderings that several threads were seen to meet on Linux are possible too: a system
    /// call may have two halves ([`Step::Halfway`](crate::Step)), and questions are asked.
    Permissive,
}

/// A decision that is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Question {
    /// How many bytes fewer than it could does a read of a stream take?
    /// 0: none fewer. read(2) allows any count from one byte up; eventfds and timers are exempt.
    ShortRead,
    /// How many bytes fewer than it could does a write to a stream take?
    /// 0: none fewer. As for reads; a pipe is exempt up to `PIPE_BUF` bytes, see pipe(7).
    ShortWrite,
    /// Does a signal interrupt a call that is about to sleep? 0: no.
    Interrupted,
    /// Does a write to a socket find no room that is about to be free? 0: it finds the room.
    ///
    /// The receiver gives the room back after it has taken the bytes, not with them.
    SocketFull,
    /// Does a wait with time-out zero pass by an instance that another thread is scanning?
    /// 0: it does not.
    ///
    /// For a moment the ready list is in the hands of the thread that scans, and two glances at
    /// "the list" and "the list that the scan collects" can miss both.
    FalseEmpty,
    /// In what order do items come that were queued while another thread scanned? 0: as queued.
    ///
    /// They wait beside the list until the scan is over, and then come before what the scan has put
    /// back.
    ReadyOrder,
}

/// Answers given beforehand, and what was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Oracle {
    /// The freedom taken.
    pub level: Level,
    /// "No new edge while already readable": a write to an eventfd that is readable already wakes
    /// nobody. Linux never does this, other systems do; see S122. Off unless it is asked for.
    pub quiet_while_readable: bool,
    answers: VecDeque<usize>,
    asked: Vec<(Question, usize)>,
}

impl Oracle {
    /// What Linux does with one thread.
    pub fn strict() -> Oracle {
        Oracle::default()
    }

    /// The freedom of [`Level::Permissive`], with answers to the questions in the order in which
    /// they will be asked; answer 0 to those beyond the list.
    pub fn permissive(answers: impl IntoIterator<Item = usize>) -> Oracle {
        Oracle {
            level: Level::Permissive,
            answers: answers.into_iter().collect(),
            ..Oracle::default()
        }
    }

    /// The questions that were asked since the last time, each with its number of answers.
    pub fn take_asked(&mut self) -> Vec<(Question, usize)> {
        std::mem::take(&mut self.asked)
    }

    /// Adds answers to those that are left.
    pub fn answer(&mut self, answers: impl IntoIterator<Item = usize>) {
        self.answers.extend(answers);
    }

    /// Asks: the answer is below `answers`, and 0 at the strict level.
    pub(crate) fn choose(&mut self, question: Question, answers: usize) -> usize {
        if self.level == Level::Strict || answers < 2 {
            return 0;
        }
        self.asked.push((question, answers));
        self.answers.pop_front().map_or(0, |answer| answer % answers)
    }
}
