//! A source in its turn: the only place where readiness is cleared.

use super::budget::Allowance;
use super::directions::{After, Directions};
use super::{Budget, Direction};
use crate::epoll::{Readiness, Token};
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// A source whose turn it is.
///
/// A handler does its input and output through this. Each method makes one operation, retries
/// `EINTR`, charges the source's [`Budget`], and returns `Ok(None)` when there is nothing more to
/// do *in this turn*: the descriptor would block, or the budget is spent, or the direction is
/// paused. The loop knows which, and nobody else has to:
///
/// - at the boundary (`EAGAIN`) it waits for the next edge;
/// - with the budget spent it runs the source again in a later turn, with no new edge;
/// - a paused direction waits for [`resume`](Ready::resume).
///
/// So a handler works until it is told `None`, or stops earlier for reasons of its own, and returns
/// `Ok(())`: what it left is kept. It cannot declare a source drained, and it cannot forget to.
///
/// An operation's error is returned as it is. `Err` from the handler closes the source and is
/// reported; other sources are not concerned.
#[derive(Debug)]
pub struct Ready<'run, S> {
    source: &'run mut S,
    run: &'run mut Run,
}

/// The account of one run of one source, which the loop looks at when the handler has returned.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) directions: Directions,
    pub(crate) readiness: Readiness,
    pub(crate) left: Allowance,
    /// Operations that succeeded or met the boundary: a handler that is run again and again and
    /// makes none is ignoring its source, or the error that each of them ends in.
    pub(crate) operations: u32,
    /// Run the source again whatever its readiness.
    pub(crate) again: bool,
    /// How long each direction is to rest.
    pub(crate) rest: [Option<Duration>; 2],
    /// The handler had the source itself in its hands, and may have replaced it.
    pub(crate) touched: bool,
    /// What other sources are to hear of this run.
    pub(crate) messages: Vec<(Token, Message)>,
    pub(crate) token: Token,
    pub(crate) accept_pause: Duration,
    pub(crate) skipped_accepts: u64,
    pub(crate) accept_pauses: u64,
}

/// What one source's run says to another source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// There is something to write.
    Write,
    /// The output queue that held your input is at its low-water mark.
    Release,
}

impl Run {
    pub(crate) fn new(
        token: Token,
        directions: Directions,
        readiness: Readiness,
        budget: Budget,
        accept_pause: Duration,
    ) -> Run {
        Run {
            directions,
            readiness,
            left: Allowance::new(budget),
            operations: 0,
            again: false,
            rest: [None; 2],
            touched: false,
            messages: Vec::new(),
            token,
            accept_pause,
            skipped_accepts: 0,
            accept_pauses: 0,
        }
    }
}

