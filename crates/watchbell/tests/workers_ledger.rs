//! Where every connection is, at every moment: `accepted == processed + returned + owned`.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/pool.rs"]
mod pool;
mod support;

use pool::{Act, FAIL, FOREVER, PANIC, Pool, end, exchange, wait_for_close};
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use support::watchdog;
use watchbell::kernel::{Linux, Sockets};
use watchbell::workers::Ledger;

fn ledger(accepted: u64, processed: u64, returned: u64, owned: u64) -> Ledger {
    Ledger { accepted, processed, returned, owned }
}

#[test]
fn d11_owned_is_what_the_workers_hold() {
    watchdog(|| d11_owned_body(Linux));
}

fn d11_owned_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel, 3);
    let control = pool.control();
    assert_eq!(control.ledger(), Ledger::default());
    let mut clients = Vec::new();
    for number in 1..=10 {
        let mut client = pool.connect();
        exchange(&mut client, 1);
        clients.push(client);
        assert_eq!(control.ledger(), ledger(number, 0, 0, number));
    }
    for number in 1..=4 {
        end(clients.remove(0));
        assert_eq!(control.ledger(), ledger(10, number, 0, 10 - number));
    }
    assert_eq!(pool.close().ledger(), ledger(10, 4, 6, 0));
    assert_eq!(control.ledger(), ledger(10, 4, 6, 0), "an ended pool still answers");
}

#[test]
fn d11_each_snapshot_under_load_balances() {
    watchdog(|| d11_load_body(Linux));
}

/// Clients of every fate, and two threads that ask meanwhile.
fn d11_load_body<K: Sockets>(kernel: K) {
    const CLIENTS: u64 = 150;
    let act = |number| match number % 7 {
        0 => Act::Drop,
        1 => Act::Refuse,
        2 => Act::Panic,
        _ => Act::Echo,
    };
    let pool = Pool::start(kernel, 3, |builder| builder, act);
    let (control, address) = (pool.control(), pool.address);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients = [0, 1].map(|_| {
            scope.spawn(move || {
                for number in 0..CLIENTS {
                    let mut client = TcpStream::connect(address).unwrap();
                    let byte = [b'x', PANIC, FAIL][number as usize % 3];
                    // Refused by the service, it may be reset by now.
                    let _ = client.write_all(&[byte]);
                    if number % 2 == 0 {
                        let _ = client.shutdown(std::net::Shutdown::Write);
                        wait_for_close(client);
                    }
                }
            })
        });
        for _ in 0..2 {
            let (control, is_over) = (control.clone(), &is_over);
            scope.spawn(move || {
                let mut last = Ledger::default();
                while !is_over.load(Ordering::SeqCst) {
                    let now = control.ledger();
                    assert!(now.balances(), "{now}");
                    assert!(now.accepted >= last.accepted, "{last}, then {now}");
                    assert!(now.processed >= last.processed, "{last}, then {now}");
                    last = now;
                }
            });
        }
        clients.into_iter().for_each(|client| client.join().unwrap());
        is_over.store(true, Ordering::SeqCst);
    });
    let report = pool.drain();
    assert_eq!(report.ledger(), ledger(2 * CLIENTS, 2 * CLIENTS, 0, 0));
}

#[test]
fn d11_it_is_exact_during_the_shutdown_and_after_it() {
    watchdog(|| d11_shutdown_body(Linux));
}

fn d11_shutdown_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel, 2);
    let control = pool.control();
    let mut clients: Vec<TcpStream> = (0..8).map(|_| pool.connect()).collect();
    clients.iter_mut().for_each(|client| exchange(client, 1));
    control.drain(FOREVER);
    assert_eq!(control.ledger(), ledger(8, 0, 0, 8));
    clients.drain(..5).for_each(end);
    assert_eq!(control.ledger(), ledger(8, 5, 0, 3));
    control.close();
    assert!(control.ledger().balances(), "also while they close");
    let report = pool.workers.join();
    assert_eq!(report.ledger(), ledger(8, 5, 3, 0));
    assert_eq!(control.ledger(), report.ledger());
}

#[test]
fn d11_it_is_exact_after_a_handlers_panic_and_error() {
    watchdog(|| d11_failures_body(Linux));
}

