//! Exclusive registrations: which masks there are, whom an event wakes, and what a wake is worth.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/door.rs"]
mod door;
mod support;

use door::{Bell, Door, refusal};
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use support::{Observed, observe, watchdog};
use watchbell::epoll::{Epoll, Events, Exclusive, ExclusiveInterest, ExclusiveTarget};
use watchbell::epoll::{Interest, OnBlocking, Registered, Source, Trigger};
use watchbell::kernel::{Borrowed, EventFlags, EventfdFlags, Kernel, Linux};
use watchbell::{Error, Rejected};

const IN: EventFlags = EventFlags::IN;
const OUT: EventFlags = EventFlags::OUT;
const ET: EventFlags = EventFlags::ET;
const EXCLUSIVE: EventFlags = EventFlags::EXCLUSIVE;

/// One blocked waiter for each of several waits. A waiter that was woken stays to be looked at.
struct Waiters {
    waiters: Vec<Observed<()>>,
    woken: Vec<mpsc::Receiver<()>>,
    leave: Vec<mpsc::Sender<()>>,
}

type Wait = Box<dyn FnOnce() + Send>;

impl Waiters {
    fn block(waits: impl IntoIterator<Item = Wait>) -> Waiters {
        let mut all = Waiters { waiters: Vec::new(), woken: Vec::new(), leave: Vec::new() };
        for wait in waits {
            let ((woke, woken), (leave, left)) = (mpsc::channel(), mpsc::channel::<()>());
            let waiter = observe(move || {
                wait();
                woke.send(()).unwrap();
                let _ = left.recv();
            });
            waiter.wait_until_blocked();
            all.waiters.push(waiter);
            all.woken.push(woken);
            all.leave.push(leave);
        }
        all
    }

    /// Which waiters were woken since the last look, once all of them are at rest.
    fn woken(&self) -> Vec<bool> {
        self.waiters.iter().for_each(Observed::wait_until_blocked);
        self.woken.iter().map(|woken| woken.try_recv().is_ok()).collect()
    }

    /// Wakes the rest by `stop` and ends all.
    fn end(self, stop: impl FnOnce()) {
        stop();
        drop(self.leave);
        self.waiters.into_iter().for_each(Observed::join);
    }
}

/// Instances that watch one target with `flags` each, and have a blocked waiter each.
struct Instances<K: Kernel> {
    waiters: Waiters,
    stop: Bell<K>,
}

impl<K: Kernel> Instances<K> {
    fn block(kernel: &K, target: Borrowed<'_, K>, flags: &[EventFlags]) -> Instances<K> {
        let stop = Bell::new(kernel, 0);
        let doors = flags.iter().map(|&flags| {
            let door = Door::new(kernel.clone());
            door.add(target, flags, 1).unwrap();
            door.add(stop.fd(), IN, 2).unwrap();
            Box::new(move || drop(door.wait(None).unwrap())) as Wait
        });
        // All are registered before the first waits: the order is the registrations'.
        let doors: Vec<Wait> = doors.collect();
        Instances { waiters: Waiters::block(doors), stop }
    }

    fn woken(&self) -> Vec<bool> {
        self.waiters.woken()
    }

    fn end(self) {
        self.waiters.end(|| self.stop.write(1));
    }
}

/// Whom one write wakes of instances that watch an eventfd with `flags` each.
fn woken_by_a_write<K: Kernel, const N: usize>(kernel: K, flags: [EventFlags; N]) -> Vec<bool> {
    watchdog(move || {
        let bell = Bell::new(&kernel, 0);
        let instances = Instances::block(&kernel, bell.fd(), &flags);
        bell.write(1);
        let woken = instances.woken();
        instances.end();
        woken
    })
}

fn exclusive<S: Source<Fd = K::Fd> + ExclusiveTarget, K: Kernel>(
    epoll: &Epoll<K>,
    source: S,
    trigger: Trigger,
) -> Registered<S, Exclusive, K> {
    epoll.exclusive(source, ExclusiveInterest::Readable, trigger).unwrap()
}

/// How many events there are now.
fn ready<K: Kernel>(epoll: &Epoll<K>) -> usize {
    let mut events = Events::with_capacity(8);
    epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    events.len()
}

mod bodies {
    use super::*;

    pub fn case_w190_a_write_wakes_every_ordinary_instance<K: Kernel>(kernel: K) {
        for flags in [IN, IN | ET] {
            assert_eq!(woken_by_a_write(kernel.clone(), [flags; 4]), [true; 4]);
        }
    }

