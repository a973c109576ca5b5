//! Taking sources in, and what a handler can do with each kind.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `registration.rs` | [`Registration`]: how a source is watched, as one value |
//! | `handler.rs` | [`Handler`], and what it is given ([`Handled`]) |
//! | `add.rs` | the two verbs, and the ways out: take, detach, attach |
//! | `entry.rs` | a source with a descriptor and its handler |
//! | `served.rs` | a doorbell's queue and its handler |
//! | `detached.rs` | a source between two loops |
//! | `remote.rs` | running code on a loop from other threads |
//! | `accept.rs`, `eventfd.rs`, `signals.rs` | the operations of some kinds |

mod accept;
mod add;
mod detached;
mod entry;
mod eventfd;
mod handler;
mod registration;
mod remote;
mod served;
#[cfg(feature = "signals")]
mod signals;

pub use accept::Accept;
pub use detached::Detached;
pub use handler::{Handled, Handler, Watched};
pub use registration::Registration;
pub use remote::{Remote, Task};
#[cfg(feature = "signals")]
pub use signals::Signals;
