//! Several workers on one listener: whoever is woken, every connection finds an owner.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/pool.rs"]
mod pool;
#[path = "support/rigged.rs"]
mod rigged;
mod support;

use pool::{Act, Gate, Pool, end, exchange, loopback};
use rigged::Rigged;
use std::io::{self, Read};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use support::watchdog;
use watchbell::epoll::{Epoll, Events, Interest};
use watchbell::event_loop::{Accept, Budget, Shared};
use watchbell::kernel::{Call, Counting, Linux, Sockets};
use watchbell::net::{Address, Listener};
use watchbell::workers::{Counts, Report};

/// The accepts of all workers, and what they found.
fn accepts(report: &Report) -> u64 {
    report.workers.iter().map(|worker| worker.counts.accepts).sum()
}

fn empty_accepts(report: &Report) -> u64 {
    report.workers.iter().map(|worker| worker.counts.empty_accepts).sum()
}

fn wakes(report: &Report) -> u64 {
    report.workers.iter().map(|worker| worker.counts.wakes).sum()
}

#[test]
fn x05_whoever_is_woken_every_connection_is_served() {
    watchdog(|| {
        for workers in 1..=4 {
            x05_body(Linux, workers);
        }
    });
}

/// Clients that come all at once, stay, and talk again: none waits for another's arrival.
fn x05_body<K: Sockets>(kernel: K, workers: usize) {
    const CLIENTS: u64 = 60;
    let pool = Pool::echoing(kernel, workers);
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| pool.connect()).collect();
    for round in 0..3 {
        clients.iter_mut().for_each(|client| exchange(client, round));
    }
    clients.into_iter().for_each(end);
    let report = pool.drain();
    assert_eq!(accepts(&report), CLIENTS);
    assert!((1..=CLIENTS * workers as u64).contains(&wakes(&report)), "{report:?}");
    let ledger = report.ledger();
    assert_eq!((ledger.accepted, ledger.processed, ledger.owned), (CLIENTS, CLIENTS, 0));
}

#[test]
fn x05_an_idle_pool_makes_no_wake_ups() {
    watchdog(|| x05_idle_body(Counting::new(Linux)));
}

fn x05_idle_body<K: Sockets>(kernel: Counting<K>) {
    let idle = Pool::echoing(kernel.clone(), 3);
    let mut clients = [(); 4].map(|()| idle.connect());
    clients.iter_mut().for_each(|client| exchange(client, 1));
    idle.wait_until_idle();
    let calls = kernel.total();

    // Time passes, which a busier pool on a kernel of its own is the measure of.
    let busy = Pool::echoing(Counting::new(Linux), 1);
    let mut client = busy.connect();
    (0..200).for_each(|_| exchange(&mut client, 2));
    idle.wait_until_idle();
    assert_eq!(kernel.total(), calls, "open connections and nothing to do: not one call");
}

#[test]
fn x06_one_wake_can_bring_several_connections() {
    watchdog(|| x06_several_body(Counting::new(Linux)));
}

/// One worker, kept in its first connection until all the others are in the backlog.
fn x06_several_body<K: Sockets>(kernel: Counting<K>) {
    const CLIENTS: u64 = 50;
    let (gate, keep) = shared_gate();
    let pool = Pool::start(
        kernel.clone(),
        1,
        |builder| builder,
        move |number| {
            if number == 0 {
                keep.pass();
            }
            Act::Echo
        },
    );
    pool.wait_until_idle();
    let before = kernel.calls(Call::Accept);
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| pool.connect()).collect();
    gate.open();
    clients.iter_mut().for_each(|client| exchange(client, 7));
    pool.wait_until_idle();

    // One accept(2) a connection, and those that met the end of the backlog: one for the wake, and
    // one at most for an edge that came while the worker was busy with it.
    let empty = kernel.calls(Call::Accept) - before - CLIENTS;
    assert!((1..=2).contains(&empty), "{empty}");
    let report = pool.close();
    assert_eq!(accepts(&report), CLIENTS);
    assert!((1..=2).contains(&wakes(&report)), "{report:?}");
}

fn shared_gate() -> (Arc<Gate>, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    (Arc::clone(&gate), gate)
}

