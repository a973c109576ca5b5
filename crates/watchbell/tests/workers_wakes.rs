//! One wake goes to one worker, however much it brings: what that worker leaves is kept, or told to
//! the others, and never waits for the next arrival (X11).
//!
//! "Kept" and "told" are seen from the client's side: each client connects before the fault and is
//! served after it, and nobody connects in between.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/pool.rs"]
mod pool;
#[path = "support/rigged.rs"]
mod rigged;
mod support;

use pool::{Act, FAIL, Gate, PANIC, Pool, end, exchange, loopback, wait_for_close};
use rigged::Rigged;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, Write};
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use support::watchdog;
use watchbell::event_loop::{Budget, Turn};
use watchbell::kernel::{Call, Kernel, Linux, Sockets};
use watchbell::net::{Address, Listener};
use watchbell::workers::{Connection, Report, Service, Worker, WorkerError, Workers};

/// A kernel whose next `call` after [`Trap::set`] ends as `fault` says.
struct Trap(Arc<AtomicBool>);

impl Trap {
    fn new<K: Sockets>(
        kernel: K,
        call: Call,
        fault: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> (Trap, Rigged<K>) {
        let is_set = Arc::new(AtomicBool::new(false));
        let trap = Trap(Arc::clone(&is_set));
        let springs = move |made| made == call && is_set.swap(false, Ordering::SeqCst);
        (trap, Rigged::new(kernel, move |made| if springs(made) { fault() } else { Ok(()) }))
    }

    fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn has_sprung(&self) -> bool {
        !self.0.load(Ordering::SeqCst)
    }
}

/// A client whose wake springs the trap is served all the same, by the worker or by another one.
fn serves_what_springs<K: Sockets>(trap: &Trap, pool: &Pool<K>) {
    pool.wait_until_idle();
    trap.set();
    let mut client = pool.connect();
    exchange(&mut client, 1);
    assert!(trap.has_sprung());
    end(client);
    (0..10).for_each(|_| end(pool.connect()));
}

fn failures(report: &Report) -> Vec<&WorkerError> {
    report.workers.iter().filter_map(|worker| worker.outcome.as_ref().err()).collect()
}

#[test]
fn x11_what_a_spent_budget_leaves_is_accepted_by_the_same_worker() {
    watchdog(|| x11_budget_body(Linux));
}

fn x11_budget_body<K: Sockets>(kernel: K) {
    const CLIENTS: u64 = 30;
    let gate = Arc::new(Gate::default());
    let keep = Arc::clone(&gate);
    let act = move |number| {
        if number == 0 {
            keep.pass();
        }
        Act::Echo
    };
    let small = Budget::default().operations(2);
    let pool = Pool::start(kernel, 1, |builder| builder.budget(small), act);
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| pool.connect()).collect();
    gate.open();
    clients.into_iter().for_each(end);
    let report = pool.drain();
    assert_eq!(report.ledger().processed, CLIENTS);
    assert!(report.workers[0].stats.spent >= CLIENTS / 2, "{report:?}");
}

#[test]
fn x11_a_worker_out_of_descriptors_keeps_the_connection_and_tries_again() {
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
        watchdog(move || x11_descriptors_body(Linux, errno));
    }
}

fn x11_descriptors_body<K: Sockets>(kernel: K, errno: Errno) {
    let (trap, kernel) = Trap::new(kernel, Call::Accept, move || Err(errno.into()));
    let pause = Duration::from_millis(1);
    let pool = Pool::start(kernel, 1, |builder| builder.accept_pause(pause), |_| Act::Echo);
    serves_what_springs(&trap, &pool);
    let report = pool.drain();
    assert_eq!(report.workers[0].stats.accept_pauses, 1);
    assert_eq!(report.ledger().processed, 11);
}

#[test]
fn x11_an_error_of_one_connection_leaves_the_rest_to_the_same_run() {
    watchdog(|| x11_aborted_body(Linux));
}

