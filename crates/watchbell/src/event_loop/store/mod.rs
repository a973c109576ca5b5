//! What the loop keeps of its sources between their runs.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `slots.rs` | a slot for each source, found by [`Token`](crate::epoll::Token) |
//! | `runnable.rs` | the sources that have a turn, in order |
//! | `extras.rs` | what few sources have: a name, a budget of their own, rests, links |
//! | `wish.rs` | what can be asked of a source, and what it does to the account |
//! | `address.rs` | where a source is now, for those that outlive its stay in a loop |
//! | `flow.rs` | what an output queue shares with the sources that fill it and write it out |
//! | `group.rs` | the loops that watch one target exclusively |
//! | `inbox.rs` | what other threads and destructors say to the loop |

mod address;
mod extras;
mod flow;
mod group;
mod inbox;
mod runnable;
mod slots;
mod wish;

pub(crate) use address::Address;
pub(crate) use extras::{Extras, Rest};
pub(crate) use flow::Flow;
pub(crate) use group::Group;
pub use group::Shared;
pub(crate) use inbox::{Inbox, Letter};
pub(crate) use runnable::{Place, Runnable};
pub(crate) use slots::{Seat, Slot, Slots, Source};
pub(crate) use wish::{Follows, Wish};
