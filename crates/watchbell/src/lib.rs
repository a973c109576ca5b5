//! Event loops on Linux eventfd and epoll that cannot forget a descriptor.
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
