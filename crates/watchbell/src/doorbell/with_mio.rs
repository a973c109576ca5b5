//! A queue in [mio](https://docs.rs/mio)'s poll.

use super::Queue;
use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Registers the bell. mio watches edge-triggered, as it has to be.
///
/// Arm the queue before each `poll`, and poll only as long as it says: mio's event is a hint to
/// look, and the look before the next `poll` is what counts. Deregister the queue before it is
/// dropped: its doorbells keep the descriptor open, and with it mio's registration.
/// `examples/with_mio.rs` is the whole pattern.
///
/// ```
/// use std::time::Duration;
/// use mio::{Events, Interest, Poll, Token};
/// use watchbell::doorbell::{Armed, doorbell};
///
/// let (bell, mut queue) = doorbell::<u32>(8)?;
/// let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(8));
/// poll.registry().register(&mut queue, Token(0), Interest::READABLE)?;
/// let producer = std::thread::spawn(move || bell.push(7).unwrap());
/// let seven = loop {
///     if let Some(item) = queue.pop() {
///         break item;
///     }
///     match queue.arm() {
///         Armed::Item | Armed::Closed => {}
///         Armed::Sleep => poll.poll(&mut events, None)?,
///         Armed::SleepBriefly => poll.poll(&mut events, Some(Armed::BRIEFLY))?,
///     }
/// };
/// assert_eq!(seven, 7);
/// producer.join().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
impl<T> Source for Queue<T> {
    fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        SourceFd(&self.as_fd().as_raw_fd()).register(registry, token, interest)
    }

    fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        SourceFd(&self.as_fd().as_raw_fd()).reregister(registry, token, interest)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.as_fd().as_raw_fd()).deregister(registry)
    }
}
