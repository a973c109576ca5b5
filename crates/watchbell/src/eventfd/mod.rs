//! Counters in the kernel that threads and processes add to and wait for.
//!
//! An eventfd holds one unsigned 64-bit count ([eventfd(2)]). What a read takes is fixed when it is
//! made, and the two modes are two types, since mistaking one for the other loses or doubles units:
//!
//! | type | a read takes | adding | waiting |
//! | --- | --- | --- | --- |
//! | [`Counter`] | the whole count | [`add`](Counter::add), [`add_wait`](Counter::add_wait), [`add_until`](Counter::add_until) | [`try_take`](Counter::try_take), [`take`](Counter::take), [`take_until`](Counter::take_until) |
//! | [`Semaphore`] (`EFD_SEMAPHORE`) | one unit | [`post`](Semaphore::post), [`post_wait`](Semaphore::post_wait), [`post_until`](Semaphore::post_until) | [`try_wait`](Semaphore::try_wait), [`wait`](Semaphore::wait), [`wait_until`](Semaphore::wait_until) |
//!
//! Both work alone, without any loop, from several threads and processes. Both are [`AsFd`], so
//! that any event loop can watch them, and sources of [`Epoll`](crate::epoll::Epoll).
//!
//! # The contract
//!
//! - **Whole numbers, not bytes.** A write is eight bytes in host byte order and a read is too.
//!   Other lengths cannot be said here.
//! - **Full is an outcome.** The count never passes [`MAX_COUNT`]. What does not fit is not added,
//!   not even in part: [`NotAdmitted`] hands the units back with [`Refusal::Full`]. Nothing resets
//!   a count to make room. [`Admission`] is the policy for it.
//! - **Never blocking underneath.** The descriptor has `O_NONBLOCK` and close-on-exec. The blocking
//!   forms wait in poll(2) or epoll(7), retry `EINTR`, and never end before their deadline.
//! - **One object, many descriptors.** Duplicates, inherited and passed descriptors share the
//!   count, and the count lives as long as any of them. `O_NONBLOCK` is shared too: whoever clears
//!   it, in any process, makes every call here block. A child that only forks holds the descriptor
//!   as well.
//! - **Receivers compete.** Each unit is taken once; which receiver takes it is not ordered, and a
//!   later one may overtake one that has waited.
//! - **A count says how many, nothing else**: not who added, not in what portions, not in which
//!   order.
//! - **Overflow is the kernel's.** Only signals that the kernel posts by itself, such as
//!   completions of asynchronous I/O, can carry a count to [`OVERFLOW`], which is told as
//!   `EPOLLERR`. A full counter is not an overflow.
//!
//! [eventfd(2)]: https://man7.org/linux/man-pages/man2/eventfd.2.html
//! [`AsFd`]: std::os::fd::AsFd

mod admission;
mod adopt;
mod counter;
mod error;
mod object;
mod room;
mod semaphore;

pub use admission::Admission;
pub use adopt::{Adopt, AdoptError, AdoptRefusal, OnUntold};
pub use counter::Counter;
pub use error::{NotAdmitted, NotSemaphore, Refusal};
pub use semaphore::Semaphore;

/// The largest count that additions can reach.
///
/// ```
/// use watchbell::eventfd::{Counter, MAX_COUNT};
///
/// let counter = Counter::new(0)?;
/// counter.add(MAX_COUNT)?;
/// assert!(counter.add(1).is_err());
/// assert_eq!(counter.try_take()?, Some(MAX_COUNT));
/// # Ok::<(), std::io::Error>(())
/// ```
pub const MAX_COUNT: u64 = u64::MAX - 1;

/// What [`Counter`] takes after an overflow: the kernel itself signalled more often than the count
/// can say. No addition through this module leads there.
pub const OVERFLOW: u64 = u64::MAX;
