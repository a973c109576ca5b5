//! How a server ends: what it finishes, what it closes, and the ledger that it leaves.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::client::{Client, Target};
use support::random::Random;
use support::{Directory, Ledger, Server, proc, wait_until, watchbell};

fn on_tcp(more: &[&str]) -> Server {
    Server::start(&[&["--listen", "127.0.0.1:0", "--workers", "2"], more].concat())
}

/// Waits until nobody listens at the server's TCP address: the first signal has been heard.
fn wait_until_it_stops_accepting(server: &Server) {
    let port = server.targets[0].port();
    wait_until("the listener is closed", || !proc::is_listening(port));
}

fn ledger(accepted: u64, processed: u64, returned: u64) -> Ledger {
    Ledger { accepted, processed, returned, owned: 0 }
}

#[test]
fn d11_without_traffic_the_ledger_is_all_zeros() {
    for signal in [Signal::TERM, Signal::INT] {
        let server = on_tcp(&[]);
        server.signal(signal);
        let finished = server.finish();
        finished.assert_balanced();
        assert_eq!(finished.ledger, ledger(0, 0, 0));
    }
}

#[test]
fn d11_connections_that_end_by_themselves_are_processed() {
    let server = on_tcp(&[]);
    for number in 0..12_u8 {
        server.targets[0].connect().exchange(&[number]);
    }
    assert_eq!(server.stop().ledger, ledger(12, 12, 0));
}

/// One client under load: connections of several exchanges each, until the server takes no more.
fn load(target: &Target, seed: u64, stopping: &AtomicBool, exchanges: &AtomicU64) {
    let bytes = Random::quiet(seed).bytes(20_000);
    loop {
        let Ok(mut client) = target.try_connect() else {
            assert!(stopping.load(Ordering::SeqCst), "refused before the signal");
            return;
        };
        // Between the last accept and the close of the listener the kernel may still complete a
        // handshake, and such a client sees a reset. One that had an answer was accepted, and has
        // to be able to finish.
        if let Err(error) = client.try_exchange(&bytes) {
            assert!(stopping.load(Ordering::SeqCst), "cut off before the signal: {error}");
            return;
        }
        for _ in 0..5 {
            client.exchange(&bytes);
        }
        exchanges.fetch_add(6, Ordering::SeqCst);
    }
}

#[test]
fn d11_the_ledger_balances_after_sigterm_under_load() {
    let directory = Directory::new();
    let listen = directory.listen();
    let server = on_tcp(&["--listen", &listen, "--drain", "600"]);
    let (stopping, exchanges) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..16 {
            let target = &server.targets[seed % 2];
            let (stopping, exchanges) = (&stopping, &exchanges);
            scope.spawn(move || load(target, seed as u64, stopping, exchanges));
        }
        wait_until("there is load", || exchanges.load(Ordering::SeqCst) > 300);
        stopping.store(true, Ordering::SeqCst);
        server.signal(Signal::TERM);
    });
    let finished = server.finish();
    finished.assert_balanced();
    assert_eq!(finished.ledger.returned, 0, "each was finished: {finished:?}");
    let connections = exchanges.load(Ordering::SeqCst) / 6;
    assert!(finished.ledger.processed >= connections, "{connections} in {finished:?}");
    assert!(!directory.path().exists());
}

#[test]
fn d10_open_connections_are_finished_after_the_signal() {
    let server = on_tcp(&["--drain", "600"]);
    let mut random = Random::new(10);
    let mut open: Vec<Client> = (0..10).map(|_| server.targets[0].connect()).collect();
    open.iter_mut().for_each(|client| client.exchange(b"before"));
    server.signal(Signal::TERM);
    wait_until_it_stops_accepting(&server);
    assert!(server.targets[0].try_connect().is_err(), "it accepts nobody new");
    for mut client in open {
        let bytes = random.bytes(300_000);
        assert!(client.echo_to_the_end(&bytes, &mut random) == bytes);
    }
    let finished = server.finish();
    finished.assert_balanced();
    assert_eq!(finished.ledger, ledger(10, 10, 0));
}

