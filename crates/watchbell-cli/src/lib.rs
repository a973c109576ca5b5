//! The command `watchbell`, as a library: its tests and examples build a server of their own from
//! the same parts.
//!
//! The way through one run: [`args`] reads the command line into [`Settings`], [`address`] turns
//! each `--listen` into addresses, [`limits`] raises the descriptor limit, [`bind`] opens the
//! listeners (with [`socket_file`] for the Unix-domain ones), [`serve`] runs the service, [`echo`],
//! until it is told to stop, and [`report`] prints what came of it. Nothing is opened before all of the input is known
//! to be good.

pub mod address;
pub mod args;
pub mod bind;
pub mod echo;
pub mod limits;
pub mod report;
pub mod serve;
pub mod socket_file;

use args::{Request, Settings};
use echo::Echo;
use report::{Exit, Listening, Summary, say};
use std::ffi::OsString;
use std::io::{stderr, stdout};
use watchbell::workers::Service;

/// Runs the command with the arguments of a process, the program's name first, and says how it
/// ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    run_service(arguments, "echo", Echo::new)
}

/// As [`run`], with another service than the embedded one: `make` makes the state of each worker's.
pub fn run_service<S: Service>(
    arguments: impl IntoIterator<Item = OsString>,
    name: &'static str,
    make: impl Fn(&Settings) -> S + Send + Sync + 'static,
) -> Exit {
    let summary = match args::read(arguments) {
        Ok(Request::Print(text)) => {
            report::print(&mut stdout(), &text);
            return Exit::Done;
        }
        Ok(Request::Serve(settings)) => start(settings, name, make),
        Err(error) => Err(error),
    };
    match summary {
        Ok(summary) => conclude(&summary),
        Err(error) => {
            say(&mut stderr(), &format_args!("watchbell: {error:#}"));
            Exit::NotStarted
        }
    }
}

/// Opens what the settings ask for and serves until a signal ends it.
fn start<S: Service>(
    settings: Settings,
    service: &'static str,
    make: impl Fn(&Settings) -> S + Send + Sync + 'static,
) -> anyhow::Result<Summary> {
    limits::raise_descriptors();
    let listeners = bind::bind(&settings.listen, settings.backlog)?;
    let listening = Listening {
        addresses: listeners.iter().map(|listener| listener.address.clone()).collect(),
        workers: settings.workers.get(),
        service,
    };
    serve::serve(settings, listeners, make, || say(&mut stderr(), &listening))
}

/// Prints what came of it.
fn conclude(summary: &Summary) -> Exit {
    for worker in &summary.workers {
        say(&mut stderr(), worker);
    }
    for (worker, error) in &summary.failures {
        say(&mut stderr(), &format_args!("watchbell: worker {worker}: {error}"));
    }
    say(&mut stdout(), &summary.ledger);
    if summary.ledger.balances() { Exit::Done } else { Exit::Unbalanced }
}
