//! What can be asked of a source.
//!
//! There is one list of wishes and one piece of code that grants them. It works on the account,
//! wherever that is: in the slot of a source at rest, or in the run of a source that is running. So
//! what is asked of a running source, by itself or by another, takes effect at once and in the
//! order in which it was asked; there is no second account that could be written over it.

use super::{Extras, Flow, Rest};
use crate::event_loop::account::{Account, Budget, Direction};
use crate::sync::Arc;
use std::fmt;
use std::time::Duration;

/// What is asked of a source, by whomever.
#[derive(Clone)]
pub(crate) enum Wish {
    Pause(Direction),
    Resume(Direction),
    Rest(Direction, Duration),
    /// The timer of a rest has fired.
    EndRest(Direction),
    Wake(Direction),
    /// Another loop that watches the same target passes its wake on.
    TakeWake,
    /// Queues that held the input hold it no more: look whether all do.
    LetGo,
    /// There is something to write in a queue that this source writes out.
    Write(Arc<Flow>),
    Budget(Budget),
    /// Run it in the next turn, whatever its readiness.
    RunAgain,
    Close,
}

/// What follows from a wish, beside the change of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    Nothing,
    /// One run, whatever the readiness.
    Run,
    /// Another loop has to take the wake.
    Pass,
    /// The end of the source.
    Close,
}

impl Wish {
    /// Grants the wish to the source with this account.
    pub(crate) fn grant(self, account: &mut Account, extras: &mut Option<Box<Extras>>) -> Follows {
        let mut rest = |direction: Direction, rest: Option<Duration>| {
            if rest.is_some() || extras.is_some() {
                let rests: &mut [Rest; 2] = &mut extras.get_or_insert_default().rests;
                rests[direction as usize].asked = rest;
            }
        };
        match self {
            Wish::Pause(direction) => account.pause(direction),
            Wish::Resume(direction) => {
                rest(direction, None);
                account.resume(direction);
            }
            Wish::Rest(direction, duration) => {
                rest(direction, Some(duration));
                account.rest(direction);
            }
            Wish::EndRest(direction) => account.end_rest(direction),
            Wish::Wake(direction) => {
                account.wake(direction);
                return Follows::Run;
            }
            Wish::TakeWake if account.is_stopped(Direction::Input) => return Follows::Pass,
            Wish::TakeWake => {
                account.wake(Direction::Input);
                return Follows::Run;
            }
            Wish::LetGo if extras.as_ref().is_some_and(|extras| extras.is_held()) => {}
            Wish::LetGo => account.release_input(),
            Wish::Write(flow) => {
                extras.get_or_insert_default().writes(&flow);
                account.wake(Direction::Output);
                return Follows::Run;
            }
            Wish::Budget(budget) => extras.get_or_insert_default().budget = Some(budget),
            Wish::RunAgain => return Follows::Run,
            Wish::Close => return Follows::Close,
        }
        Follows::Nothing
    }
}

impl fmt::Debug for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wish::Pause(direction) => write!(f, "Pause({direction:?})"),
            Wish::Resume(direction) => write!(f, "Resume({direction:?})"),
            Wish::Rest(direction, rest) => write!(f, "Rest({direction:?}, {rest:?})"),
            Wish::EndRest(direction) => write!(f, "EndRest({direction:?})"),
            Wish::Wake(direction) => write!(f, "Wake({direction:?})"),
            Wish::TakeWake => f.write_str("TakeWake"),
            Wish::LetGo => f.write_str("LetGo"),
            Wish::Write(_) => f.write_str("Write"),
            Wish::Budget(budget) => write!(f, "Budget({budget:?})"),
            Wish::RunAgain => f.write_str("RunAgain"),
            Wish::Close => f.write_str("Close"),
        }
    }
}
