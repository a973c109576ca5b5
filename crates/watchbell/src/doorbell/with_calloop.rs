//! A queue in [calloop](https://docs.rs/calloop)'s event loop.

use super::{Armed, Queue};
use calloop::generic::{FdWrapper, Generic};
use calloop::{
    EventIterator, EventSource, Interest, Mode, Poll, PostAction, Readiness, Token, TokenFactory,
};
use std::io;

/// A [`Queue`] as an event source; its events are the items.
///
/// While calloop is awake no push rings; it is armed before each of calloop's sleeps. When the queue
/// is closed and empty, the source removes itself.
///
/// ```
/// use calloop::EventLoop;
/// use watchbell::doorbell::doorbell;
///
/// let (bell, queue) = doorbell::<u32>(8)?;
/// let mut events: EventLoop<u32> = EventLoop::try_new()?;
/// events.handle().insert_source(queue.into_source(64), |n, (), sum| *sum += n)?;
/// let producer = std::thread::spawn(move || (0..100).try_for_each(|n| bell.push_wait(n)));
/// let mut sum = 0;
/// while sum < 99 * 100 / 2 {
///     events.dispatch(None, &mut sum)?;
/// }
/// producer.join().unwrap().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct QueueSource<T> {
    fd: Generic<FdWrapper<Queue<T>>>,
    budget: usize,
    token: Option<Token>,
}