    pub fn case_w191_a_write_wakes_the_first_exclusive_instance<K: Kernel>(kernel: K) {
        let woken = woken_by_a_write(kernel, [IN | EXCLUSIVE; 4]);
        assert_eq!(woken, [true, false, false, false]);
    }

    pub fn case_w192_a_write_wakes_the_first_exclusive_edge<K: Kernel>(kernel: K) {
        let woken = woken_by_a_write(kernel, [IN | EXCLUSIVE | ET; 4]);
        assert_eq!(woken, [true, false, false, false]);
    }

    pub fn case_w193_a_write_wakes_the_ordinary_ones_beside_the_first<K: Kernel>(kernel: K) {
        const X: EventFlags = IN.union(EXCLUSIVE);
        let woken = woken_by_a_write(kernel, [X, IN, X, IN, X, X]);
        assert_eq!(woken, [true, true, false, true, false, false]);
    }

    pub fn case_w196_each_write_wakes_the_next_that_waits<K: Kernel>(kernel: K) {
        watchdog(move || {
            let bell = Bell::new(&kernel, 0);
            let instances = Instances::block(&kernel, bell.fd(), &[IN | EXCLUSIVE | ET; 4]);
            for next in 0..4 {
                bell.write(1);
                let expected = [0, 1, 2, 3].map(|waiter| waiter == next);
                assert_eq!(instances.woken(), expected);
                bell.read();
            }
            instances.end();
        });
    }

