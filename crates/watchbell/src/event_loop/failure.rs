//! What became of a source that was closed against its handler's will.

use crate::epoll::Token;
use std::any::Any;
use std::fmt;
use std::io;

/// One source, timer or signal that failed. It has been closed; the loop goes on with the others.
/// Where an item of a queue failed, the queue goes on too.
#[derive(Debug)]
pub struct Failure {
    /// The source; `None` for a timer.
    pub token: Option<Token>,
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
    /// It was run so many times in a row without one operation that succeeded or met the boundary
    /// that it would have kept the loop spinning. It is not closed but paused in both directions;
    /// `resume` takes that back.
    Ignored,
    /// The operating system refused to change its registration.
    Registration(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
