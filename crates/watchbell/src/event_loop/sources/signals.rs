//! Signals as a source, by signal-hook's pipe.

use crate::epoll::Source;
use crate::event_loop::account::{After, Direction};
use crate::event_loop::run::Ready;
use signal_hook::consts::FORBIDDEN;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The highest number of a signal, `SIGRTMAX` of signal(7).
const HIGHEST: i32 = 64;

/// Signals that arrive through a pipe, to be watched by a loop like any other source.
///
/// A signal handler may do next to nothing (signal-safety(7)); this one sets a flag and writes a
/// byte. Signals of one number that arrive before they are looked at are one, as with the kernel's
/// own standard signals (signal(7)). The handlers stay in place for as long as the value lives.
///
/// ```
/// use signal_hook::consts::SIGUSR1;
/// use watchbell::epoll::Interest;
/// use watchbell::event_loop::{EventLoop, Signals};
///
/// let mut events = EventLoop::new()?;
/// events.add(Signals::new(&[SIGUSR1])?, Interest::READABLE, |signals, turn| {
///     while let Some(signal) = signals.next_signal()? {
///         assert_eq!(signal, SIGUSR1);
///         turn.stop();
///     }
///     Ok(())
/// })?;
/// signal_hook::low_level::raise(SIGUSR1)?;
/// events.run()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    /// Signals that were taken from the pipe and not yet handed out.
    fetched: VecDeque<i32>,
}

impl Signals {
    /// Catches the signals of these numbers. [`Signals`] has an example.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a signal that cannot be caught or must not be (`SIGKILL`, `SIGSTOP`,
    /// `SIGILL`, `SIGFPE`, `SIGSEGV`) or does not exist; otherwise those of
    /// [socketpair(2)](https://man7.org/linux/man-pages/man2/socketpair.2.html) and
    /// [sigaction(2)](https://man7.org/linux/man-pages/man2/sigaction.2.html).
    #[doc(alias = "sigaction")]
    pub fn new(signals: &[i32]) -> io::Result<Signals> {
        // signal-hook keeps a slot for each number that a signal can have, and trusts its caller.
        let can_be = |signal: &i32| (1..=HIGHEST).contains(signal) && !FORBIDDEN.contains(signal);
        if let Some(forbidden) = signals.iter().find(|signal| !can_be(signal)) {
            let message = format!("signal {forbidden} cannot be caught");
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
        Ok(Signals { delivery, fetched: VecDeque::new() })
    }

    /// Empties the pipe, then looks at the flags: a signal that comes between the two leaves a byte
    /// in the pipe and with it an edge.
    fn fetch(&mut self) -> io::Result<i32> {
        if self.fetched.is_empty() {
            self.fetched.extend(self.delivery.pending());
        }
        self.fetched.pop_front().ok_or_else(|| ErrorKind::WouldBlock.into())
    }
}

impl Ready<'_, Signals> {
    /// The number of the next signal that has arrived. `None`: there is no more in this turn.
    /// [`Signals`] has an example.
    ///
    /// # Errors
    ///
    /// It never fails; the result is for `?`-less returns.
    pub fn next_signal(&mut self) -> io::Result<Option<i32>> {
        self.step(Direction::Input, Signals::fetch, |_| (0, After::More))
    }
}

impl Source for Signals {
    type Fd = OwnedFd;

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signals").field("fetched", &self.fetched).finish_non_exhaustive()
    }
}