#[test]
fn d10_an_idle_connection_is_closed_by_the_deadline_and_not_before() {
    for (drain, least) in [("1", 1000), ("0.25", 250), ("0", 0)] {
        let server = on_tcp(&["--drain", drain]);
        let mut idle = server.targets[0].connect();
        idle.exchange(b"before");
        let signalled = Instant::now();
        server.signal(Signal::TERM);
        let _ = idle.read_to_end(&mut Vec::new());
        assert!(signalled.elapsed() >= Duration::from_millis(least), "closed early");
        let finished = server.finish();
        finished.assert_balanced();
        assert_eq!(finished.ledger, ledger(1, 0, 1), "--drain {drain}");
    }
}

#[test]
fn d10_the_deadline_closes_a_connection_whose_client_reads_nothing() {
    let directory = Directory::new();
    let server = Server::start(&["--listen", &directory.listen(), "--drain", "0.1"]);
    let mut client = server.targets[0].connect();
    client.set_nonblocking(true);
    let bytes = vec![7; 65_536];
    while client.write(&bytes).is_ok() {}
    server.signal(Signal::TERM);
    let finished = server.finish();
    finished.assert_balanced();
    assert_eq!(finished.ledger, ledger(1, 0, 1));
}

#[test]
fn d10_a_second_signal_closes_at_once() {
    for (first, second) in [(Signal::TERM, Signal::TERM), (Signal::INT, Signal::TERM)] {
        let server = on_tcp(&["--drain", "600"]);
        let mut idle = server.targets[0].connect();
        idle.exchange(b"before");
        server.signal(first);
        // Two of one kind at once would be one to the process.
        wait_until_it_stops_accepting(&server);
        idle.exchange(b"the first one leaves it open");
        server.signal(second);
        let finished = server.finish();
        finished.assert_balanced();
        assert_eq!(finished.ledger, ledger(1, 0, 1));
    }
}

#[test]
fn d10_clients_in_the_backlog_at_stop_are_served() {
    let directory = Directory::new();
    let listen = directory.listen();
    let server = on_tcp(&["--listen", &listen]);
    server.signal(Signal::STOP);
    wait_until("every thread has halted", || proc::is_stopped(server.pid()));
    let mut random = Random::new(11);
    let mut waiting = Vec::new();
    for index in 0..60 {
        let mut client = server.targets[index % 2].connect();
        let bytes = random.bytes(1000);
        client.write_all(&bytes).unwrap();
        client.half_close();
        waiting.push((client, bytes));
    }
    server.signal(Signal::TERM);
    server.signal(Signal::CONT);
    for (index, (mut client, bytes)) in waiting.into_iter().enumerate() {
        assert!(client.rest() == bytes, "client {index} is served and ended in order");
    }
    let finished = server.finish();
    finished.assert_balanced();
    assert_eq!(finished.ledger, ledger(60, 60, 0));
}

#[test]
fn d10_a_connection_that_waits_while_others_are_finished_is_not_forgotten() {
    // Signalled while one connection is open, one is half-closed and one was reset.
    let server = on_tcp(&["--drain", "600"]);
    let target = &server.targets[0];
    let mut open = target.connect();
    open.exchange(b"open");
    let mut half_closed = target.connect();
    half_closed.exchange(b"half-closed");
    half_closed.half_close();
    let mut gone = target.connect();
    gone.exchange(b"reset");
    gone.reset();
    server.signal(Signal::TERM);
    wait_until_it_stops_accepting(&server);
    assert!(half_closed.rest().is_empty());
    open.exchange(b"still open");
    drop(open);
    let finished = server.finish();
    finished.assert_balanced();
    assert_eq!(finished.ledger, ledger(3, 3, 0));
}

#[test]
fn outputs_that_nobody_reads_are_no_failure() {
    let (read_end, write_end) = std::io::pipe().unwrap();
    let mut server = watchbell()
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::from(write_end.try_clone().unwrap()))
        .stderr(Stdio::from(write_end))
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut read_end = BufReader::new(read_end);
    read_end.read_line(&mut first).unwrap();
    drop(read_end);
    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    assert_eq!(support::wait(&mut server), Some(0));
    assert!(first.starts_with("listening on "), "{first}");
}
