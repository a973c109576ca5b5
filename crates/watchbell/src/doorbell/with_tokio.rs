//! A queue in [tokio](https://docs.rs/tokio)'s runtime.

use super::{Armed, Queue};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::coop::consume_budget;
use tokio::time::timeout;

/// A [`Queue`] whose items are awaited.
///
/// The producers are [`Doorbell`](super::Doorbell)s as ever, in threads of the runtime or outside
/// of it. It is made by [`Queue::into_async`].
///
/// ```
/// use watchbell::doorbell::doorbell;
///
/// let (bell, queue) = doorbell::<u32>(8)?;
/// let producer = std::thread::spawn(move || (0..100).try_for_each(|n| bell.push_wait(n)));
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// let sum: u32 = runtime.block_on(async {
///     let (mut queue, mut sum) = (queue.into_async()?, 0);
///     while let Some(n) = queue.next().await? {
///         sum += n;
///     }
///     Ok::<_, std::io::Error>(sum)
/// })?;
/// assert_eq!(sum, 99 * 100 / 2);
/// producer.join().unwrap().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AsyncQueue<T> {
    fd: AsyncFd<Watched<T>>,
}

/// tokio asks for the bare number of what it watches, which a queue does not give to everybody.
#[derive(Debug)]
struct Watched<T>(Queue<T>);

impl<T> AsRawFd for Watched<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl<T> Queue<T> {
    /// Registers the bell with the current tokio runtime.
    ///
    /// # Errors
    ///
    /// Those of [`AsyncFd::with_interest`], which drops the queue.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime that has its I/O driver enabled.
    pub fn into_async(self) -> io::Result<AsyncQueue<T>> {
        // Its successor cannot be called from safe code, and asks for what holds here: the queue
        // owns the bell, and keeps it open and the same for as long as it lives.
        #[allow(deprecated)]
        Ok(AsyncQueue { fd: AsyncFd::with_interest(Watched(self), Interest::READABLE)? })
    }
}

impl<T> AsyncQueue<T> {
    /// The next item; `None` once the queue is closed and empty.
    ///
    /// It may be cancelled: an item is taken only when it is returned. A task that finds the queue
    /// never empty yields to others as often as tokio's budget says.
    ///
    /// # Errors
    ///
    /// Those of [`AsyncFd::readable`]: the runtime is shutting down.
    ///
    /// # Panics
    ///
    /// If the runtime has no timer enabled and a producer is preempted in the middle of a push, for
    /// which this sleeps briefly. `enable_all` enables it.
    pub async fn next(&mut self) -> io::Result<Option<T>> {
        // Before an item is taken, so that one who is cancelled here has none in hand.
        consume_budget().await;
        loop {
            let queue = &mut self.fd.get_mut().0;
            if let Some(item) = queue.pop() {
                return Ok(Some(item));
            }
            match queue.arm() {
                Armed::Item => {}
                Armed::Closed => return Ok(None),
                // Cleared before the next look. The guard clears only the readiness that it has
                // seen: a ring that comes in between makes another.
                Armed::Sleep => self.fd.readable().await?.clear_ready(),
                Armed::SleepBriefly => {
                    if let Ok(ready) = timeout(Armed::BRIEFLY, self.fd.readable()).await {
                        ready?.clear_ready();
                    }
                }
            }
        }
    }

    /// The queue, to close it or to ask for its ledger.
    pub fn get_ref(&self) -> &Queue<T> {
        &self.fd.get_ref().0
    }

    /// Takes the queue out of the runtime.
    pub fn into_queue(self) -> Queue<T> {
        self.fd.into_inner().0
    }
}
