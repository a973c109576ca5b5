//! Linux [eventfd(2)] and [epoll(7)] as an executable specification: one pure state machine.
//!
//! No locks, no clock, no threads: a system call is a method of [`Kernel`], time is an argument,
//! and a call that would block says so and is resumed by its caller. The machine is compared with
//! the running kernel by random sequences of calls, every result exactly; see the tests.
//!
//! ```
//! use watchbell_model::{Event, Kernel, Mask, Op, Reply, Step, Task, Wait};
//!
//! let main = Task::MAIN;
//! let mut kernel = Kernel::default();
//! let epoll = kernel.epoll_create(main, 0)?;
//! let bell = kernel.eventfd(main, 0, 0)?;
//! let edge = Event { events: Mask::IN | Mask::ET, data: 7 };
//! kernel.epoll_ctl(main, epoll, Op::Add, bell, edge)?;
//!
//! for _ in 0..2 {
//!     // Every write is an edge, although the counter is never read (S122).
//!     kernel.write(main, bell, &1_u64.to_ne_bytes());
//!     let event = Event { events: Mask::IN, data: 7 };
//!     let told = kernel.epoll_wait(main, epoll, 8, Wait::Not);
//!     assert_eq!(told, Step::Done(Ok(Reply::Events(vec![event]))));
//! }
//! # Ok::<(), watchbell_model::Errno>(())
//! ```
//!
//! # How to read it
//!
//! Each file is about one thing, and says at its head what that is. In this order they make a text:
//! [`eventfd`], [`wait_queue`], [`epoll::ready_list`], [`epoll::wait`], [`epoll::interest`],
//! [`epoll::nested`]; then the other objects ([`pipe`], [`stream`], [`listener`], [`timer`]), what
//! descriptors are ([`file`](mod@file), [`process`]), and how calls block ([`blocking`]). [`rules`]
//! lists every rule by name. [`Threaded`] puts the machine behind a lock, for real threads that
//! really block. Ids such as S122 are cases that were observed on Linux 6.18; the tests carry the
//! same ids.
//!
//! [eventfd(2)]: https://man7.org/linux/man-pages/man2/eventfd.2.html
//! [epoll(7)]: https://man7.org/linux/man-pages/man7/epoll.7.html

#![forbid(unsafe_code)]
#![allow(rustdoc::private_intra_doc_links, reason = "the modules are read as sources")]

mod arena;
mod blocking;
mod call;
mod effects;
mod epoll;
mod errno;
mod eventfd;
mod events;
mod file;
mod kernel;
mod listener;
mod oracle;
mod pipe;
mod poll;
mod process;
mod rules;
mod sockets;
mod stream;
mod task;
mod threaded;
mod timer;
mod wait_queue;

pub use blocking::{On, Reply, Step, Wait};
pub use epoll::Op;
pub use epoll::nested::DEEPEST_CHAIN;
pub use errno::Errno;
pub use eventfd::MAX_COUNT;
pub use events::{Event, Mask};
pub use kernel::{EFD_SEMAPHORE, Kernel};
pub use listener::Name;
pub use oracle::{Level, Oracle, Question};
pub use pipe::{PAGE, SLOTS};
pub use poll::{PollFd, Sets};
pub use process::{Fd, O_APPEND, O_CLOEXEC, O_DIRECT, O_NONBLOCK};
pub use rules::{Rule, Rules};
pub use sockets::Shutdown;
pub use stream::SEND_BUFFER;
pub use task::Task;
pub use threaded::{Caller, Threaded};
pub use timer::TimerSpec;

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