    pub fn case_c041_the_masks_that_go_with_exclusive<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        let named = EventFlags::ERR | EventFlags::HUP | EventFlags::WAKEUP | IN | OUT | ET;
        let alone = EventFlags::empty();
        for flags in named.iter().chain([alone, named]) {
            door.add(bell.fd(), flags | EXCLUSIVE, 1).unwrap();
            door.delete(bell.fd()).unwrap();
        }
    }

    pub fn case_c042_the_masks_that_do_not<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        let names = EventFlags::PRI
            | EventFlags::RDNORM
            | EventFlags::RDBAND
            | EventFlags::WRNORM
            | EventFlags::WRBAND
            | EventFlags::MSG
            | EventFlags::RDHUP
            | EventFlags::ONESHOT;
        let nameless = [0x20, 0x800, 1 << 27].map(EventFlags::from_bits_retain);
        for flags in names.iter().chain(nameless) {
            let refused = door.add(bell.fd(), flags | IN | EXCLUSIVE, 1);
            assert_eq!(refusal(refused), Errno::INVAL, "{flags:?}");
        }
    }

    pub fn case_c043_exclusive_is_set_by_add_and_never_modified<K: Kernel>(kernel: K) {
        let (door, [plain, exclusive]) =
            (Door::new(kernel.clone()), [(); 2].map(|()| Bell::new(&kernel, 0)));
        door.add(plain.fd(), OUT, 1).unwrap();
        assert_eq!(refusal(door.modify(plain.fd(), IN | EXCLUSIVE, 9)), Errno::INVAL);
        assert_eq!(door.ready(), "[1:OUT]");
        door.delete(plain.fd()).unwrap();

        door.add(exclusive.fd(), IN | EXCLUSIVE, 2).unwrap();
        exclusive.write(1);
        for flags in [IN, IN | EXCLUSIVE] {
            assert_eq!(refusal(door.modify(exclusive.fd(), flags, 9)), Errno::INVAL);
        }
        assert_eq!(door.ready(), "[2:IN]");
        door.delete(exclusive.fd()).unwrap();
        door.add(exclusive.fd(), IN, 3).unwrap();
        door.modify(exclusive.fd(), IN, 4).unwrap();
    }

    pub fn case_c045_an_instance_is_no_target<K: Kernel>(kernel: K) {
        let [outer, inner] = [(); 2].map(|()| Door::new(kernel.clone()));
        assert_eq!(refusal(outer.add(inner.fd(), IN | EXCLUSIVE, 1)), Errno::INVAL);
        assert_eq!(refusal(outer.delete(inner.fd())), Errno::NOENT);
        outer.add(inner.fd(), IN, 1).unwrap();
    }

    pub fn x01_exclusive_belongs_to_one_registration<K: Kernel>(kernel: K) {
        // The same target, in one instance exclusively and in another not: neither minds.
        let [one, other] = [(); 2].map(|()| Epoll::on(kernel.clone()).unwrap());
        let bell = Bell::new(&kernel, 0);
        let first = exclusive(&one, bell.clone(), Trigger::Level);
        let second = other.level(bell.clone(), Interest::NONE).unwrap();
        second.modify(Interest::READABLE).unwrap();
        bell.write(1);
        assert_eq!((ready(&one), ready(&other)), (1, 1));
        drop(first);
        assert_eq!((ready(&one), ready(&other)), (0, 1));
    }

    pub fn x03_every_interest_that_can_be_written_is_accepted<K: Kernel>(kernel: K) {
        use ExclusiveInterest::{Both, Readable, Writable};
        let (epoll, mut bell) = (Epoll::on(kernel.clone()).unwrap(), Bell::new(&kernel, 1));
        for interest in [Readable, Writable, Both] {
            for trigger in [Trigger::Level, Trigger::Edge(OnBlocking::Refuse)] {
                let registered = epoll.exclusive(bell, interest, trigger).unwrap();
                assert_eq!(ready(&epoll), 1, "{interest:?} {trigger:?}");
                bell = registered.into_inner();
            }
        }
    }

    pub fn x05_an_event_wakes_an_exclusive_instance_and_every_ordinary_one<K: Kernel>(kernel: K) {
        for trigger in [Trigger::Level, Trigger::Edge(OnBlocking::Refuse)] {
            let kernel = kernel.clone();
            watchdog(move || woken_beside_each_other(&kernel, trigger));
        }
    }

    fn woken_beside_each_other<K: Kernel>(kernel: &K, trigger: Trigger) {
        let (bell, stop) = (Bell::new(kernel, 0), Bell::new(kernel, 0));
        let instance = |is_exclusive: bool| {
            let epoll = Epoll::on(kernel.clone()).unwrap();
            let stopped = epoll.level(stop.clone(), Interest::READABLE).unwrap();
            let ordinary = || epoll.level(bell.clone(), Interest::READABLE).unwrap();
            let exclusive = || exclusive(&epoll, bell.clone(), trigger);
            let registered = (is_exclusive.then(exclusive), (!is_exclusive).then(ordinary));
            Box::new(move || {
                epoll.wait(&mut Events::with_capacity(2), None).unwrap();
                drop((registered, stopped));
            }) as Wait
        };
        let waiters = Waiters::block([true, false, true, false, true].map(instance));
        bell.write(1);
        let woken = waiters.woken();
        assert!(woken[1] && woken[3], "every ordinary one: {woken:?}");
        assert!(woken[0] || woken[2] || woken[4], "at least one exclusive one: {woken:?}");
        waiters.end(|| stop.write(1));
    }

    pub fn x07_an_exclusive_edge_has_to_be_non_blocking_and_drained<K: Kernel>(kernel: K) {
        let epoll = Epoll::on(kernel.clone()).unwrap();
        let blocking = Bell::with_flags(&kernel, 0, EventfdFlags::SEMAPHORE);
        let edge = |source, choice| {
            epoll.exclusive(source, ExclusiveInterest::Readable, Trigger::Edge(choice))
        };
        let Err(Rejected { source, error }) = edge(blocking, OnBlocking::Refuse) else {
            panic!("an edge of a blocking source")
        };
        assert!(matches!(error, Error::Blocking));
        let registered = edge(source, OnBlocking::SetNonblocking).unwrap();
        registered.get_ref().write(2);
        assert_eq!(ready(&epoll), 1);
        assert_eq!(registered.get_ref().read(), 1);
        assert_eq!(ready(&epoll), 0, "what is left is not told again");
        assert_eq!(registered.get_ref().read(), 1);
        assert_eq!(refusal(registered.get_ref().try_read()), Errno::AGAIN);
    }
}

on_every_kernel! {
    case_w190_a_write_wakes_every_ordinary_instance
    case_w191_a_write_wakes_the_first_exclusive_instance
    case_w192_a_write_wakes_the_first_exclusive_edge
    case_w193_a_write_wakes_the_ordinary_ones_beside_the_first
    case_w196_each_write_wakes_the_next_that_waits
    case_c041_the_masks_that_go_with_exclusive
    case_c042_the_masks_that_do_not
    case_c043_exclusive_is_set_by_add_and_never_modified
    case_c045_an_instance_is_no_target
    x01_exclusive_belongs_to_one_registration
    x03_every_interest_that_can_be_written_is_accepted
    x05_an_event_wakes_an_exclusive_instance_and_every_ordinary_one
    x07_an_exclusive_edge_has_to_be_non_blocking_and_drained
}

