//! The command `watchbell`, as a library: its tests and examples build a server of their own from
//! the same parts.
//!
//! The way through one run: [`args`] reads the command line into [`Settings`], [`address`] turns
//! each `--listen` into addresses, [`limits`] raises the descriptor limit, [`bind`] opens the
//! listeners (with [`socket_file`] for the Unix-domain ones), [`serve`] runs the service, [`echo`],
//! until it is told to stop, and [`report`] words what came of it, which [`printer`] prints.
//! Nothing is opened before all of the input is known to be good.

pub mod address;
pub mod args;
pub mod bind;
pub mod echo;
pub mod limits;
pub mod printer;
pub mod report;
pub mod serve;
pub mod socket_file;

use args::{Request, Settings};
use echo::Echo;
use printer::{Printer, To};
use report::{Exit, Listening, Summary, one_line};
use std::ffi::OsString;
use std::time::Duration;
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
    let printer = Printer::start();
    let summary = match args::read(arguments) {
        Ok(Request::Print(text)) => {
            printer.print(To::Stdout, text);
            Ok(None)
        }
        Ok(Request::Serve(settings)) => start(settings, name, make, &printer).map(Some),
        Err(error) => Err(error),
    };
    let exit = match summary {
        Ok(None) => Exit::Done,
        Ok(Some(summary)) => conclude(&summary, &printer),
        Err(error) => {
            let line = one_line(&format_args!("watchbell: {error:#}"));
            printer.print(To::Stderr, line);
            Exit::NotStarted
        }
    };
    printer.finish(LONGEST_PRINTING);
    exit
}

/// How long the end waits for somebody to read what is printed.
const LONGEST_PRINTING: Duration = Duration::from_secs(5);

/// Opens what the settings ask for and serves until a signal ends it.
fn start<S: Service>(
    settings: Settings,
    service: &'static str,
    make: impl Fn(&Settings) -> S + Send + Sync + 'static,
    printer: &Printer,
) -> anyhow::Result<Summary> {
    limits::raise_descriptors();
    let workers = settings.workers.get();
    let sockets = settings.listen.iter().map(|endpoint| endpoint.addresses.len()).sum();
    let explain = |error| limits::explain(error, workers, sockets);
    let listeners = bind::bind(&settings.listen, settings.backlog).map_err(explain)?;
    let listening = Listening {
        addresses: listeners.iter().map(|listener| listener.address.clone()).collect(),
        workers,
        service,
    };
    let ready = || printer.print(To::Stderr, one_line(&listening));
    serve::serve(settings, listeners, make, ready).map_err(explain)
}

/// Prints what came of it.
fn conclude(summary: &Summary, printer: &Printer) -> Exit {
    for worker in &summary.workers {
        printer.print(To::Stderr, one_line(worker));
    }
    for failure in &summary.failures {
        printer.print(To::Stderr, one_line(&format_args!("watchbell: {failure}")));
    }
    printer.print(To::Stdout, one_line(&summary.ledger));
    let is_well = summary.ledger.balances() && summary.failures.is_empty();
    if is_well { Exit::Done } else { Exit::Failed }
}
