//! Counts what watchbell costs, side by side with loops made by hand.
//!
//! `cargo run --release -p watchbell-bench -- [SUITE ...]`. The counts are exact: user instructions
//! by single steps, system calls by stops at each, bytes by an allocator that counts. They do not
//! depend on what else the machine is doing.
//!
//! | suite | goal | what it counts |
//! | --- | --- | --- |
//! | `dispatch` | P6 | user instructions and system calls an event |
//! | `footprint` | P10 | heap a registration, allocations an event, calls a registration |
//!
//! Each subject runs in a process of its own, twice with different numbers of events: the
//! difference is what the events cost, without start and end.

mod allocator;
mod dispatch;
mod footprint;
mod raw;
mod stepper;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        // A subject on its own, to be counted from outside.
        ["subject", "dispatch", subject, events] => match events.parse() {
            Ok(events) => dispatch::subject(subject, events),
            Err(_) => return usage(),
        },
        ["subject", "register", subject, count] => match count.parse() {
            Ok(count) => footprint::subject(subject, count),
            Err(_) => return usage(),
        },
        [] => ["dispatch", "footprint"].iter().for_each(|name| suite(name)),
        _ if words.iter().all(|name| ["dispatch", "footprint"].contains(name)) => {
            words.iter().for_each(|name| suite(name));
        }
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn suite(name: &str) {
    match name {
        "dispatch" => dispatch::suite(),
        _ => footprint::suite(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: watchbell-bench [dispatch | footprint] ...");
    ExitCode::from(2)
}

/// A goal, and whether it is met.
fn verdict(value: f64, goal: Option<f64>) -> String {
    match goal {
        None => String::new(),
        Some(goal) if value <= goal => format!("goal {goal:>6}  met"),
        Some(goal) => format!("goal {goal:>6}  MISSED"),
    }
}