#[test]
fn case_w191_a_pipe_wakes_the_first_exclusive_instance() {
    watchdog(|| {
        let (reader, mut writer) = io::pipe().unwrap();
        let instances = Instances::block(&Linux, reader.as_fd(), &[IN | EXCLUSIVE; 4]);
        writer.write_all(b"a").unwrap();
        assert_eq!(instances.woken(), [true, false, false, false]);
        instances.end();
    });
}

/// `modify` does not exist for an exclusive registration (a `compile_fail` example of
/// [`Exclusive`] shows it); the kernel would refuse it as well.
#[test]
fn x02_a_registration_cannot_be_modified_behind_the_types_back() {
    let door = Door::new(Linux);
    let bell = Bell::new(&Linux, 0);
    door.add(bell.fd(), IN | EXCLUSIVE, 1).unwrap();
    assert_eq!(refusal(door.modify(bell.fd(), IN, 1)), Errno::INVAL);
}

/// A source whose type hides that it is an epoll instance.
struct Disguised(Epoll);

impl Source for Disguised {
    type Fd = OwnedFd;

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl ExclusiveTarget for Disguised {}

#[test]
fn x04_an_instance_in_disguise_is_refused_by_the_kernel() {
    let (outer, inner) = (Epoll::new().unwrap(), Disguised(Epoll::new().unwrap()));
    let refused = outer.exclusive(inner, ExclusiveInterest::Readable, Trigger::Level);
    let Err(Rejected { source, error }) = refused else { panic!("EINVAL") };
    assert_eq!(refusal::<()>(Err(error.into())), Errno::INVAL);
    assert!(outer.level(source, Interest::READABLE).is_ok());
}

/// A listener that several instances watch, and its address. A connection to a Unix socket is in
/// the queue when connect(2) returns.
fn listener() -> (Arc<UnixListener>, SocketAddr) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("watchbell-exclusive-{}-{number}", std::process::id());
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    listener.set_nonblocking(true).unwrap();
    (Arc::new(listener), address)
}

fn accepts(listener: &UnixListener) -> bool {
    match listener.accept() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            false
        }
    }
}

#[test]
fn x06_being_woken_reserves_nothing() {
    for trigger in [Trigger::Level, Trigger::Edge(OnBlocking::Refuse)] {
        let (listener, address) = listener();
        let [one, other] = [(); 2].map(|()| Epoll::new().unwrap());
        let first = exclusive(&one, Arc::clone(&listener), trigger);
        let second = exclusive(&other, Arc::clone(&listener), trigger);
        let _client = UnixStream::connect_addr(&address).unwrap();
        // Nobody is blocked, so that both are told of one connection.
        assert_eq!((ready(&one), ready(&other)), (1, 1));
        assert!(accepts(first.get_ref()));
        assert!(!accepts(second.get_ref()), "EAGAIN");

        let _clients = [(); 2].map(|()| UnixStream::connect_addr(&address).unwrap());
        assert_eq!(ready(&one), 1);
        assert!(accepts(first.get_ref()) && accepts(first.get_ref()), "one event, two connections");
        assert!(!accepts(second.get_ref()));
    }
}

#[test]
fn x08_an_observer_is_woken_beside_the_worker_and_may_find_nothing() {
    watchdog(|| {
        let (listener, address) = listener();
        let [worker, observer] = [(); 2].map(|()| Arc::new(Epoll::new().unwrap()));
        let working = exclusive(&worker, Arc::clone(&listener), Trigger::Level);
        let observing = observer.level(Arc::clone(&listener), Interest::READABLE).unwrap();
        let waiters = Waiters::block([&worker, &observer].map(|epoll| {
            let epoll = Arc::clone(epoll);
            let wait = move || epoll.wait(&mut Events::with_capacity(1), None).unwrap();
            Box::new(wait) as Wait
        }));
        let _clients = [(); 2].map(|()| UnixStream::connect_addr(&address).unwrap());
        assert_eq!(waiters.woken(), [true, true]);
        waiters.end(|| {});

        assert!(accepts(working.get_ref()) && accepts(working.get_ref()));
        assert_eq!(ready(&observer), 0, "it was woken once for two, and both are gone");
        assert!(!accepts(observing.get_ref()));
    });
}
