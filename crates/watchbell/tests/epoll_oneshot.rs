//! One-shot registrations: one event, one owner, one decision.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/door.rs"]
mod door;
#[path = "support/hooked.rs"]
mod hooked;
mod support;

use door::{Bell, Door, refusal};
use hooked::Hooked;
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{observe, watchdog};
use watchbell::epoll::{Epoll, Event, Events, Interest, Lease, Leases, Source};
use watchbell::kernel::{Call, Counting, EventFlags, Kernel, Linux};
use watchbell::{Error, Rejected};

const READABLE: Interest = Interest::READABLE;
const IN: EventFlags = EventFlags::IN;
const OUT: EventFlags = EventFlags::OUT;
const ET: EventFlags = EventFlags::ET;
const ONESHOT: EventFlags = EventFlags::ONESHOT;

/// The lease of an event that is there now.
fn next<S: Source<Fd = K::Fd>, K: Kernel>(leases: &Leases<S, K>) -> Option<Lease<S, K>> {
    leases.wait(Some(Duration::ZERO)).unwrap()
}

mod bodies {
    use super::*;

    pub fn e11_an_event_hands_the_source_out_and_is_silent_until_rearmed<K: Kernel>(kernel: K) {
        let leases = Leases::on(kernel.clone()).unwrap();
        let bell = Bell::new(&kernel, 0);
        let token = leases.add(bell.clone(), READABLE).unwrap();
        assert!(next(&leases).is_none());
        assert_eq!((leases.out(), leases.len()), (0, 1));

        bell.write(1);
        let lease = next(&leases).unwrap();
        assert_eq!(lease.token(), token);
        assert!(lease.readiness().is_readable());
        assert_eq!((leases.out(), leases.len()), (1, 1));
        bell.write(1);
        assert!(next(&leases).is_none(), "silent, whatever arrives");

        assert_eq!(lease.get_ref().read(), 2);
        lease.rearm().unwrap();
        assert_eq!((leases.out(), leases.len()), (0, 1));
        assert!(next(&leases).is_none(), "nothing is left");
        bell.write(1);
        let lease = next(&leases).unwrap();
        assert_eq!(lease.token(), token, "re-arming keeps the name");
        drop(lease.close());
        assert_eq!((leases.out(), leases.len(), leases.undecided()), (0, 0, 0));
    }

    pub fn e11_a_refused_rearm_gives_the_lease_back<K: Kernel>(kernel: K) {
        let leases = Leases::on(kernel.clone()).unwrap();
        leases.add(Bell::new(&kernel, 1), READABLE).unwrap();
        let mut lease = next(&leases).unwrap();
        let registered = std::mem::replace(lease.get_mut(), Bell::new(&kernel, 1));
        let Err(Rejected { source: mut lease, error }) = lease.rearm() else {
            panic!("that descriptor is in no interest list")
        };
        assert_eq!(refusal::<()>(Err(error.into())), Errno::NOENT);
        assert_eq!((leases.out(), leases.len()), (1, 1));
        *lease.get_mut() = registered;
        lease.rearm().unwrap();
        assert!(next(&leases).is_some_and(|lease| lease.close().read() == 1));
        assert_eq!((leases.out(), leases.ghosts()), (0, 0));
    }

    pub fn e11_a_lease_dropped_undecided_is_recorded_and_closes_its_source<K: Kernel>(kernel: K) {
        let leases = Leases::on(kernel.clone()).unwrap();
        let reported = Arc::new(Mutex::new(Vec::<Event>::new()));
        let report = Arc::clone(&reported);
        leases.on_undecided(move |event| report.lock().unwrap().push(event));

        let bell = Bell::new(&kernel, 1);
        let duplicate = bell.duplicate();
        let token = leases.add(bell, READABLE).unwrap();
        drop(next(&leases).unwrap());
        assert_eq!((leases.undecided(), leases.out(), leases.len()), (1, 0, 0));
        assert_eq!(
            reported.lock().unwrap()[..].iter().map(|e| e.token).collect::<Vec<_>>(),
            [token]
        );

        // It left the list: were it only closed, the duplicate could keep a registration alive.
        assert_eq!(leases.ghosts(), 0);
        duplicate.write(1);
        assert!(next(&leases).is_none());
        assert_eq!(leases.stale(), 0);
    }

