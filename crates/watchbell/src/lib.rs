//! Event loops on Linux eventfd and epoll that cannot forget a descriptor.
//!
//! For services without an async runtime: proxies, gateways, VMMs, databases, device daemons. Begin
//! with [`event_loop`], which keeps account of readiness, and [`net`], if it is about sockets.
//!
//! | module | what it has |
//! | --- | --- |
//! | [`eventfd`] | counters and semaphores in the kernel, as two types that cannot be mixed up |
//! | [`epoll`] | an epoll instance whose registrations are types, and one-shot leases |
//! | [`doorbell`] | a bounded queue for many producers, whose bell rings only a loop that sleeps |
//! | [`event_loop`] | turns, budgets, retained readiness, timers, signals |
//! | [`net`] | listeners, streams with an output queue, datagrams |
//! | [`workers`] | a loop a thread on shared listeners, an ordered end, an exact ledger |
//! | [`kernel`] | the one door to the system, which all of these are generic over |
//! | [`sync`] | threads, locks and atomics, from one place |
//!
//! Linux 5.11 or later. `docs/contract.md` in the repository has every rule that the library keeps,
//! with what keeps it and what tests it.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod ledger;

pub mod doorbell;
pub mod epoll;
pub mod event_loop;
pub mod eventfd;
pub mod kernel;
pub mod net;
pub mod sync;
pub mod workers;

pub use error::{Error, Rejected};
pub use ledger::Ledger;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