fn x11_aborted_body<K: Sockets>(kernel: K) {
    let (trap, kernel) = Trap::new(kernel, Call::Accept, || Err(Errno::CONNABORTED.into()));
    let pool = Pool::echoing(kernel, 1);
    serves_what_springs(&trap, &pool);
    assert_eq!(pool.drain().workers[0].stats.skipped_accepts, 1);
}

#[test]
fn x11_a_listener_that_fails_in_one_worker_leaves_the_connection_to_the_others() {
    watchdog(|| x11_listener_body(Linux));
}

fn x11_listener_body<K: Sockets>(kernel: K) {
    let (trap, kernel) = Trap::new(kernel, Call::Accept, || Err(Errno::INVAL.into()));
    let pool = Pool::echoing(kernel, 2);
    serves_what_springs(&trap, &pool);
    let report = pool.drain();
    assert!(failures(&report).is_empty(), "the worker itself goes on: {report:?}");
    let mut accepts: Vec<u64> = report.workers.iter().map(|it| it.counts.accepts).collect();
    accepts.sort_unstable();
    assert_eq!(accepts, [0, 11], "one does not accept any more, the other one all");
    let errors: u64 = report.workers.iter().map(|it| it.stats.errors).sum();
    assert_eq!(errors, 1);
}

#[test]
fn x11_a_worker_whose_wait_fails_leaves_what_it_was_woken_for_to_the_others() {
    watchdog(|| x11_wait_body(Linux));
}

fn x11_wait_body<K: Sockets>(kernel: K) {
    let (trap, kernel) = Trap::new(kernel, Call::EpollWait, || Err(Errno::BADF.into()));
    let pool = Pool::echoing(kernel, 3);
    serves_what_springs(&trap, &pool);
    let report = pool.drain();
    assert!(matches!(failures(&report)[..], [WorkerError::Loop(_)]), "{report:?}");
    assert_eq!(report.ledger().processed, 11);
    assert!(report.ledger().balances());
}

#[test]
fn x11_a_worker_that_panics_leaves_what_it_was_woken_for_to_the_others() {
    watchdog(|| x11_panic_body(Linux));
}

/// The wait panics: that is outside of every handler.
fn x11_panic_body<K: Sockets>(kernel: K) {
    let (trap, kernel) = Trap::new(kernel, Call::EpollWait, || panic!("as it is told to"));
    let pool = Pool::echoing(kernel, 3);
    serves_what_springs(&trap, &pool);
    let report = pool.drain();
    assert!(matches!(failures(&report)[..], [WorkerError::Panicked]), "{report:?}");
    assert_eq!(report.ledger().processed, 11);
    assert!(report.ledger().balances());
}

#[test]
fn x11_the_connections_of_a_worker_that_panics_are_returned_and_its_counts_are_kept() {
    watchdog(|| x11_returned_body(Linux));
}

fn x11_returned_body<K: Sockets>(kernel: K) {
    let (trap, kernel) = Trap::new(kernel, Call::EpollWait, || panic!("as it is told to"));
    let pool = Pool::echoing(kernel, 1);
    let mut clients = [(); 5].map(|()| pool.connect());
    clients.iter_mut().for_each(|client| exchange(client, 1));
    pool.wait_until_idle();
    trap.set();
    clients[0].write_all(b"wake").unwrap();
    clients.iter().for_each(wait_for_close);
    let report = pool.drain();
    assert!(matches!(failures(&report)[..], [WorkerError::Panicked]), "{report:?}");
    let ledger = report.ledger();
    assert_eq!((ledger.accepted, ledger.returned, ledger.owned), (5, 5, 0));
    assert_eq!(report.workers[0].counts.accepts, 5);
}

#[test]
fn x11_a_worker_that_its_service_stops_leaves_the_backlog_to_the_others() {
    watchdog(|| x11_stop_body(Linux));
}

