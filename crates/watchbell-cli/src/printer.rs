//! Printing on a thread of its own: an output that nobody reads holds up nothing.
//!
//! A pipe that is full blocks whoever writes to it. That must not be the thread that hears signals,
//! nor may it keep the process from ending.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Where a text goes.
#[derive(Clone, Copy, Debug)]
pub enum To {
    /// What the command was asked for.
    Stdout,
    /// Everything else.
    Stderr,
}

/// Prints texts in the order in which it is given them.
#[derive(Debug)]
pub struct Printer {
    texts: Sender<(To, String)>,
    done: Receiver<()>,
}

impl Printer {
    /// A printer with its thread. Where none can be started, nothing is printed.
    pub fn start() -> Printer {
        let (texts, to_print) = channel::<(To, String)>();
        let (all_printed, done) = channel();
        let _ = thread::Builder::new().name("printer".into()).spawn(move || {
            for (to, text) in to_print {
                write(to, &text);
            }
            let _ = all_printed.send(());
        });
        Printer { texts, done }
    }

    /// Prints `text` as it is, soon.
    pub fn print(&self, to: To, text: String) {
        let _ = self.texts.send((to, text));
    }

    /// Waits until all is printed, for `longest` at the most: by then nobody is reading.
    pub fn finish(self, longest: Duration) {
        drop(self.texts);
        match self.done.recv_timeout(longest) {
            Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

/// One write; an error of the output (`EPIPE`) is passed over.
fn write(to: To, text: &str) {
    let printed = match to {
        To::Stdout => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
        To::Stderr => io::stderr().write_all(text.as_bytes()),
    };
    let _ = printed;
}
