//! A process without descriptors to spare. It is one test in a program of its own, since the limit
//! concerns the whole process.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::{Bump, counted, drive};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::time::Duration;
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::EventLoop;
use watchbell::kernel::{Call, Counting, Linux};

const CONNECTIONS: u64 = 3;

#[test]
fn e04_accepting_rests_at_emfile_and_goes_on_when_there_are_descriptors() {
    watchdog(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _clients: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(address)).collect();

        let kernel = Counting::new(Linux);
        let builder = EventLoop::builder_on(kernel.clone(), ());
        let pause = Duration::from_millis(20);
        let mut events = builder.accept_pause(pause).build().unwrap();
        let (tries, accepted) = (counted(), counted());
        let (tried, seen) = (Rc::clone(&tries), Rc::clone(&accepted));
        let handler = events.add(listener, Interest::READABLE, move |listener, turn| {
            tried.bump();
            while let Some((stream, _)) = listener.accept()? {
                seen.bump();
                turn.add(stream, Interest::READABLE, |_, _| Ok(()))?;
            }
            Ok(())
        });
        handler.unwrap();

        let spare = File::open("/dev/null").unwrap();
        let hold = exhaust();
        kernel.reset();
        drive(&mut events, || tries.get() == 4);
        assert_eq!((accepted.get(), events.stats().accept_pauses), (0, 4));
        let waits = kernel.calls(Call::EpollWait);
        // One for the event, and for each rest one that sleeps and one that runs what it left.
        assert!(waits <= 1 + 3 * 2, "{waits} waits for four tries: it spins");

        drop((spare, hold));
        drive(&mut events, || accepted.get() == CONNECTIONS);
        assert_eq!(events.stats().events, 1, "one edge told of all of them");
        assert_eq!(events.len() as u64, 1 + CONNECTIONS);
    });
}

/// Takes every descriptor that the process may have.
fn exhaust() -> Vec<File> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), ..limit }).unwrap();
    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    files
}
