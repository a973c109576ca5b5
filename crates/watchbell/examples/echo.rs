//! A complete echo server on every processor: `echo [ADDRESS]`, until Ctrl-C or SIGTERM.
#![allow(clippy::print_stdout)]

use signal_hook::consts::{SIGINT, SIGTERM};
use std::{io, thread, time::Duration};
use watchbell::epoll::Interest;
use watchbell::event_loop::{EventLoop, Ready, Signals, Turn};
use watchbell::net::{Address, Listener, Output};
use watchbell::workers::{Connection, Service, Worker, Workers};

struct Echo;

impl Service for Echo {
    fn accepted(
        connection: Connection,
        _peer: Address,
        turn: &mut Turn<'_, Worker<Echo>>,
    ) -> io::Result<()> {
        let mut output = Output::default();
        turn.add(connection, Interest::READABLE, move |connection, turn| {
            echo(connection, &mut output)?;
            if output.is_finished() { turn.close() } else { Ok(()) }
        })?;
        Ok(())
    }
}

fn echo(connection: &mut Ready<'_, Connection>, output: &mut Output) -> io::Result<()> {
    connection.flush(output)?;
    let mut buf = [0; 16 * 1024];
    while let Some(read) = connection.recv(&mut buf)? {
        if read == 0 {
            output.finish(); // the client has half-closed: it gets the rest, then end of file
            break;
        }
        connection.send(output, &buf[..read])?;
    }
    connection.flush(output).map(drop)
}

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7007".into());
    let listener = Listener::bind(address, 1024)?;

    let mut events = EventLoop::new()?;
    events.add(Signals::new(&[SIGINT, SIGTERM])?, Interest::READABLE, |signals, turn| {
        turn.stop();
        signals.next_signal().map(drop)
    })?;

    println!("listening on {}", listener.local_address()?);
    let workers = thread::available_parallelism()?;
    let workers = Workers::builder().workers(workers).listener(listener).start(|_index| Echo)?;
    events.run()?;
    workers.control().drain(Duration::from_secs(10));
    println!("{}", workers.join().ledger());
    Ok(())
}
