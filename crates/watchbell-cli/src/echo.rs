//! The embedded service: every byte goes back to the client that sent it.

use crate::args::Settings;
use std::io;
use std::mem;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Ready, Turn};
use watchbell::net::{Address, Marks, Output};
use watchbell::workers::{Connection, Service, Worker};

/// The most that one read takes, however large the budget.
const LARGEST_BUFFER: usize = 64 * 1024;

/// One worker's state of the echo service.
#[derive(Debug)]
pub struct Echo {
    marks: Marks,
    /// Shared by the worker's connections: what one has read is sent or queued before the next
    /// runs.
    buffer: Vec<u8>,
}

impl Echo {
    /// The state of one worker.
    pub fn new(settings: &Settings) -> Echo {
        let buffer = vec![0; settings.budget.min(LARGEST_BUFFER)];
        Echo { marks: settings.marks, buffer }
    }
}

impl Service for Echo {
    fn accepted(
        connection: Connection,
        _peer: Address,
        turn: &mut Turn<'_, Worker<Echo>>,
    ) -> io::Result<()> {
        let mut output = Output::new(turn.state().marks);
        turn.add(connection, Interest::READABLE, move |connection, turn| {
            let mut buffer = mem::take(&mut turn.state().buffer);
            let echoed = echo(connection, &mut output, &mut buffer);
            turn.state().buffer = buffer;
            echoed?;
            if output.is_finished() { turn.close() } else { Ok(()) }
        })?;
        Ok(())
    }
}

/// Sends back what is there. A client that has half-closed gets the rest, then end of file.
fn echo(
    connection: &mut Ready<'_, Connection>,
    output: &mut Output,
    buffer: &mut [u8],
) -> io::Result<()> {
    connection.flush(output)?;
    loop {
        // No more than the queue can hold, so that a client which does not read is not read from.
        let room = output.room().min(buffer.len());
        if room == 0 {
            return Ok(());
        }
        match connection.recv(&mut buffer[..room])? {
            Some(0) => {
                output.finish();
                connection.flush(output)?;
                return Ok(());
            }
            Some(read) => connection.send(output, &buffer[..read])?,
            None => return Ok(()),
        }
    }
}
