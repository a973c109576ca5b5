//! Serving: the workers, from the first accept to the ledger.
//!
//! The main thread has a loop of its own, for signals. The first one ends the service in order, the
//! second at once; what came of it is the workers' report.

use crate::args::Settings;
use crate::bind::Listener;
use crate::report::Summary;
use anyhow::{Context, Result, anyhow};
use rustix::process::Signal;
use std::io;
use std::thread;
use std::time::Duration;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, EventLoop, Ready, Signals, Turn};
use watchbell::net;
use watchbell::workers::{Control, Service, Workers};

/// Serves on `listeners` until a signal ends it, and calls `ready` once signals are heard and
/// connections are accepted. `make` makes the state of each worker's service.
///
/// # Errors
///
/// What kept the server from starting, in which case a connection that came meanwhile is closed; or
/// that signals could not be waited for any more, which closes everything.
pub fn serve<S: Service>(
    settings: Settings,
    listeners: Vec<Listener>,
    make: impl Fn(&Settings) -> S + Send + Sync + 'static,
    ready: impl FnOnce(),
) -> Result<Summary> {
    let signals = Signals::new(&[Signal::TERM.as_raw(), Signal::INT.as_raw()])
        .context("signals cannot be caught")?;
    let drain = settings.drain;
    let mut files = Vec::new();
    let mut builder = Workers::builder()
        .workers(settings.workers)
        .budget(Budget::default().bytes(settings.budget));
    for Listener { file, socket, address } in listeners {
        let listener = net::Listener::try_from(socket)
            .with_context(|| format!("cannot listen on {address}"))?;
        builder = builder.listener(listener);
        files.extend(file);
    }
    let workers = builder.start(move |_| make(&settings)).context("workers cannot be started")?;

    let control = workers.control();
    let unlink = Box::new(move || drop(files));
    let end = End { control, drain, unlink: Some(unlink) };
    let mut events = EventLoop::with(end).context("no event loop")?;
    events.add(signals, Interest::READABLE, hear).context("signals cannot be watched")?;
    ready();
    let stop = events.stop_handle();
    let report = thread::scope(|scope| {
        let join = scope.spawn(move || {
            let report = workers.join();
            stop.stop();
            report
        });
        let waited = events.run().context("waiting for signals failed");
        if waited.is_err() {
            // Nobody would end the workers any more, for whom this scope waits.
            events.state().control.close();
        }
        let report = join.join().map_err(|_| anyhow!("the workers' report was lost"));
        waited.and(report)
    })?;
    Ok(report.into())
}

/// What ends the service: the state of the main thread's loop.
struct End {
    control: Control,
    drain: Duration,
    /// Removes the files of Unix-domain sockets; gone once the service is ending.
    unlink: Option<Box<dyn FnOnce()>>,
}

/// A signal: the first one drains, the next one closes.
fn hear(signals: &mut Ready<'_, Signals>, turn: &mut Turn<'_, End>) -> io::Result<()> {
    while signals.next_signal()?.is_some() {
        let end = turn.state();
        match end.unlink.take() {
            Some(unlink) => {
                // The files go while their sockets are open; see `SocketFile`.
                unlink();
                end.control.drain(end.drain);
            }
            None => end.control.close(),
        }
    }
    Ok(())
}