fn d11_failures_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel, 1);
    let control = pool.control();
    let mut quiet = pool.connect();
    exchange(&mut quiet, 1);
    for (number, byte) in (1..).zip([PANIC, FAIL, PANIC]) {
        let mut client = pool.connect();
        client.write_all(&[byte]).unwrap();
        wait_for_close(client);
        assert_eq!(control.ledger(), ledger(1 + number, number, 0, 1));
    }
    assert_eq!(pool.close().ledger(), ledger(4, 3, 1, 0));
}

#[test]
fn d11_a_connection_lost_on_purpose_unbalances_it() {
    watchdog(|| d11_loss_body(Linux));
}

fn d11_loss_body<K: Sockets>(kernel: K) {
    let act = |number| if number == 1 { Act::Lose } else { Act::Echo };
    let pool = Pool::start(kernel, 1, |builder| builder, act);
    let control = pool.control();
    let mut clients = [(); 3].map(|()| pool.connect());
    exchange(&mut clients[0], 1);
    exchange(&mut clients[2], 1);
    let now = control.ledger();
    assert_eq!(now, ledger(3, 0, 0, 2));
    assert!(!now.balances());

    // Nobody knows that it will never end: the drain waits for it, until its deadline.
    control.drain(Duration::from_millis(20));
    let last = pool.workers.join().ledger();
    assert_eq!(last, ledger(3, 0, 2, 0));
    assert!(!last.balances());
}

#[test]
fn d11_a_connection_moved_out_of_the_loop_unbalances_it_until_it_is_dropped() {
    watchdog(|| d11_moved_body(Linux));
}

fn d11_moved_body<K: Sockets>(kernel: K) {
    let pool = Pool::start(kernel, 1, |builder| builder, |_| Act::Keep);
    let control = pool.control();
    let _client = pool.connect();
    pool.wait_until_idle();
    let now = control.ledger();
    assert_eq!(now, ledger(1, 0, 0, 0));
    assert!(!now.balances());

    // Dropped on another thread, it wakes the worker that waits for it.
    control.drain(FOREVER);
    pool.wait_until_idle();
    let kept = std::mem::take(&mut *pool.rules.kept.lock().unwrap());
    assert_eq!(kept.len(), 1);
    drop(kept);
    assert_eq!(pool.workers.join().ledger(), ledger(1, 1, 0, 0));
}

#[test]
fn d11_connections_of_a_worker_that_its_service_stops_are_returned() {
    watchdog(|| d11_stopped_body(Linux));
}

fn d11_stopped_body<K: Sockets>(kernel: K) {
    let act = |number| if number == 3 { Act::Stop } else { Act::Echo };
    let pool = Pool::start(kernel, 1, |builder| builder, act);
    let mut clients = [(); 3].map(|()| pool.connect());
    clients.iter_mut().for_each(|client| exchange(client, 1));
    wait_for_close(pool.connect());
    clients.iter().for_each(wait_for_close);
    let control = pool.control();
    let report = pool.workers.join();
    assert_eq!(report.ledger(), ledger(4, 1, 3, 0), "they are closed by now");
    assert_eq!(control.ledger(), report.ledger());
}

#[test]
fn d08_adding_ledgers_is_checked() {
    let full = ledger(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
    assert_eq!(full.checked_add(Ledger::default()), Some(full));
    for one in [ledger(1, 0, 0, 0), ledger(0, 1, 0, 0), ledger(0, 0, 1, 0), ledger(0, 0, 0, 1)] {
        assert_eq!(full.checked_add(one), None);
        assert_eq!(one.checked_add(full), None);
        assert_eq!(one.checked_add(one).and_then(|two| two.checked_add(one)), {
            let Ledger { accepted, processed, returned, owned } = one;
            Some(ledger(3 * accepted, 3 * processed, 3 * returned, 3 * owned))
        });
    }
}

#[test]
fn d08_a_sum_that_would_wrap_to_the_right_number_does_not_balance() {
    assert!(ledger(6, 1, 2, 3).balances());
    assert!(ledger(u64::MAX, u64::MAX, 0, 0).balances());
    for wraps in [ledger(1, u64::MAX, 2, 0), ledger(1, u64::MAX, 0, 2), ledger(1, 0, u64::MAX, 2)] {
        assert!(!wraps.balances(), "{wraps}");
    }
    assert!(!ledger(5, 1, 2, 3).balances());
    assert!(!ledger(7, 1, 2, 3).balances());
}
