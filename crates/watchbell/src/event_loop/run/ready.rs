//! A source in its turn: the only place where readiness is cleared.

use super::{Notes, Run};
use crate::epoll::Readiness;
use crate::event_loop::account::{After, Direction};
use crate::event_loop::store::Wish;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// A source whose turn it is.
///
/// A handler does its input and output through this. Each method makes one operation, retries
/// `EINTR`, charges the source's [`Budget`](crate::event_loop::Budget), and returns `Ok(None)` when
/// there is nothing more to do *in this turn*: the descriptor would block, or the budget is spent,
/// or the direction is paused. The loop knows which, and nobody else has to:
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
pub struct Ready<'run, S> {
    source: &'run mut S,
    run: &'run Run,
}

impl<'run, S> Ready<'run, S> {
    pub(crate) fn new(source: &'run mut S, run: &'run Run) -> Ready<'run, S> {
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
        self.run.note(Notes::TOUCHED);
        self.source
    }

    /// What the events since the last run said. It is a hint; the operations decide.
    pub fn readiness(&self) -> Readiness {
        self.run.readiness()
    }

    /// Any input operation of this source: a `read` of its own kind.
    ///
    /// `operation` is non-blocking and returns `WouldBlock` when nothing is there; only that is the
    /// boundary. It may be called again after `Interrupted`.
    ///
    /// The operation must be this source's own: the loop takes its `WouldBlock` for the source's
    /// boundary, and cannot see if it came from another descriptor.
    ///
    /// # Errors
    ///
    /// Those of `operation`, except `WouldBlock` and `Interrupted`. If it panics, the source is
    /// closed and reported.
    ///
    /// ```
    /// # use std::net::UdpSocket;
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop};
    /// # let client = UdpSocket::bind("127.0.0.1:0")?;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// # client.send_to(b"ahoy", socket.local_addr()?)?;
    /// let mut events = EventLoop::new()?;
    /// events.add(socket, Interest::READABLE, |socket, turn| {
    ///     let mut buf = [0; 1500];
    ///     while let Some((len, peer)) = socket.input(|socket| socket.recv_from(&mut buf))? {
    ///         // `None`: there is no room, and this service may lose an answer.
    ///         socket.output(|socket| socket.send_to(&buf[..len], peer))?;
    ///         turn.stop();
    ///     }
    ///     Ok(())
    /// })?;
    /// # events.run()?;
    /// # assert_eq!(client.recv(&mut [0; 1500])?, 4);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "EAGAIN")]
    pub fn input<T>(
        &mut self,
        operation: impl FnMut(&mut S) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        self.step(Direction::Input, operation, |_| (0, After::More))
    }

    /// Any output operation of this source; as [`input`](Ready::input), which has an example.
    ///
    /// The operation must be this source's own: the loop takes its `WouldBlock` for the source's
    /// boundary, and cannot see if it came from another descriptor.
    ///
    /// # Errors
    ///
    /// As [`input`](Ready::input).
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
        let is_left = self.run.left.charge_messages(messages);
        if !is_left {
            self.run.note(Notes::ODD);
        }
        is_left
    }

    /// Runs the source again in the next turn whatever its readiness: for handlers that hold
    /// unfinished input in memory.
    pub fn run_again(&mut self) {
        self.run.wish(Wish::RunAgain);
    }

    /// Stops input or output of this source until it is resumed; edges that come meanwhile are
    /// kept. An error or a hang-up runs the handler all the same, once.
    pub fn pause(&mut self, direction: Direction) {
        self.run.wish(Wish::Pause(direction));
    }

    /// Takes a [`pause`](Ready::pause) back.
    pub fn resume(&mut self, direction: Direction) {
        self.run.wish(Wish::Resume(direction));
    }

    /// Whether the direction is paused, or rests.
    pub fn is_paused(&self, direction: Direction) -> bool {
        self.run.account().is_stopped(direction)
    }

    /// Whether the last output met `EAGAIN` and no edge has come since: the kernel's own
    /// backpressure, as opposed to the length of a queue.
    pub fn is_blocked(&self) -> bool {
        self.run.account().is_blocked()
    }

    /// Whether the last input met the boundary and no edge has come since: nothing is there.
    pub fn is_drained(&self) -> bool {
        !self.run.account().is_ready(Direction::Input)
    }

    /// Whether end of file was read.
    pub fn has_ended(&self) -> bool {
        self.run.account().has_ended()
    }

    /// The bytes that the budget still allows that way in this turn.
    pub fn bytes_left(&self, direction: Direction) -> usize {
        self.run.left.bytes_left(direction)
    }

    /// Lets `direction` rest for so long, with its readiness kept: until then it is as if paused. A
    /// [`resume`](Ready::resume) ends the rest at once; its end takes no [`pause`](Ready::pause)
    /// back.
    pub fn rest(&mut self, direction: Direction, rest: Duration) {
        self.run.wish(Wish::Rest(direction, rest));
    }

    /// One operation, and what it says about its direction.
    #[inline]
    pub(crate) fn step<T>(
        &mut self,
        direction: Direction,
        mut operation: impl FnMut(&mut S) -> io::Result<T>,
        found: impl FnOnce(&T) -> (usize, After),
    ) -> io::Result<Option<T>> {
        let run = self.run;
        loop {
            if !run.change(|account| account.may_try(direction)) {
                return Ok(None);
            }
            if !run.left.take_operation(direction) {
                run.note(Notes::ODD);
                run.change(|account| account.want(direction));
                return Ok(None);
            }
            match operation(self.source) {
                Ok(value) => {
                    run.note(Notes::WORKED);
                    let (bytes, after) = found(&value);
                    run.left.charge_bytes(direction, bytes);
                    run.change(|account| account.settle(direction, after));
                    return Ok(Some(value));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    run.note(Notes::BOUNDARY);
                    run.change(|account| account.block(direction));
                    return Ok(None);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[inline]
    pub(crate) fn run(&self) -> &'run Run {
        self.run
    }
}

impl<S: fmt::Debug> fmt::Debug for Ready<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("source", &self.source)
            .field("account", &self.run.account())
            .finish_non_exhaustive()
    }
}

