//! The source that is running.
//!
//! While a handler runs, its source's account is here and nowhere else: the slot has given it away.
//! `running.rs` has the account, and what the run is to remember; `ready.rs` is what the handler
//! has of it.

mod ready;
mod running;

pub use ready::Ready;
pub(crate) use ready::after_output;
pub(crate) use running::{Notes, Run};
