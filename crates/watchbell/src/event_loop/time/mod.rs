//! Deadlines.

mod timers;

pub use timers::TimerId;
pub(crate) use timers::Timers;
