//! Compares the model with the running kernel by random sequences of calls.
//!
//! ```text
//! cargo run --release -p watchbell-model --example differential -- --sequences 1000000 --seed 1
//! ```
//!
//! The last line tells what was compared. At a mismatch a small program that shows it comes before,
//! and the exit code is 1.

#[path = "../tests/compare/mod.rs"]
mod compare;

use compare::linux::Linux;
use compare::sequence::{Tally, compare};
use std::process::ExitCode;
use std::time::Instant;

#[allow(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> ExitCode {
    let (mut sequences, mut seed) = (100_000, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        match (argument.as_str(), value) {
            ("--sequences", Some(value)) => sequences = value,
            ("--seed", Some(value)) => seed = value,
            _ => {
                eprintln!("usage: differential [--sequences N] [--seed S]");
                return ExitCode::from(2);
            }
        }
    }
    let mut linux = Linux::new();
    let mut tally = Tally::default();
    let start = Instant::now();
    let compared = compare(&mut linux, sequences, seed, None, &mut tally);
    let rate = tally.sequences as f64 / start.elapsed().as_secs_f64();
    println!("{rate:.0} sequences a second");
    if let Err(mismatch) = &compared {
        print!("{}", mismatch.listing());
    }
    println!(
        "sequences={} operations={} events={} mismatches={}",
        tally.sequences,
        tally.operations,
        tally.events,
        u32::from(compared.is_err())
    );
    if compared.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
