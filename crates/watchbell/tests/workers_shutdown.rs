//! The order of the end: backlog, listeners, connections, report.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/pool.rs"]
mod pool;
#[path = "support/rigged.rs"]
mod rigged;
mod support;

use pool::{Act, FOREVER, Gate, Pool, end, exchange, wait_for_close};
use rigged::Rigged;
use rustix::io::Errno;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::watchdog;
use watchbell::event_loop::Budget;
use watchbell::kernel::{Call, Counting, Linux, Sockets};
use watchbell::workers::Ledger;

fn ledger(accepted: u64, processed: u64, returned: u64) -> Ledger {
    Ledger { accepted, processed, returned, owned: 0 }
}

/// Connections that are accepted and served, and have nothing to do.
fn idle_clients<K: Sockets>(pool: &Pool<K>, count: usize) -> Vec<TcpStream> {
    let mut clients: Vec<TcpStream> = (0..count).map(|_| pool.connect()).collect();
    clients.iter_mut().for_each(|client| exchange(client, 1));
    clients
}

#[test]
fn d10_the_backlog_is_accepted_before_the_listener_closes() {
    watchdog(|| {
        for workers in 1..=3 {
            d10_backlog_body(Linux, workers, Budget::default());
            d10_backlog_body(Linux, workers, Budget::default().operations(1));
        }
    });
}

/// Nobody accepts before the drain was ordered.
fn d10_backlog_body<K: Sockets>(kernel: K, workers: usize, budget: Budget) {
    const CLIENTS: u64 = 50;
    let gate = Arc::new(Gate::default());
    let keep = Arc::clone(&gate);
    let kernel = Rigged::new(kernel, move |call| {
        if call == Call::Accept {
            keep.pass();
        }
        Ok(())
    });
    let pool = Pool::start(kernel, workers, |builder| builder.budget(budget), |_| Act::Echo);
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| pool.connect()).collect();
    pool.control().drain(FOREVER);
    gate.open();
    for mut client in clients {
        exchange(&mut client, 1);
        end(client);
    }
    let address = pool.address;
    assert_eq!(pool.workers.join().ledger(), ledger(CLIENTS, CLIENTS, 0));
    TcpStream::connect(address).unwrap_err();
}

#[test]
fn d10_nobody_connects_to_a_draining_pool_while_its_connections_go_on() {
    watchdog(|| d10_connections_body(Linux));
}

fn d10_connections_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel, 2);
    let mut clients = idle_clients(&pool, 4);
    pool.control().drain(FOREVER);
    pool.wait_until_idle();
    TcpStream::connect(pool.address).unwrap_err();
    clients.iter_mut().for_each(|client| exchange(client, 2));
    clients.into_iter().for_each(end);
    assert_eq!(pool.workers.join().ledger(), ledger(4, 4, 0));
}

#[test]
fn d10_a_drain_with_no_connection_ends_at_once() {
    watchdog(|| d10_nothing_body(Linux));
}

fn d10_nothing_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel.clone(), 3);
    assert_eq!(pool.drain().ledger(), Ledger::default());
    let pool = Pool::echoing(kernel, 3);
    end(pool.connect());
    assert_eq!(pool.drain().ledger(), ledger(1, 1, 0));
}

#[test]
fn d10_a_draining_worker_sleeps_until_its_last_connection_has_ended() {
    watchdog(|| d10_sleep_body(Counting::new(Linux)));
}

fn d10_sleep_body<K: Sockets>(kernel: Counting<K>) {
    let pool = Pool::echoing(kernel.clone(), 1);
    let mut clients = idle_clients(&pool, 2);
    pool.control().drain(FOREVER);
    pool.wait_until_idle();
    let waits = kernel.calls(Call::EpollWait);
    pool.wait_until_idle();
    assert_eq!(kernel.calls(Call::EpollWait), waits, "it does not look again and again");

    end(clients.remove(0));
    pool.wait_until_idle();
    assert!(kernel.calls(Call::EpollWait) > waits);
    exchange(&mut clients[0], 3);
    end(clients.remove(0));
    assert_eq!(pool.workers.join().ledger(), ledger(2, 2, 0));
}

#[test]
fn d10_connections_left_at_the_deadline_are_closed_and_never_before() {
    watchdog(|| d10_deadline_body(Linux));
}

fn d10_deadline_body<K: Sockets>(kernel: K) {
    for longest in [0, 1, 30, 80].map(Duration::from_millis) {
        let pool = Pool::echoing(kernel.clone(), 2);
        let clients = idle_clients(&pool, 3);
        let ordered = Instant::now();
        pool.control().drain(longest);
        let report = pool.workers.join();
        assert!(ordered.elapsed() >= longest, "{:?} of {longest:?}", ordered.elapsed());
        assert_eq!(report.ledger(), ledger(3, 0, 3));
        clients.iter().for_each(wait_for_close);
    }
}

#[test]
fn d10_a_second_drain_moves_the_deadline() {
    watchdog(|| d10_second_body(Linux));
}

fn d10_second_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel, 2);
    let clients = idle_clients(&pool, 3);
    pool.control().drain(FOREVER);
    pool.wait_until_idle();
    pool.control().drain(Duration::ZERO);
    assert_eq!(pool.workers.join().ledger(), ledger(3, 0, 3));
    clients.iter().for_each(wait_for_close);
}

#[test]
fn d10_close_ends_everything_at_once_also_in_the_middle_of_a_drain() {
    watchdog(|| d10_close_body(Linux));
}

