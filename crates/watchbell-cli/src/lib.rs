//! The command `watchbell`, as a library: its tests and examples build a server of their own from
//! the same parts.
//!
//! The way through one run: [`args`] reads the command line into [`Settings`], [`address`] turns
//! each `--listen` into addresses, [`limits`] raises the descriptor limit, [`bind`] opens the
//! listeners (with [`socket_file`] for the Unix-domain ones), [`serve`] serves until it is told to
//! stop, and [`report`] prints what came of it. Nothing is opened before all of the input is known
//! to be good.

pub mod address;
pub mod args;
pub mod bind;
pub mod limits;
pub mod report;
pub mod serve;
pub mod socket_file;

use args::{Request, Settings};
use report::{Exit, Listening, Summary, say};
use std::ffi::OsString;
use std::io::{stderr, stdout};

/// Runs the command with the arguments of a process, the program's name first, and says how it
/// ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let summary = match args::read(arguments) {
        Ok(Request::Print(text)) => {
            report::print(&mut stdout(), &text);
            return Exit::Done;
        }
        Ok(Request::Serve(settings)) => start(&settings),
        Err(error) => Err(error),
    };
    match summary {
        Ok(summary) => {
            for worker in &summary.workers {
                say(&mut stderr(), worker);
            }
            say(&mut stdout(), &summary.ledger);
            if summary.ledger.balances() { Exit::Done } else { Exit::Unbalanced }
        }
        Err(error) => {
            say(&mut stderr(), &format_args!("watchbell: {error:#}"));
            Exit::NotStarted
        }
    }
}

/// Opens what the settings ask for and serves until a signal ends it.
fn start(settings: &Settings) -> anyhow::Result<Summary> {
    limits::raise_descriptors();
    let listeners = bind::bind(&settings.listen, settings.backlog)?;
    let listening = Listening {
        addresses: listeners.iter().map(|listener| listener.address.clone()).collect(),
        workers: settings.workers,
        service: "echo",
    };
    serve::serve(settings, listeners, || say(&mut stderr(), &listening))
}
