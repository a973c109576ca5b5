//! The loop's state, and what may be asked of it from outside and from inside a handler.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `state.rs` | [`Registry`], and what the loop asks of a source whose type it does not know |
//! | `asks.rs` | what may be asked, by token |
//! | `settle.rs` | what follows from a change of a source's account |
//! | `ends.rs` | how a source leaves the loop |
//! | `failure.rs` | [`Failure`], and how it is reported |
//! | `turn.rs` | [`Turn`], the registry as a handler sees it |

mod asks;
mod ends;
mod failure;
mod settle;
mod state;
mod turn;

pub(super) use ends::Unseated;
pub(super) use failure::OnFailure;
pub use failure::{Failure, Reason};
pub(crate) use state::Settings;
pub(super) use state::{Bell, Boxed, Dispatch, Due, WAKE};
pub use state::{Registry, Stats};
pub use turn::Turn;