/// With a budget of one accept a turn, the worker that stops at its first connection leaves the
/// rest behind.
fn x11_stop_body<K: Sockets>(kernel: K) {
    const CLIENTS: usize = 20;
    let gate = Arc::new(Gate::default());
    let keep = Arc::clone(&gate);
    let kernel = Rigged::new(kernel, move |call| {
        if call == Call::Accept {
            keep.pass();
        }
        Ok(())
    });
    let small = Budget::default().operations(1);
    let act = |number| if number == 0 { Act::Stop } else { Act::Echo };
    let pool = Pool::start(kernel, 2, |builder| builder.budget(small), act);
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| pool.connect()).collect();
    gate.open();
    wait_for_close(clients.remove(0));
    clients.into_iter().for_each(end);
    let report = pool.drain();
    assert!(failures(&report).is_empty());
    assert_eq!(report.ledger().processed, CLIENTS as u64);
}

#[test]
fn x11_a_service_that_panics_or_errs_loses_that_connection_only() {
    watchdog(|| x11_service_body(Linux));
}

fn x11_service_body<K: Sockets>(kernel: K) {
    let act = |number| [Act::Panic, Act::Refuse, Act::Drop, Act::Echo][number as usize % 4];
    let pool = Pool::start(kernel, 1, |builder| builder, act);
    for _ in 0..5 {
        (0..3).for_each(|_| wait_for_close(pool.connect()));
        end(pool.connect());
    }
    let report = pool.drain();
    let counts = report.workers[0].counts;
    assert_eq!((counts.connections, counts.refused, counts.panics), (10, 5, 5));
    assert_eq!(report.ledger().processed, 20, "each was closed, and counted");
    assert_eq!(report.workers[0].stats.errors + report.workers[0].stats.panics, 0);
}

#[test]
fn x11_a_handler_that_panics_or_errs_loses_that_connection_only() {
    watchdog(|| x11_handler_body(Linux));
}

fn x11_handler_body<K: Sockets>(kernel: K) {
    let pool = Pool::echoing(kernel, 2);
    let mut quiet = pool.connect();
    exchange(&mut quiet, 1);
    for byte in [PANIC, FAIL, PANIC, FAIL] {
        let mut client = pool.connect();
        client.write_all(&[byte]).unwrap();
        wait_for_close(client);
    }
    exchange(&mut quiet, 2);
    end(quiet);
    let report = pool.drain();
    assert_eq!(report.ledger().processed, 5);
    let panics: u64 = report.workers.iter().map(|it| it.stats.panics).sum();
    let errors: u64 = report.workers.iter().map(|it| it.stats.errors).sum();
    assert_eq!((panics, errors), (2, 2));
}

#[test]
fn x11_a_service_cannot_close_the_listener_for_its_connection() {
    watchdog(|| x11_close_body(Linux));
}

/// `turn.close()` in [`Service::accepted`] is easily meant for the connection; the worker goes on
/// accepting, and can be drained.
fn x11_close_body<K: Sockets>(kernel: K) {
    let pool = Pool::start(kernel, 1, |builder| builder, |_| Act::Close);
    (0..3).for_each(|_| end(pool.connect()));
    assert_eq!(pool.drain().ledger().processed, 3);
}

/// A service that panics where none of the pool's care can be taken: in its making, or its end.
struct Fragile {
    is_broken: bool,
}

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.is_broken, "the service panics at its end, as it is told to");
    }
}

impl<K: Sockets> Service<K> for Fragile {
    fn accepted(
        connection: Connection<K>,
        _: Address,
        turn: &mut Turn<'_, Worker<Fragile, K>, K>,
    ) -> io::Result<()> {
        drop(connection);
        if turn.state().is_broken {
            turn.stop();
        }
        Ok(())
    }
}

fn two_workers<K: Sockets>(
    kernel: K,
    make: impl Fn(usize) -> Fragile + Send + Sync + 'static,
) -> (TcpStream, io::Result<Workers<K>>) {
    let listener = Listener::bind_on(kernel.clone(), loopback(), 16).unwrap();
    // Connected before anybody accepts.
    let client = TcpStream::connect(pool::inet(&listener)).unwrap();
    let builder = Workers::builder_on(kernel).workers(NonZeroUsize::new(2).unwrap());
    (client, builder.listener(listener).start(make))
}