impl<'run, S> Ready<'run, S> {
    pub(crate) fn new(source: &'run mut S, run: &'run mut Run) -> Ready<'run, S> {
        Ready { source, run }
    }

    /// The source.
    pub fn get_ref(&self) -> &S {
        self.source
    }

    /// The source, to be configured. Input and output that is done on it directly is not seen by
    /// the loop: use [`input`](Ready::input) and [`output`](Ready::output). Its descriptor must
    /// stay the same one; a source whose descriptor is not the registered one when the handler
    /// returns is closed and reported. The loop looks after each run that has called this, which
    /// costs a system call.
    pub fn get_mut(&mut self) -> &mut S {
        self.run.touched = true;
        self.source
    }

    /// What the events since the last run said. It is a hint; the operations decide.
    pub fn readiness(&self) -> Readiness {
        self.run.readiness
    }

    /// Any input operation of this source: a `read` of its own kind.
    ///
    /// `operation` is non-blocking and returns `WouldBlock` when nothing is there; only that is the
    /// boundary. It may be called again after `Interrupted`.
    ///
    /// # Errors
    ///
    /// Those of `operation`, except `WouldBlock` and `Interrupted`.
    pub fn input<T>(
        &mut self,
        operation: impl FnMut(&mut S) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        self.step(Direction::Input, operation, |_| (0, After::More))
    }

    /// Any output operation of this source; as [`input`](Ready::input).
    ///
    /// # Errors
    ///
    /// Those of `operation`, except `WouldBlock` and `Interrupted`.
    pub fn output<T>(
        &mut self,
        operation: impl FnMut(&mut S) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        self.step(Direction::Output, operation, |_| (0, After::More))
    }

    /// Charges `messages` to the budget, for handlers that take several out of one read. `false`:
    /// the budget is spent, the handler should return, and the source is run again in a later turn
    /// even if its descriptor is drained.
    pub fn charge(&mut self, messages: u32) -> bool {
        self.run.left.charge_messages(messages)
    }

    /// Runs the source again in the next turn whatever its readiness: for handlers that hold
    /// unfinished input in memory.
    pub fn run_again(&mut self) {
        self.run.again = true;
    }

    /// Stops input or output of this source until it is resumed; edges that come meanwhile are
    /// kept. An error or a hang-up runs the handler all the same, once.
    pub fn pause(&mut self, direction: Direction) {
        self.run.directions.pause(direction);
    }

    /// Takes a [`pause`](Ready::pause) back.
    pub fn resume(&mut self, direction: Direction) {
        self.run.directions.resume(direction);
    }

    /// Whether the direction is paused, or rests.
    pub fn is_paused(&self, direction: Direction) -> bool {
        self.run.directions.is_paused(direction)
    }

    /// Whether the last output met `EAGAIN` and no edge has come since: the kernel's own
    /// backpressure, as opposed to the length of a queue.
    pub fn is_blocked(&self) -> bool {
        self.run.directions.is_blocked()
    }

    /// Whether the last input met the boundary and no edge has come since: nothing is there.
    pub fn is_drained(&self) -> bool {
        !self.run.directions.is_ready(Direction::Input)
    }

    /// Whether end of file was read.
    pub fn has_ended(&self) -> bool {
        self.run.directions.has_ended()
    }

    /// The bytes that the budget still allows that way in this turn.
    pub fn bytes_left(&self, direction: Direction) -> usize {
        self.run.left.bytes_left(direction)
    }

    /// Lets `direction` rest for so long, with its readiness kept: until then it is as if paused. A
    /// [`resume`](Ready::resume) ends the rest at once; its end takes no [`pause`](Ready::pause)
    /// back.
    pub fn rest(&mut self, direction: Direction, rest: Duration) {
        self.run.directions.rest(direction);
        self.run.rest[direction as usize] = Some(rest);
    }

    /// One operation, and what it says about its direction.
    pub(crate) fn step<T>(
        &mut self,
        direction: Direction,
        mut operation: impl FnMut(&mut S) -> io::Result<T>,
        found: impl FnOnce(&T) -> (usize, After),
    ) -> io::Result<Option<T>> {
        loop {
            if !self.run.directions.may_try(direction) {
                return Ok(None);
            }
            if !self.run.left.take_operation(direction) {
                self.run.directions.want(direction);
                return Ok(None);
            }
            match operation(self.source) {
                Ok(value) => {
                    self.run.operations += 1;
                    let (bytes, after) = found(&value);
                    self.run.left.charge_bytes(direction, bytes);
                    self.run.directions.settle(direction, after);
                    return Ok(Some(value));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.run.operations += 1;
                    self.run.directions.block(direction);
                    return Ok(None);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn run(&mut self) -> &mut Run {
        self.run
    }
}

impl<S: Read> Ready<'_, S> {
    /// Reads what is there into `buf`, or what the budget still allows of it. `Some(0)` is end of
    /// file, and stays so.
    ///
    /// # Errors
    ///
    /// Those of the source's [`Read::read`], except `WouldBlock` and `Interrupted`.
    ///
    /// # Panics
    ///
    /// If `buf` is empty: nothing read into nothing would look like end of file.
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        assert!(!buf.is_empty(), "an empty buffer reads as end of file");
        if self.has_ended() {
            return Ok(Some(0));
        }
        let room = buf.len().min(self.bytes_left(Direction::Input));
        let end = |read: &usize| (*read, if *read == 0 { After::End } else { After::More });
        self.step(Direction::Input, |source| source.read(&mut buf[..room]), end)
    }
}

impl<S: Write> Ready<'_, S> {
    /// Writes as much of `buf` as the kernel takes and the budget allows.
    ///
    /// When less was taken than was given, or nothing (`None`), the source is run again once there
    /// is room, also if it was registered for input only.
    ///
    /// # Errors
    ///
    /// Those of the source's [`Write::write`], except `WouldBlock` and `Interrupted`.
    pub fn write(&mut self, buf: &[u8]) -> io::Result<Option<usize>> {
        if buf.is_empty() {
            return Ok(Some(0));
        }
        let length = buf.len();
        let room = length.min(self.bytes_left(Direction::Output));
        let rest = move |taken: &usize| (*taken, after_output(*taken, length));
        self.step(Direction::Output, |source| source.write(&buf[..room]), rest)
    }
}

/// What an output operation that took `taken` of `offered` bytes leaves.
pub(crate) fn after_output(taken: usize, offered: usize) -> After {
    if taken < offered { After::Short } else { After::More }
}
