//! What a loop has done.

/// Counts since the loop was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Turns: one wait each.
    pub turns: u64,
    /// Events that the waits brought.
    pub events: u64,
    /// Runs of handlers.
    pub runs: u64,
    /// Runs after which a source was kept runnable, with no new edge.
    pub retained: u64,
    /// Runs that spent their budget.
    pub spent: u64,
    /// Events for a source that was gone, or was removed before its turn came: discarded.
    pub stale: u64,
    /// Handlers that returned an error.
    pub errors: u64,
    /// Panics of handlers and timers, and of destructors that the loop ran.
    pub panics: u64,
    /// Sources that were suspended because their handler ignored them.
    pub suspended: u64,
    /// Registrations that could not be removed by their descriptor.
    pub ghosts: u64,
    /// New epoll instances made to be rid of ghosts.
    pub healed: u64,
    /// Timers that fired.
    pub timers: u64,
    /// Connections that accept(2) had an error for instead of a descriptor.
    pub skipped_accepts: u64,
    /// Times that accepting rested, for want of descriptors or memory.
    pub accept_pauses: u64,
}
