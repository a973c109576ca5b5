//! The lines that the command prints, and its exit status.
//!
//! Scripts read these lines: their form is part of the command's interface.

use std::fmt::{self, Display};
use std::process::ExitCode;
use watchbell::net::Address;
use watchbell::workers::{Counts, Ledger, Report, WorkerError};

/// The first line on stderr: `listening on 127.0.0.1:7007, 2 workers, service echo`.
#[derive(Clone, Debug)]
pub struct Listening {
    /// The addresses that are bound, with the real ports.
    pub addresses: Vec<Address>,
    /// How many workers accept there.
    pub workers: usize,
    /// What is served.
    pub service: &'static str,
}

impl Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("listening on ")?;
        for address in &self.addresses {
            write!(f, "{address}, ")?;
        }
        let plural = if self.workers == 1 { "" } else { "s" };
        write!(f, "{} worker{plural}, service {}", self.workers, self.service)
    }
}

/// What one worker did, on stderr at the end:
/// `worker 0: wakes=12 accepts=10 empty=2 connections=10`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerLine {
    /// The worker's number, from 0.
    pub worker: usize,
    /// What it accepted.
    pub counts: Counts,
}

impl Display for WorkerLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { wakes, accepts, empty_accepts, connections, .. } = self.counts;
        let worker = self.worker;
        write!(
            f,
            "worker {worker}: wakes={wakes} accepts={accepts} empty={empty_accepts} \
             connections={connections}"
        )
    }
}

/// What is known when the server has ended.
#[derive(Debug, Default)]
pub struct Summary {
    /// A line a worker, in the order of their numbers.
    pub workers: Vec<WorkerLine>,
    /// Workers that ended before they were told to, and why.
    pub failures: Vec<(usize, WorkerError)>,
    /// Where every accepted connection is: the last line on stdout.
    pub ledger: Ledger,
}

impl From<Report> for Summary {
    fn from(report: Report) -> Summary {
        let ledger = report.ledger();
        let mut summary = Summary { ledger, ..Summary::default() };
        for worker in report.workers {
            summary.workers.push(WorkerLine { worker: worker.index, counts: worker.counts });
            summary.failures.extend(worker.outcome.err().map(|error| (worker.index, error)));
        }
        summary
    }
}

/// The exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: what was asked for was done, and the ledger balances.
    Done,
    /// 1: the ledger does not balance.
    Unbalanced,
    /// 2: bad input, or the server could not start.
    NotStarted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Unbalanced => 1,
            Exit::NotStarted => 2,
        })
    }
}

/// The text of `line` as one line, whatever a path or an argument in it holds: control characters
/// are escaped.
pub fn one_line(line: &impl Display) -> String {
    let mut text = String::new();
    for character in line.to_string().chars() {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_first_line_names_every_address_and_counts_the_workers() {
        let tcp = Address::Inet("127.0.0.1:7007".parse().unwrap());
        let unix = Address::Unix("/run/echo.sock".into());
        let one = Listening { addresses: vec![tcp.clone()], workers: 2, service: "echo" };
        assert_eq!(one.to_string(), "listening on 127.0.0.1:7007, 2 workers, service echo");
        let two = Listening { addresses: vec![tcp, unix], workers: 1, service: "echo" };
        assert_eq!(
            two.to_string(),
            "listening on 127.0.0.1:7007, unix:/run/echo.sock, 1 worker, service echo"
        );
    }

    #[test]
    fn a_worker_and_the_ledger_have_a_line_each() {
        let mut counts = Counts::default();
        (counts.wakes, counts.accepts, counts.empty_accepts, counts.connections) = (12, 10, 2, 9);
        let worker = WorkerLine { worker: 0, counts };
        assert_eq!(worker.to_string(), "worker 0: wakes=12 accepts=10 empty=2 connections=9");
        let ledger = Ledger { accepted: 12, processed: 11, returned: 1, owned: 0 };
        assert_eq!(ledger.to_string(), "accepted=12 processed=11 returned=1 owned=0");
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(one_line(&"unix:/tmp/a\nb\u{1b}[1m"), "unix:/tmp/a\\nb\\u{1b}[1m\n");
    }
}
