//! `watchbell serve` with a service that loses every third connection: what a ledger is there for.
//!
//! The others are closed at once. At the end the ledger's line does not balance, and the exit
//! status is 1.

use std::io;
use std::mem;
use std::process::ExitCode;
use watchbell::event_loop::Turn;
use watchbell::net::Address;
use watchbell::workers::{Connection, Service, Worker};

/// How many connections the worker was given.
struct Losing {
    given: u64,
}

impl Service for Losing {
    fn accepted(
        connection: Connection,
        _peer: Address,
        turn: &mut Turn<'_, Worker<Losing>>,
    ) -> io::Result<()> {
        turn.state().given += 1;
        if turn.state().given.is_multiple_of(3) {
            mem::forget(connection);
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    let make = |_settings: &_| Losing { given: 0 };
    watchbell_cli::run_service(std::env::args_os(), "losing", make).into()
}
