//! A source on its way from one loop to another.

use super::entry::Entry;
use crate::epoll::Readiness;
use crate::event_loop::account::Account;
use crate::event_loop::store::Extras;
use std::fmt;

/// A source that has left its loop as a value, with all that it has: its handler (and so its output
/// queue and what it has read and not yet handled), its account of readiness, its budget, its name
/// and what is left of its rests.
///
/// It is `Send` where the source and the handler are: it goes to another thread's loop, by a
/// [`doorbell`](crate::doorbell). Until it is [attached](crate::event_loop::Registry::attach) it is
/// in no interest list, and nothing is lost: `EPOLL_CTL_ADD` reports what came meanwhile. Dropped,
/// it closes the source. Queues that other sources fill for it end when it leaves: what has
/// [forwarded](crate::event_loop::Ready::forward) to it finds that out.
///
/// ```
/// # use std::{io, io::Write, os::unix::net::UnixStream};
/// # use watchbell::epoll::Interest;
/// use watchbell::event_loop::{Detached, EventLoop, Handler, Ready, Turn};
///
/// /// Reads one byte a run, wherever it is.
/// struct Reader(Vec<u8>);
/// impl Handler<UnixStream> for Reader {
///     fn ready(&mut self, stream: &mut Ready<UnixStream>, _: &mut Turn) -> io::Result<()> {
///         let mut byte = [0];
///         stream.read(&mut byte)?;
///         self.0.extend(byte);
///         Ok(())
///     }
/// }
/// let (mut ours, theirs) = UnixStream::pair()?;
/// ours.write_all(b"ab")?;
/// let (mut one, mut other) = (EventLoop::new()?, EventLoop::new()?);
/// let token = one.add_handler(theirs, Interest::READABLE, Reader(Vec::new()))?;
/// one.turn(None)?;
///
/// let moving: Detached<UnixStream, Reader> = one.detach(token).expect("it is there");
/// let token = other.attach(moving)?; // the edge was reported to the first loop
/// other.turn(None)?;
/// let reader: Detached<UnixStream, Reader> = other.detach(token).expect("it is there");
/// assert_eq!(reader.handler().0, b"ab");
/// # Ok::<(), io::Error>(())
/// ```
#[must_use = "a source that is dropped is closed"]
pub struct Detached<S, H> {
    pub(super) entry: Box<Entry<S, H>>,
    pub(super) account: Account,
    pub(super) extras: Option<Box<Extras>>,
    /// What had been reported and not yet heard.
    pub(super) readiness: Readiness,
    pub(super) certain: bool,
}

impl<S, H> Detached<S, H> {
    /// The source.
    pub fn source(&self) -> &S {
        &self.entry.source
    }

    /// Its handler.
    pub fn handler(&self) -> &H {
        &self.entry.handler
    }

    /// Its handler, to be told where it goes.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.entry.handler
    }

    /// The source and its handler, without what the loop knew.
    pub fn into_parts(self) -> (S, H) {
        let Entry { source, handler, .. } = *self.entry;
        (source, handler)
    }
}

impl<S: fmt::Debug, H> fmt::Debug for Detached<S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detached")
            .field("source", &self.entry.source)
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}