    pub fn e11_a_leaked_lease_shows_in_the_leases_out<K: Kernel>(kernel: K) {
        let leases = Leases::on(kernel.clone()).unwrap();
        leases.add(Bell::new(&kernel, 1), READABLE).unwrap();
        std::mem::forget(next(&leases).unwrap());
        assert_eq!((leases.out(), leases.undecided()), (1, 0));
    }

    pub fn e11_a_transferred_source_has_its_next_event_elsewhere<K: Kernel>(kernel: K) {
        let [here, there] = [(); 2].map(|()| Leases::on(kernel.clone()).unwrap());
        let bell = Bell::new(&kernel, 1);
        here.add(bell.clone(), READABLE).unwrap();
        let token = next(&here).unwrap().transfer(&there).unwrap();
        assert_eq!((here.out(), here.len(), there.len()), (0, 0, 1));
        assert!(next(&here).is_none());
        let lease = next(&there).unwrap();
        assert_eq!(lease.token(), token);

        // Back home is a re-arm, and keeps the name.
        assert_eq!(lease.transfer(&there).unwrap(), token);
        drop(next(&there).unwrap().close());
        assert_eq!((here.ghosts(), there.ghosts()), (0, 0));
    }

    pub fn e11_a_refused_transfer_changes_nothing<K: Kernel>(kernel: K) {
        let [here, there] = [(); 2].map(|()| Leases::on(kernel.clone()).unwrap());
        let bell = Bell::new(&kernel, 1);
        there.add(bell.clone(), Interest::NONE).unwrap();
        here.add(bell, READABLE).unwrap();
        let refused = next(&here).unwrap().transfer(&there);
        let Err(Rejected { source: lease, error }) = refused else { panic!("it is there already") };
        assert_eq!(refusal::<()>(Err(error.into())), Errno::EXIST);
        assert_eq!((here.out(), here.len(), there.len()), (1, 1, 1));
        lease.rearm().unwrap();
        drop(next(&here).unwrap().close());
    }

    pub fn e11_a_dropped_set_refuses_to_rearm_and_closes_what_rests<K: Kernel>(kernel: K) {
        let leases = Leases::on(kernel.clone()).unwrap();
        let (out, resting) = (Bell::new(&kernel, 1), Bell::new(&kernel, 0));
        leases.add(out.clone(), READABLE).unwrap();
        leases.add(resting.clone(), READABLE).unwrap();
        let lease = next(&leases).unwrap();
        drop(leases);
        let Err(Rejected { source: lease, error }) = lease.rearm() else { panic!("nobody waits") };
        assert!(matches!(error, Error::Closed));

        let elsewhere = Leases::on(kernel).unwrap();
        lease.transfer(&elsewhere).unwrap();
        drop(next(&elsewhere).unwrap().close());
        resting.write(1);
        assert_eq!(resting.read(), 1, "this clone is the only one left");
    }

    pub fn e12_what_arrived_before_the_rearm_is_told<K: Kernel>(kernel: K) {
        let leases = Leases::on(kernel.clone()).unwrap();
        let bell = Bell::new(&kernel, 1);
        leases.add(bell.clone(), READABLE).unwrap();
        let lease = next(&leases).unwrap();
        assert_eq!(lease.get_ref().read(), 1);
        bell.write(1); // after the last read, before the re-arm
        lease.rearm().unwrap();
        let lease = next(&leases).unwrap();
        lease.rearm().unwrap(); // and what was left unread
        assert!(next(&leases).is_some_and(|lease| lease.close().read() == 1));
    }

    pub fn e13_a_source_taken_out_leaves_the_list<K: Kernel>(kernel: K) {
        let leases = Leases::on(kernel.clone()).unwrap();
        let bell = Bell::new(&kernel, 0);
        let duplicate = bell.duplicate();
        let token = leases.add(bell, READABLE).unwrap();
        drop(leases.take(token).unwrap().unwrap());
        assert!(leases.take(token).unwrap().is_none());
        duplicate.write(1);
        assert!(next(&leases).is_none());
        assert_eq!((leases.stale(), leases.ghosts()), (0, 0));
    }