#[test]
fn x06_a_woken_worker_may_find_the_backlog_empty() {
    watchdog(|| x06_empty_body(Linux));
}

/// One worker is kept between its wake and its accept; the other one, woken by the next connection,
/// takes both.
fn x06_empty_body<K: Sockets>(kernel: K) {
    let (gate, keep) = shared_gate();
    let armed = Arc::new(AtomicBool::new(false));
    let arm = Arc::clone(&armed);
    let (say, woken) = mpsc::channel();
    let kernel = Rigged::new(kernel, move |call| {
        if call == Call::EpollWait && arm.swap(false, Ordering::SeqCst) {
            say.send(()).unwrap();
            keep.pass();
        }
        Ok(())
    });
    let pool = Pool::echoing(kernel, 2);
    pool.wait_until_idle();

    armed.store(true, Ordering::SeqCst);
    let mut first = pool.connect();
    woken.recv().unwrap();
    let mut second = pool.connect();
    exchange(&mut first, 1);
    exchange(&mut second, 2);
    gate.open();
    pool.wait_until_idle();
    let report = pool.close();
    assert_eq!((accepts(&report), empty_accepts(&report)), (2, 1), "{report:?}");
    assert_eq!(report.ledger().accepted, 2);
}

#[test]
fn x06_the_accepts_of_many_connections_are_one_each_and_a_bounded_number_of_empty_ones() {
    watchdog(|| x06_accepts_body(Counting::new(Linux)));
}

fn x06_accepts_body<K: Sockets>(kernel: Counting<K>) {
    const CLIENTS: u64 = 200;
    let pool = Pool::echoing(kernel.clone(), 2);
    pool.wait_until_idle();
    let before = kernel.calls(Call::Accept);
    for _ in 0..CLIENTS {
        let mut client = pool.connect();
        exchange(&mut client, 3);
        end(client);
    }
    pool.wait_until_idle();
    let calls = kernel.calls(Call::Accept) - before;
    let report = pool.close();
    assert_eq!(accepts(&report), CLIENTS);
    // Each run that a wake caused ends with one empty accept at most.
    assert!((CLIENTS..=CLIENTS + wakes(&report)).contains(&calls), "{calls} calls: {report:?}");
}

#[test]
fn x07_an_exclusive_edge_is_drained_with_no_further_arrival() {
    watchdog(|| {
        for workers in 1..=3 {
            x07_body(Linux, workers);
        }
    });
}

/// Budgets of one accept a turn, and workers that are kept until the backlog is complete.
fn x07_body<K: Sockets>(kernel: K, workers: usize) {
    const CLIENTS: u64 = 40;
    let (gate, keep) = shared_gate();
    let kernel = Rigged::new(kernel, move |call| {
        if call == Call::Accept {
            keep.pass();
        }
        Ok(())
    });
    let small = Budget::default().operations(1);
    let pool = Pool::start(kernel, workers, |builder| builder.budget(small), |_| Act::Echo);
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| pool.connect()).collect();
    gate.open();
    for mut client in clients {
        exchange(&mut client, 9);
        end(client);
    }
    let report = pool.drain();
    assert_eq!(accepts(&report), CLIENTS);
    let retained: u64 = report.workers.iter().map(|worker| worker.stats.retained).sum();
    assert!(retained > 0, "what a budget left was run again with no new edge: {report:?}");
}