fn d10_close_body<K: Sockets>(kernel: K) {
    for drained_before in [false, true] {
        let pool = Pool::echoing(kernel.clone(), 2);
        let clients = idle_clients(&pool, 5);
        if drained_before {
            pool.control().drain(FOREVER);
            pool.wait_until_idle();
        }
        pool.control().close();
        // An end that was ordered is not taken back.
        pool.control().drain(FOREVER);
        assert_eq!(pool.workers.join().ledger(), ledger(5, 0, 5));
        clients.iter().for_each(wait_for_close);
    }
}

#[test]
fn d10_dropping_the_pool_closes_everything_and_waits_for_the_workers() {
    watchdog(|| d10_drop_body(Linux));
}

fn d10_drop_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel, 2);
    let clients = idle_clients(&pool, 3);
    let control = pool.control();
    let rules = Arc::downgrade(&pool.rules);
    let address = pool.address;
    drop(pool);
    assert_eq!(rules.strong_count(), 0, "the services have been dropped");
    assert_eq!(control.ledger(), ledger(3, 0, 3));
    clients.iter().for_each(wait_for_close);
    TcpStream::connect(address).unwrap_err();
}

#[test]
fn d10_a_drain_without_descriptors_ends_at_its_deadline() {
    watchdog(|| d10_descriptors_body(Linux));
}

/// Accepting fails for good, with a backlog that can never be accepted.
fn d10_descriptors_body<K: Sockets>(kernel: K) {
    let kernel = Rigged::new(kernel, |call| match call {
        Call::Accept => Err(Errno::MFILE.into()),
        _ => Ok(()),
    });
    let pause = Duration::from_millis(1);
    let pool = Pool::start(kernel, 2, |builder| builder.accept_pause(pause), |_| Act::Echo);
    let clients = [(); 3].map(|()| pool.connect());
    let longest = Duration::from_millis(30);
    let ordered = Instant::now();
    pool.control().drain(longest);
    let report = pool.workers.join();
    assert!(ordered.elapsed() >= longest);
    assert_eq!(report.ledger(), Ledger::default());
    clients.iter().for_each(wait_for_close);
}

#[test]
fn d10_a_listener_that_fails_during_a_drain_does_not_hold_it_up() {
    watchdog(|| d10_listener_body(Linux));
}

fn d10_listener_body<K: Sockets>(kernel: K) {
    let fails = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&fails);
    let kernel = Rigged::new(kernel, move |call| match call {
        Call::Accept if failing.load(Ordering::SeqCst) => Err(Errno::INVAL.into()),
        _ => Ok(()),
    });
    let pool = Pool::echoing(kernel, 2);
    let clients = idle_clients(&pool, 2);
    pool.wait_until_idle();
    fails.store(true, Ordering::SeqCst);
    pool.control().drain(FOREVER);
    clients.into_iter().for_each(end);
    assert_eq!(pool.workers.join().ledger(), ledger(2, 2, 0));
}

#[test]
fn d10_closing_what_is_left_wakes_nobody_for_each_connection() {
    watchdog(|| d10_cost_body(Counting::new(Linux)));
}

/// Thousands of idle connections at the deadline: none of them rings the bell any more.
fn d10_cost_body<K: Sockets>(kernel: Counting<K>) {
    const CLIENTS: u64 = 1000;
    let pool = Pool::echoing(kernel.clone(), 2);
    let clients = idle_clients(&pool, CLIENTS as usize);
    let control = pool.control();
    control.drain(FOREVER);
    pool.wait_until_idle();
    kernel.reset();
    control.drain(Duration::ZERO);
    assert_eq!(pool.workers.join().ledger(), ledger(CLIENTS, 0, CLIENTS));
    assert_eq!(kernel.calls(Call::EpollDelete), CLIENTS + 4, "and two bells, and two stops");
    let rings = kernel.calls(Call::Write) + kernel.calls(Call::Read);
    let waits = kernel.calls(Call::EpollWait);
    assert!(rings < 20 && waits < 20, "{rings} rings, {waits} waits");
    drop(clients);
}

#[test]
fn d10_orders_race_with_clients_and_with_each_other() {
    watchdog(|| {
        for round in 0..1000 {
            d10_race_body(Linux, round);
        }
    });
}

/// A drain, a close and ledgers from three threads, against clients that come and go.
fn d10_race_body<K: Sockets>(kernel: K, round: u64) {
    let pool = Pool::echoing(kernel, 1 + round as usize % 3);
    let (control, address) = (pool.control(), pool.address);
    let report = thread::scope(|scope| {
        scope.spawn(move || {
            // Whatever becomes of them: refused, reset, served or closed.
            for _ in 0..4 {
                if let Ok(mut client) = TcpStream::connect(address) {
                    let _ = client.write_all(b"x");
                    if round.is_multiple_of(2) {
                        wait_for_close_or_bytes(&client);
                    }
                }
            }
        });
        for order in 0..4 {
            let control = control.clone();
            scope.spawn(move || match (order + round) % 4 {
                0 => control.drain(Duration::from_millis(round % 3)),
                1 if round.is_multiple_of(5) => control.close(),
                2 => control.drain(Duration::from_millis(1)),
                _ => assert!(control.ledger().balances()),
            });
        }
        pool.workers.join()
    });
    let ledger = report.ledger();
    assert!(ledger.balances(), "{report:?}");
    assert_eq!(ledger.owned, 0);
    assert!(report.workers.iter().all(|worker| worker.outcome.is_ok()));
    assert_eq!(control.ledger(), ledger);
}

fn wait_for_close_or_bytes(mut client: &TcpStream) {
    let _ = std::io::Read::read(&mut client, &mut [0]);
}
