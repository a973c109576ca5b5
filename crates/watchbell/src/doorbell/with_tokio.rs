//! A queue in [tokio](https://docs.rs/tokio)'s runtime.

use super::{Armed, Queue};
use std::io;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

/// A [`Queue`] whose items are awaited.
///
/// The producers are [`Doorbell`](super::Doorbell)s as ever, in threads of the runtime or outside of
/// it. It is made by [`Queue::into_async`].
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
    fd: AsyncFd<Queue<T>>,
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
        Ok(AsyncQueue { fd: AsyncFd::with_interest(self, Interest::READABLE)? })
    }
}

impl<T> AsyncQueue<T> {
    /// The next item; `None` once the queue is closed and empty.
    ///
    /// It may be cancelled: an item is taken only when it is returned.
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
        loop {
            let queue = self.fd.get_mut();
            if let Some(item) = queue.pop() {
                return Ok(Some(item));
            }
            match queue.arm() {
                Armed::Item => {}
                Armed::Closed => return Ok(None),
                // The guard clears the readiness that it has seen; a ring in between is seen anew.
                Armed::Sleep => self.fd.readable().await?.clear_ready(),
                Armed::SleepBriefly => {
                    if let Ok(ready) = timeout(Armed::BRIEFLY, self.fd.readable()).await {
                        ready?.clear_ready();
                    }
                }
            }
        }
    }

    /// Takes the queue out of the runtime.
    pub fn into_queue(self) -> Queue<T> {
        self.fd.into_inner()
    }
}