impl<S: Read> Ready<'_, S> {
    /// Reads what is there into `buf`, and says how many bytes. `Some(0)` is end of file, and stays
    /// so until new input is reported, as to a FIFO that has a new writer.
    ///
    /// # Errors
    ///
    /// Those of the source's [`Read::read`], mostly of
    /// [read(2)](https://man7.org/linux/man-pages/man2/read.2.html), except `WouldBlock` and
    /// `Interrupted`.
    ///
    /// # Panics
    ///
    /// If `buf` is empty: nothing read into nothing would look like end of file.
    ///
    /// ```
    /// # use std::{io::Write, os::unix::net::UnixStream};
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop};
    /// let (mut ours, theirs) = UnixStream::pair()?;
    /// ours.write_all(b"ahoy")?;
    /// # drop(ours);
    /// let mut events = EventLoop::with(Vec::new())?;
    /// events.add(theirs, Interest::READABLE, |stream, turn| {
    ///     let mut buf = [0; 4096];
    ///     while let Some(read) = stream.read(&mut buf)? {
    ///         if read == 0 {
    ///             turn.stop();
    ///             return turn.close();
    ///         }
    ///         turn.state().extend_from_slice(&buf[..read]);
    ///     }
    ///     Ok(())
    /// })?;
    /// events.run()?;
    /// assert_eq!(events.state(), b"ahoy");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        assert!(!buf.is_empty(), "an empty buffer reads as end of file");
        if self.has_ended() {
            return Ok(Some(0));
        }
        let end = |read: &usize| (*read, if *read == 0 { After::End } else { After::More });
        self.step(Direction::Input, |source| source.read(buf), end)
    }
}

impl<S: Write> Ready<'_, S> {
    /// Writes as much of `buf` as the kernel takes, and says how many bytes.
    ///
    /// When less was taken than was given, or nothing (`None`), the source is run again once there
    /// is room, also if it was registered for input only.
    ///
    /// # Errors
    ///
    /// Those of the source's [`Write::write`], mostly of
    /// [write(2)](https://man7.org/linux/man-pages/man2/write.2.html), except `WouldBlock` and
    /// `Interrupted`.
    ///
    /// ```
    /// # use std::{io::Read, os::unix::net::UnixStream};
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop};
    /// let (mut ours, theirs) = UnixStream::pair()?;
    /// let mut events = EventLoop::new()?;
    /// let mut left: &[u8] = b"ahoy";
    /// events.add(theirs, Interest::WRITABLE, move |stream, turn| {
    ///     while !left.is_empty() {
    ///         // `None`: what is left waits in `left` for the next run.
    ///         let Some(written) = stream.write(left)? else { return Ok(()) };
    ///         left = &left[written..];
    ///     }
    ///     turn.stop();
    ///     turn.close()
    /// })?;
    /// events.run()?;
    /// # let mut heard = Vec::new();
    /// # ours.read_to_end(&mut heard)?;
    /// # assert_eq!(heard, b"ahoy");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(&mut self, buf: &[u8]) -> io::Result<Option<usize>> {
        if buf.is_empty() {
            return Ok(Some(0));
        }
        let length = buf.len();
        let rest = move |taken: &usize| (*taken, after_output(*taken, length));
        self.step(Direction::Output, |source| source.write(buf), rest)
    }
}

/// What an output operation that took `taken` of `offered` bytes leaves.
pub(crate) fn after_output(taken: usize, offered: usize) -> After {
    if taken < offered { After::Short } else { After::More }
}