    pub fn e13_a_ghost_of_a_lease_is_counted_and_silent<K: Kernel>(kernel: K) {
        let leases = Leases::on(kernel.clone()).unwrap();
        let bell = Bell::new(&kernel, 1);
        let duplicate = bell.duplicate();
        leases.add(bell, READABLE).unwrap();
        let mut lease = next(&leases).unwrap();
        *lease.get_mut() = Bell::new(&kernel, 1);
        drop(lease.close());
        assert_eq!(leases.ghosts(), 1);
        duplicate.write(1);
        assert!(next(&leases).is_none(), "its registration had fired, and nobody can re-arm it");
    }

    pub fn case_s151_rearming_looks_again<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 1));
        door.add(bell.fd(), IN | ET | ONESHOT, 1).unwrap();
        assert_eq!(door.ready(), "[1:IN]");
        bell.write(1);
        assert_eq!(door.ready(), "[]");
        door.modify(bell.fd(), IN | ET | ONESHOT, 2).unwrap();
        assert_eq!(door.ready(), "[2:IN]");
        bell.read();
        door.modify(bell.fd(), IN | ET | ONESHOT, 3).unwrap();
        assert_eq!(door.ready(), "[]");
        bell.write(1);
        assert_eq!([door.ready(), door.ready()], ["[3:IN]", "[]"]);
    }

    pub fn case_s153_an_event_that_is_not_told_does_not_disarm<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), IN | ONESHOT, 1).unwrap();
        bell.write(1);
        bell.read();
        assert_eq!(door.ready(), "[]");
        bell.write(1);
        assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
    }

    pub fn case_s154_edges_while_disarmed_are_not_told<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), OUT | ET | ONESHOT, 1).unwrap();
        assert_eq!(door.ready(), "[1:OUT]");
        bell.write(u64::MAX - 1);
        bell.read();
        assert_eq!(door.ready(), "[]");
    }

    pub fn case_s155_oneshot_can_be_set_and_unset_by_modify<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), IN, 1).unwrap();
        door.modify(bell.fd(), OUT | ONESHOT, 2).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[2:OUT]", "[]"]);
        door.modify(bell.fd(), OUT, 3).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[3:OUT]", "[3:OUT]"]);
    }

    pub fn case_y009_each_instance_disarms_for_itself<K: Kernel>(kernel: K) {
        let [a, b] = [(); 2].map(|()| Leases::on(kernel.clone()).unwrap());
        let bell = Bell::new(&kernel, 0);
        a.add(bell.clone(), READABLE).unwrap();
        b.add(bell.clone(), READABLE).unwrap();
        bell.write(1);
        let (from_a, from_b) = (next(&a).unwrap(), next(&b).unwrap());
        from_a.rearm().unwrap();
        let again = next(&a).unwrap();
        assert!(next(&b).is_none());
        drop((again.close(), from_b.close()));
    }
}

on_every_kernel! {
    e11_an_event_hands_the_source_out_and_is_silent_until_rearmed
    e11_a_refused_rearm_gives_the_lease_back
    e11_a_lease_dropped_undecided_is_recorded_and_closes_its_source
    e11_a_leaked_lease_shows_in_the_leases_out
    e11_a_transferred_source_has_its_next_event_elsewhere
    e11_a_refused_transfer_changes_nothing
    e11_a_dropped_set_refuses_to_rearm_and_closes_what_rests
    e12_what_arrived_before_the_rearm_is_told
    e13_a_source_taken_out_leaves_the_list
    e13_a_ghost_of_a_lease_is_counted_and_silent
    case_s151_rearming_looks_again
    case_s153_an_event_that_is_not_told_does_not_disarm
    case_s154_edges_while_disarmed_are_not_told
    case_s155_oneshot_can_be_set_and_unset_by_modify
    case_y009_each_instance_disarms_for_itself
}

#[test]
fn e11_a_decision_is_one_call_and_a_transfer_two() {
    let kernel = Counting::new(Linux);
    let [leases, other] = [(); 2].map(|()| Leases::on(kernel.clone()).unwrap());
    leases.add(Bell::new(&kernel, 1), READABLE).unwrap();
    let changes = || {
        let calls = [Call::EpollAdd, Call::EpollModify, Call::EpollDelete];
        let changes = calls.map(|call| kernel.calls(call));
        kernel.reset();
        changes
    };
    assert_eq!(changes(), [1, 0, 0]);
    let lease = next(&leases).unwrap();
    assert_eq!(changes(), [0, 0, 0]);
    lease.rearm().unwrap();
    assert_eq!(changes(), [0, 1, 0]);
    next(&leases).unwrap().transfer(&other).unwrap();
    assert_eq!(changes(), [1, 0, 1]);
    drop(next(&other).unwrap().close());
    assert_eq!(changes(), [0, 0, 1]);
}