#[test]
fn x08_an_ordinary_observer_of_the_workers_listener_is_woken_as_well() {
    watchdog(|| {
        // Until the observer was told, the workers do not accept, although they are woken.
        let (gate, keep) = shared_gate();
        let kernel = Rigged::new(Linux, move |call| {
            if call == Call::Accept {
                keep.pass();
            }
            Ok(())
        });
        let listener = Shared::new(Listener::bind_on(kernel.clone(), loopback(), 16).unwrap());
        let address = pool::inet(&listener);
        let pool = Pool::start(
            kernel,
            2,
            |builder| builder.shared_listener(listener.clone()),
            |_| Act::Echo,
        );
        pool.wait_until_idle();
        let observer = support::observe(move || {
            let epoll = Epoll::new().unwrap();
            let listener = epoll.level(listener, Interest::READABLE).unwrap();
            let mut events = Events::with_capacity(4);
            epoll.wait(&mut events, None).unwrap();
            let told = events.iter().filter(|event| event.token == listener.token()).count();
            (told, epoll, listener)
        });
        observer.wait_until_blocked();

        let mut client = TcpStream::connect(address).unwrap();
        let (told, epoll, listener) = observer.join();
        assert_eq!(told, 1, "the workers' wake did not take the observer's");
        gate.open();
        exchange(&mut client, 1);

        // What was consumed meanwhile is gone when it looks again.
        let mut events = Events::with_capacity(4);
        epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty());
        let gone = listener.get_ref().accept().unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::WouldBlock);

        end(client);
        assert_eq!(pool.drain().ledger().accepted, 1);
        // The observer's share keeps the listener open after the pool has let it go.
        TcpStream::connect(address).unwrap();
        drop(listener);
        TcpStream::connect(address).unwrap_err();
    });
}

#[test]
fn x09_the_report_shows_each_workers_share_of_the_wakes_and_the_accepts() {
    watchdog(|| x09_body(Linux));
}

fn x09_body<K: Sockets>(kernel: K) {
    let pool = Pool::start(
        kernel,
        3,
        |builder| builder,
        |number| match number % 5 {
            0 => Act::Drop,
            1 => Act::Refuse,
            2 => Act::Panic,
            _ => Act::Echo,
        },
    );
    for number in 0..50 {
        let client = pool.connect();
        match number % 5 {
            3 | 4 => end(client),
            _ => pool::wait_for_close(client),
        }
    }
    let report = pool.drain();
    let indices: Vec<usize> = report.workers.iter().map(|worker| worker.index).collect();
    assert_eq!(indices, [0, 1, 2]);
    for worker in &report.workers {
        let counts = worker.counts;
        let fates = counts.connections + counts.refused + counts.panics;
        assert_eq!(counts.accepts, fates, "each accepted connection has one fate: {worker:?}");
        assert_eq!(counts.accepts, worker.ledger.accepted);
        assert!(counts.empty_accepts <= counts.wakes);
        assert!(worker.outcome.is_ok());
    }
    let sum = |count: fn(&Counts) -> u64| -> u64 {
        report.workers.iter().map(|worker| count(&worker.counts)).sum()
    };
    assert_eq!(sum(|counts| counts.accepts), 50);
    assert_eq!(sum(|counts| counts.connections), 30);
    assert_eq!(sum(|counts| counts.refused), 10);
    assert_eq!(sum(|counts| counts.panics), 10);
}

#[test]
fn x10_a_connection_stays_with_the_worker_and_the_thread_that_accepted_it() {
    watchdog(|| x10_body(Linux));
}

/// The service asserts it in every run of every handler; here many threads talk at once.
fn x10_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel, 3);
    thread::scope(|scope| {
        for seed in 0..4 {
            let pool = &pool;
            scope.spawn(move || {
                for _ in 0..10 {
                    let mut client = pool.connect();
                    (0..5).for_each(|_| exchange(&mut client, seed));
                    end(client);
                }
            });
        }
    });
    let report = pool.drain();
    assert_eq!(report.ledger().processed, 40);
    let panics: u64 = report.workers.iter().map(|worker| worker.stats.panics).sum();
    assert_eq!(panics, 0, "no handler saw another owner");
}

#[test]
fn x10_several_listeners_of_both_families_are_served_by_every_worker() {
    watchdog(|| {
        let path = std::env::temp_dir().join(format!("watchbell-x10-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let unix = Listener::bind(Address::Unix(path.clone()), 16).unwrap();
        let pool = Pool::start(Linux, 2, |builder| builder.listener(unix), |_| Act::Echo);
        for _ in 0..10 {
            let mut client = UnixStream::connect(&path).unwrap();
            exchange(&mut client, 1);
            client.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
            end(pool.connect());
        }
        assert_eq!(pool.drain().ledger().processed, 20);
        assert!(UnixStream::connect(&path).is_err(), "every listener was closed");
        std::fs::remove_file(path).unwrap();
    });
}
