//! What became of a source that failed, and how it is reported.

use super::{Registry, Turn};
use crate::epoll::Token;
use crate::kernel::Kernel;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One source, timer or signal that failed. It has been closed; the loop goes on with the others.
/// Where an item of a queue failed, the queue goes on too.
#[derive(Debug)]
pub struct Failure {
    /// The source; `None` for a timer.
    pub token: Option<Token>,
    /// The name that its owner gave to it, by
    /// [`Registration::named`](crate::event_loop::Registration::named).
    pub name: Option<Cow<'static, str>>,
    /// What happened.
    pub reason: Reason,
}

/// Why a source failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Its handler returned an error.
    Error(io::Error),
    /// Its handler panicked; the payload is what the panic carried.
    Panic(Box<dyn Any + Send>),
    /// Its descriptor's number changed during its run: what was registered is not what it is now.
    Replaced,
    /// It was run so many times in a row without one operation that came to anything that it would
    /// have kept the loop spinning. It is not closed but paused in both directions; `resume` takes
    /// that back.
    Ignored,
    /// The operating system refused to change its registration.
    Registration(io::Error),
}

pub(in crate::event_loop) type OnFailure<D, K> = Box<dyn FnMut(&Failure, &mut Turn<'_, D, K>)>;

impl<D, K: Kernel> Registry<D, K> {
    /// Counts a failure, and keeps it to be reported.
    #[cold]
    pub(in crate::event_loop) fn fail(
        &mut self,
        token: Option<Token>,
        name: Option<Cow<'static, str>>,
        reason: Reason,
    ) {
        match reason {
            Reason::Panic(_) => self.stats.panics += 1,
            Reason::Ignored => self.stats.suspended += 1,
            Reason::Error(_) | Reason::Replaced | Reason::Registration(_) => self.stats.errors += 1,
        }
        self.failures.push_back(Failure { token, name, reason });
    }

    /// Reports the failures so far. Those that a report brings about wait for the next time, so
    /// that failures which beget failures share the turn with the sources.
    #[inline]
    pub(in crate::event_loop) fn report_failures(&mut self, state: &mut D) {
        if !self.failures.is_empty() {
            self.report_all(state);
        }
    }

    #[cold]
    fn report_all(&mut self, state: &mut D) {
        for _ in 0..self.failures.len() {
            let Some(failure) = self.failures.pop_front() else { return };
            if let Some(mut on_failure) = self.on_failure.take() {
                let mut turn = Turn::new(self, state, None);
                let report = AssertUnwindSafe(|| on_failure(&failure, &mut turn));
                let reported = catch_unwind(report);
                self.on_failure = Some(on_failure);
                self.contain(reported);
            }
            self.discard(failure);
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.token) {
            (Some(name), Some(token)) => write!(f, "source {token} ({name}): ")?,
            (Some(name), None) => write!(f, "{name}: ")?,
            (None, Some(token)) => write!(f, "source {token}: ")?,
            (None, None) => {}
        }
        match &self.reason {
            Reason::Error(error) => write!(f, "a handler failed: {error}"),
            Reason::Panic(payload) => {
                write!(f, "a handler panicked: {}", message(payload.as_ref()))
            }
            Reason::Replaced => f.write_str("a handler replaced its source's descriptor"),
            Reason::Ignored => f.write_str("a handler ignores its source's readiness"),
            Reason::Registration(error) => {
                write!(f, "a source's registration could not be changed: {error}")
            }
        }
    }
}

/// The text of a panic, where it has one.
fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
}