#[test]
fn e11_the_peer_of_an_undecided_lease_sees_the_end() {
    let leases = Leases::new().unwrap();
    let (mut client, server) = UnixStream::pair().unwrap();
    leases.add(server, READABLE).unwrap();
    client.write_all(b"?").unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _lease = next(&leases).unwrap();
        panic!("a handler's fault");
    }));
    assert!(panic.is_err());
    assert_eq!((leases.undecided(), leases.out()), (1, 0));
    let end = client.read(&mut [0]).map_err(|error| error.kind());
    assert!(matches!(end, Ok(0) | Err(io::ErrorKind::ConnectionReset)), "{end:?}");
}

/// A source that two threads must never hold at once.
struct Guarded {
    stream: UnixStream,
    held: Arc<AtomicBool>,
}

impl Source for Guarded {
    type Fd = std::os::fd::OwnedFd;

    fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[test]
fn e11_of_many_threads_one_owns_a_source_at_a_time() {
    const SOURCES: usize = 4;
    const BYTES: u64 = 500;
    watchdog(|| {
        let leases = Arc::new(Leases::new().unwrap());
        let mut clients = Vec::new();
        for _ in 0..SOURCES {
            let (client, stream) = UnixStream::pair().unwrap();
            leases.add(Guarded { stream, held: Arc::default() }, READABLE).unwrap();
            clients.push(client);
        }
        let served = Arc::new(AtomicU64::new(0));
        let workers: Vec<_> = (0..3).map(|_| worker(&leases, &served)).collect();
        for _ in 0..BYTES {
            for client in &mut clients {
                client.write_all(b".").unwrap();
            }
        }
        drop(clients);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(served.load(Ordering::Relaxed), BYTES * SOURCES as u64);
        assert_eq!((leases.out(), leases.len()), (0, 0));
        assert_eq!((leases.undecided(), leases.ghosts(), leases.stale()), (0, 0, 0));
    });
}

/// Takes one byte a lease until no source is left.
fn worker(leases: &Arc<Leases<Guarded>>, served: &Arc<AtomicU64>) -> std::thread::JoinHandle<()> {
    let (leases, served) = (Arc::clone(leases), Arc::clone(served));
    std::thread::spawn(move || {
        while !leases.is_empty() {
            let Some(mut lease) = leases.wait(Some(Duration::from_millis(20))).unwrap() else {
                continue;
            };
            let held = Arc::clone(&lease.get_ref().held);
            assert!(!held.swap(true, Ordering::AcqRel), "two threads hold one source");
            let taken = lease.get_mut().stream.read(&mut [0]).unwrap();
            held.store(false, Ordering::Release);
            if taken == 0 {
                drop(lease.close());
            } else {
                served.fetch_add(1, Ordering::Relaxed);
                lease.rearm().unwrap();
            }
        }
    })
}

#[test]
fn e11_many_leases_come_in_one_call() {
    let kernel = Counting::new(Linux);
    let leases = Leases::on(kernel.clone()).unwrap();
    for _ in 0..3 {
        leases.add(Bell::new(&kernel, 1), READABLE).unwrap();
    }
    let (mut events, mut ready) = (Events::with_capacity(2), Vec::new());
    kernel.reset();
    leases.wait_many(&mut events, &mut ready, None).unwrap();
    assert_eq!((ready.len(), leases.out(), leases.len()), (2, 2, 3));
    leases.wait_many(&mut events, &mut ready, None).unwrap();
    assert_eq!((ready.len(), leases.out(), leases.len()), (3, 3, 3));
    assert_eq!(kernel.calls(Call::EpollWait), 2);
    ready.into_iter().for_each(|lease| drop(lease.close()));
}

#[test]
fn e11_a_set_is_a_source_of_another_instance() {
    let (outer, leases) = (Epoll::new().unwrap(), Leases::new().unwrap());
    let (left, _right) = UnixStream::pair().unwrap();
    leases.add(left, Interest::WRITABLE).unwrap();
    let nested = outer.level(leases, READABLE).unwrap();
    let mut events = Events::with_capacity(1);
    outer.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert_eq!(events.len(), 1);
    let lease = next(nested.get_ref()).unwrap();
    outer.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(events.is_empty(), "the only event was taken");
    drop(lease.close());
}

#[test]
fn e12_an_event_may_come_to_another_thread_before_rearm_returns() {
    watchdog(|| {
        let kernel = Hooked::default();
        let leases = Arc::new(Leases::on(kernel.clone()).unwrap());
        leases.add(Bell::new(&kernel, 1), READABLE).unwrap();
        let lease = next(&leases).unwrap();

        // The kernel has re-armed and `rearm` has not returned: another thread fetches the event,
        // and must find the source in its place.
        let (waiting, other) = (Arc::clone(&leases), Arc::new(Mutex::new(None)));
        let place = Arc::clone(&other);
        kernel.after_next_modify(move || {
            let waiter = observe(move || waiting.wait(None).unwrap().unwrap().close().read());
            waiter.wait_until_blocked();
            *place.lock().unwrap() = Some(waiter);
        });
        lease.rearm().unwrap();
        let waiter = other.lock().unwrap().take().unwrap();
        assert_eq!(waiter.join(), 1);
        assert_eq!((leases.out(), leases.stale()), (0, 0));
    });
}

#[test]
fn e13_an_event_already_fetched_never_reaches_a_successor() {
    let kernel = Hooked::default();
    let leases = Arc::new(Leases::on(kernel.clone()).unwrap());
    let bell = Bell::new(&kernel, 1);
    let number = bell.number();
    let token = leases.add(bell, READABLE).unwrap();

    // The event is fetched and not looked at: another thread closes its source, and adds one that
    // has the same number (others are kept until it comes back) and nothing to read.
    let (other, eventfds) = (Arc::clone(&leases), kernel.clone());
    kernel.after_next_wait(move || {
        std::thread::spawn(move || {
            drop(other.take(token).unwrap().unwrap());
            let mut kept: Vec<_> = (0..64).map(|_| Bell::new(&eventfds, 0)).collect();
            let same = kept.iter().position(|bell| bell.number() == number).unwrap_or(0);
            other.add(kept.swap_remove(same), READABLE).unwrap();
        })
        .join()
        .unwrap();
    });
    assert!(next(&leases).is_none(), "the event of the closed source is discarded");
    assert_eq!((leases.stale(), leases.out(), leases.len()), (1, 0, 1));
}

#[test]
fn case_s150_a_fired_registration_is_silent_even_about_a_hangup() {
    let door = Door::new(Linux);
    let (reader, mut writer) = io::pipe().unwrap();
    door.add(reader.as_fd(), IN | ONESHOT, 1).unwrap();
    writer.write_all(b"a").unwrap();
    assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
    writer.write_all(b"b").unwrap();
    assert_eq!(door.ready(), "[]");
    drop(writer);
    assert_eq!(door.ready(), "[]");
    door.modify(reader.as_fd(), IN | ONESHOT, 2).unwrap();
    assert_eq!([door.ready(), door.ready()], ["[2:IN|HUP]", "[]"]);
    assert_eq!(refusal(door.add(reader.as_fd(), IN, 3)), Errno::EXIST);
    door.modify(reader.as_fd(), ONESHOT, 4).unwrap();
    assert_eq!([door.ready(), door.ready()], ["[4:HUP]", "[]"]);
    door.delete(reader.as_fd()).unwrap();
}

#[test]
fn case_s150_a_lease_tells_the_hangup_that_came_while_it_was_out() {
    let leases = Leases::new().unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    leases.add(reader, READABLE).unwrap();
    writer.write_all(b"a").unwrap();
    let lease = next(&leases).unwrap();
    assert!(!lease.readiness().is_hangup());
    drop(writer);
    assert!(next(&leases).is_none());
    lease.rearm().unwrap();
    let lease = next(&leases).unwrap();
    assert!(lease.readiness().is_readable() && lease.readiness().is_hangup());
    drop(lease.close());
}
