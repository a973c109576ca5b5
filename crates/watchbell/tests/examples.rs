//! Each example runs, ends well, and says at the end what it is meant to show.
#![allow(clippy::unwrap_used)]

#[path = "support/programs.rs"]
mod programs;
mod support;

use programs::{built, last_line};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};
use support::watchdog;

#[test]
fn semaphore() {
    assert_eq!(last_line("semaphore"), "total: 1000 jobs, sum 500500");
}

#[test]
fn relay() {
    assert_eq!(last_line("relay"), "relayed=100000");
}

#[test]
fn x11_competing_consumers_ring_on_and_leave_nothing() {
    assert_eq!(last_line("competing"), "total: 1000 jobs, sum 500500");
}

#[test]
fn echo() {
    watchdog(|| {
        let mut command = Command::new(built("echo"));
        let mut server = command.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let first = lines.next().expect("it says where it listens").unwrap();
        let address = first.strip_prefix("listening on ").unwrap();

        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"ahoy").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "ahoy");

        kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
        let last = lines.next().expect("it says what came of it").unwrap();
        assert_eq!(last, "accepted=1 processed=1 returned=0 owned=0");
        assert!(server.wait().unwrap().success());
    });
}
