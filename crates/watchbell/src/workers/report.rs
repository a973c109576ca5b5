//! What the workers of a pool have done.

use crate::Error;
use crate::Ledger;
use crate::event_loop::Stats;
use std::error;
use std::fmt;

/// The last word of a pool's workers.
#[derive(Debug)]
pub struct Report {
    /// Each worker's, by its index.
    pub workers: Vec<WorkerReport>,
}

/// The last word of one worker.
#[derive(Debug)]
pub struct WorkerReport {
    /// Which worker, from 0.
    pub index: usize,
    /// What it has accepted. Zeros, as `stats`, if its service panicked in its making or its end.
    pub counts: Counts,
    /// Where its connections have gone.
    pub ledger: Ledger,
    /// What its loop has done.
    pub stats: Stats,
    /// How it ended.
    pub outcome: Result<(), WorkerError>,
}

/// What one worker has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Runs of the accepting handler that an event caused.
    pub wakes: u64,
    /// Connections that it accepted.
    pub accepts: u64,
    /// Wakes that found the backlog empty: another worker had been there.
    pub empty_accepts: u64,
    /// Accepted connections that the service took.
    pub connections: u64,
    /// Accepted connections that the service refused, with an error.
    pub refused: u64,
    /// Accepted connections on which the service panicked.
    pub panics: u64,
}

/// Why a worker ended before it was told to.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerError {
    /// Its loop failed.
    Loop(Error),
    /// It panicked outside of any handler.
    Panicked,
}

impl Report {
    /// Where all connections have gone.
    ///
    /// # Panics
    ///
    /// If a count passes 2^64.
    pub fn ledger(&self) -> Ledger {
        Ledger::sum(self.workers.iter().map(|worker| worker.ledger))
    }
}

impl WorkerReport {
    pub(super) fn unstarted(index: usize) -> WorkerReport {
        WorkerReport {
            index,
            counts: Counts::default(),
            ledger: Ledger::default(),
            stats: Stats::default(),
            outcome: Ok(()),
        }
    }
}

impl fmt::Display for WorkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkerError::Loop(error) => write!(f, "a worker's loop failed: {error}"),
            WorkerError::Panicked => f.write_str("a worker panicked"),
        }
    }
}

impl error::Error for WorkerError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            WorkerError::Loop(error) => Some(error),
            WorkerError::Panicked => None,
        }
    }
}