#[test]
fn x11_a_worker_that_panics_before_it_has_started_fails_the_start() {
    watchdog(|| x11_make_body(Linux));
}

fn x11_make_body<K: Kernel + Sockets>(kernel: K) {
    for broken in 0..2 {
        let (client, started) = two_workers(kernel.clone(), move |index| {
            assert_ne!(index, broken, "the service cannot be made, as it is told to");
            Fragile { is_broken: false }
        });
        let error = started.map(drop).unwrap_err();
        assert_eq!(error.to_string(), "a worker ended before it had started");
        wait_for_close(client);
    }
}

#[test]
fn x11_a_worker_that_cannot_make_its_loop_fails_the_start_and_ends_the_others() {
    watchdog(|| x11_loop_body(Linux));
}

fn x11_loop_body<K: Sockets>(kernel: K) {
    let made = AtomicU64::new(0);
    let kernel = Rigged::new(kernel, move |call| {
        let is_second = call == Call::EpollCreate && made.fetch_add(1, Ordering::SeqCst) == 1;
        if is_second { Err(Errno::MFILE.into()) } else { Ok(()) }
    });
    let (client, started) = two_workers(kernel, |_| Fragile { is_broken: false });
    let error = started.map(drop).unwrap_err();
    assert_eq!(Errno::from_io_error(&error), Some(Errno::MFILE));
    wait_for_close(client);
}

#[test]
fn x11_a_thread_that_cannot_be_started_fails_the_start_and_ends_the_others() {
    const NAME: &str = "x11_a_thread_that_cannot_be_started_fails_the_start_and_ends_the_others";
    const IN_CHILD: &str = "WATCHBELL_TEST_WITHOUT_MEMORY";
    if std::env::var_os(IN_CHILD).is_some() {
        return start_more_workers_than_there_is_memory_for();
    }
    // In a process of its own: the limit holds for all of its threads.
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program);
    child.args(["--exact", NAME, "--test-threads", "1"]).env(IN_CHILD, "1");
    child.env("RUST_MIN_STACK", STACK.to_string()).env("MALLOC_ARENA_MAX", "1");
    let output = watchdog(move || child.output().unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The size of a thread's stack, in bytes.
const STACK: u64 = 64 << 20;

/// Room for three stacks and not for a fourth. Half of one is left for everything else, which would
/// end the process where it found no memory.
fn start_more_workers_than_there_is_memory_for() {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let used: u64 = pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096;
    let limit = Rlimit { current: Some(used + 3 * STACK + STACK / 2), maximum: None };
    setrlimit(Resource::As, limit).unwrap();
    let listener = Listener::bind(loopback(), 16).unwrap();
    let client = TcpStream::connect(pool::inet(&listener)).unwrap();
    let many = NonZeroUsize::new(1024).unwrap();
    let started =
        Workers::builder().workers(many).listener(listener).start(|_| Fragile { is_broken: false });
    let error = started.map(drop).unwrap_err();
    assert_eq!(Errno::from_io_error(&error), Some(Errno::AGAIN), "of pthread_create(3)");
    wait_for_close(client);
}

#[test]
fn x11_a_service_that_panics_at_its_end_is_reported_and_hangs_nobody() {
    watchdog(|| x11_end_body(Linux));
}

fn x11_end_body<K: Sockets>(kernel: K) {
    let (client, workers) = two_workers(kernel, |index| Fragile { is_broken: index == 0 });
    let workers = workers.unwrap();
    wait_for_close(client);
    let control = workers.control();
    control.close();
    let report = workers.join();
    assert!(matches!(failures(&report)[..], [WorkerError::Panicked]), "{report:?}");
    assert!(report.workers[1].outcome.is_ok());
    assert_eq!(report.ledger().processed, 1);
    assert_eq!(control.ledger(), report.ledger(), "who asks an ended pool is answered");
}
