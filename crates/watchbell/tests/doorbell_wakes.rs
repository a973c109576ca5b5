//! Faults that other libraries' wakes have had, and rings that the kernel refuses.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/door.rs"]
mod door;
#[path = "support/hooked.rs"]
mod hooked;
#[path = "support/items.rs"]
mod items;
#[path = "support/looped.rs"]
mod looped;
mod support;

use door::Door;
use hooked::Hooked;
use items::assert_ledger;
use looped::{counted, rest};
use rustix::io::Errno as Code;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use support::habits::{Failing, Habitual};
use support::sockets::strict_loop;
use support::watchdog;
use watchbell::doorbell::{
    Armed, Doorbell, Errno, PushAllReason, PushError, Queue, doorbell, doorbell_on,
};
use watchbell::epoll::{AnyFd, Edge, Epoll, Events, Interest, OnBlocking, Registered};
use watchbell::event_loop::{Budget, EventLoop, Registration, Shared};
use watchbell::eventfd::{MAX_COUNT, Semaphore};
use watchbell::kernel::{Call, Counting, EventFlags, Kernel, Linux};

/// A queue in an epoll instance, asleep; and the events of a wait.
struct Asleep<T, K: Kernel<Fd = OwnedFd> = Linux> {
    epoll: Epoll<K>,
    queue: Registered<AnyFd<Queue<T, K>>, Edge, K>,
}

impl<T, K: Kernel<Fd = OwnedFd>> Asleep<T, K> {
    fn new(kernel: K, queue: Queue<T, K>) -> Asleep<T, K> {
        let epoll = Epoll::on(kernel).unwrap();
        let queue = epoll.edge(AnyFd(queue), Interest::READABLE, OnBlocking::Refuse).unwrap();
        let mut asleep = Asleep { epoll, queue };
        asleep.sleeps();
        asleep
    }

    /// Arms, and takes the edges that were there before.
    fn sleeps(&mut self) {
        assert_eq!(self.queue.get_mut().0.arm(), Armed::Sleep);
        self.is_woken();
    }

    fn is_woken(&mut self) -> bool {
        let mut events = Events::with_capacity(1);
        self.epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
        !events.is_empty()
    }

    /// The bell itself, by a descriptor of one's own.
    fn bell(&self) -> OwnedFd {
        self.queue.get_ref().as_fd().try_clone_to_owned().unwrap()
    }
}

fn write(bell: &OwnedFd, value: u64) {
    assert_eq!(rustix::io::write(bell, &value.to_ne_bytes()), Ok(8));
}

fn read(bell: &OwnedFd) -> u64 {
    let mut value = [0; 8];
    assert_eq!(rustix::io::read(bell, &mut value), Ok(8));
    u64::from_ne_bytes(value)
}

/// mio 1.2: closing the eventfd with the last waker erased its edge.
#[test]
fn fault_the_last_ring_outlives_its_sender() {
    let (bell, queue) = doorbell(4).unwrap();
    let mut asleep = Asleep::new(Linux, queue);
    bell.push(1).unwrap();
    drop(bell);
    assert!(asleep.is_woken());
    assert_eq!(asleep.queue.get_mut().0.pop(), Some(1));
    assert_eq!(asleep.queue.get_mut().0.arm(), Armed::Closed);
}

#[test]
fn d10_a_loop_hears_the_last_sender_go() {
    let hooked = Hooked::default();
    let mut events: EventLoop<(), Hooked> = EventLoop::on(hooked.clone(), ()).unwrap();
    let (bell, queue) = doorbell_on(hooked.clone(), 4).unwrap();
    let count = counted();
    let came = Rc::clone(&count);
    let token = events.add(queue, Registration::default(), move |item: u64, _| {
        came.set(came.get() + item);
        Ok(())
    });
    rest(&mut events);
    hooked.before_next_wait(move || {
        bell.push(1).unwrap();
        drop(bell);
    });
    events.turn(None).unwrap();
    rest(&mut events);
    assert_eq!(count.get(), 1);
    let queue: Queue<u64, Hooked> = events.take(token.unwrap()).unwrap();
    assert!(queue.has_ended());
}

/// libkrun, shmem-ipc, calloop: a bell that is full blocked for ever, was fatal, or lost a close.
#[test]
fn fault_a_full_bell_rings() {
    let (bell, queue) = doorbell(4).unwrap();
    let mut asleep = Asleep::new(Linux, queue);
    let count = asleep.bell();
    write(&count, MAX_COUNT);
    assert!(asleep.is_woken());
    for item in 0..3 {
        asleep.sleeps();
        bell.push(item).unwrap();
        assert!(asleep.is_woken(), "by a write of 0");
        assert_eq!(asleep.queue.get_mut().0.pop(), Some(item));
    }
    asleep.sleeps();
    bell.close();
    assert!(asleep.is_woken(), "the end is told too");
    assert_eq!(read(&count), MAX_COUNT, "nobody resets a count");
}

#[test]
fn d03_a_full_bell_is_rung_by_two_writes() {
    let kernel = Counting::new(Linux);
    let (bell, queue) = doorbell_on(kernel.clone(), 4).unwrap();
    let asleep = Asleep::new(kernel.clone(), queue);
    write(&asleep.bell(), MAX_COUNT);
    kernel.reset();
    (0..4).for_each(|item| bell.push(item).unwrap());
    assert_eq!((kernel.calls(Call::Write), kernel.total()), (2, 2));
}

/// calloop, mio, event-manager: one write for each item.
#[test]
fn fault_one_ring_a_sleep() {
    let kernel = Counting::new(Linux);
    let (bell, queue) = doorbell_on(kernel.clone(), 100).unwrap();
    let mut asleep = Asleep::new(kernel.clone(), queue);
    for sleep in 1..=10 {
        kernel.reset();
        (0..100).for_each(|item| bell.push(item).unwrap());
        assert!(asleep.is_woken());
        assert_eq!(asleep.queue.get_mut().0.drain(usize::MAX, |_| {}), 100);
        let calls = [Call::Write, Call::EpollWait].map(|call| kernel.calls(call));
        assert_eq!((calls, kernel.total()), ([1, 1], 2), "sleep {sleep}");
        asleep.sleeps();
    }
}

/// compio: the wrong byte order, and an error that nobody looked at.
#[test]
fn fault_a_ring_is_a_one_in_host_order() {
    let (bell, queue) = doorbell(4).unwrap();
    let asleep = Asleep::new(Linux, queue);
    bell.push(1).unwrap();
    assert_eq!(read(&asleep.bell()), 1);
}

/// The first write fails: the item is in, its push says so, and the next one rings.
#[test]
fn d03_a_ring_that_fails_is_told_and_made_by_the_next_push() {
    let kernel = Habitual::new(Linux, Failing::new(Call::Write, &[Code::IO, Code::IO]));
    let (bell, mut queue) = doorbell_on(kernel.clone(), 8).unwrap();
    let door = Door::new(kernel);
    door.add(queue.as_fd(), EventFlags::IN | EventFlags::ET, 1).unwrap();
    assert_eq!(queue.arm(), Armed::Sleep);
    let unrung = bell.push(1).unwrap_err();
    assert_eq!(unrung, PushError::Unrung(Errno(Code::IO.raw_os_error())));
    assert!(unrung.to_string().contains("accepted"), "{unrung}");
    assert_eq!(unrung.into_item(), None);
    assert_ledger(bell.ledger(), [1, 0, 0, 1]);
    let unrung = bell.push_all(&mut (2..4)).unwrap_err();
    assert_eq!((unrung.accepted, unrung.rest.len()), (2, 0));
    assert!(matches!(unrung.reason, PushAllReason::Unrung(_)));
    assert_eq!(door.ready(), "[]");
    bell.push(4).unwrap();
    assert_eq!(door.ready(), "[1:IN]");
    let mut came = Vec::new();
    queue.drain(usize::MAX, |item| came.push(item));
    assert_eq!(came, [1, 2, 3, 4]);
    assert_ledger(bell.ledger(), [4, 4, 0, 0]);
}

#[test]
fn d03_an_item_without_its_ring_is_found_by_the_next_look_or_reclaimed() {
    for reclaim in [false, true] {
        let kernel = Habitual::new(Linux, Failing::new(Call::Write, &[Code::IO]));
        let (bell, mut queue) = doorbell_on(kernel, 8).unwrap();
        assert_eq!(queue.arm(), Armed::Sleep);
        assert!(matches!(bell.push(1), Err(PushError::Unrung(_))));
        match reclaim {
            true => assert_eq!(queue.reclaim(), [1]),
            false => assert_eq!(queue.pop(), Some(1)),
        }
        assert!(bell.ledger().balances());
    }
}

/// libuv#4584: wakes were lost where the user's own data was published by a weaker order. Here the
/// push itself publishes it.
#[test]
fn fault_the_callers_orders_do_not_matter() {
    const ROUNDS: u64 = 5_000;
    watchdog(|| {
        let mut events = strict_loop::<(), _>(Linux, Budget::default());
        let (bell, queue) = doorbell(1).unwrap();
        let data = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&data);
        events
            .add(queue, Registration::default(), move |round, turn| {
                assert!(seen.load(Ordering::Relaxed) >= round, "the push came before its data");
                if round == ROUNDS {
                    turn.stop();
                }
                Ok(())
            })
            .unwrap();
        let producer = thread::spawn(move || {
            for round in 1..=ROUNDS {
                data.store(round, Ordering::Relaxed);
                bell.push_wait(round).unwrap();
            }
        });
        events.run().unwrap();
        producer.join().unwrap();
    });
}

/// Whoever is woken and does not take all of it tells another one by its doorbell.
#[test]
fn x11_a_loop_that_is_woken_passes_on_what_it_does_not_take() {
    let one = Budget::default().operations(1);
    let mut woken = strict_loop::<(), _>(Linux, one);
    let mut other = EventLoop::new().unwrap();
    let (nudge, nudges) = doorbell::<()>(1).unwrap();
    let taken = counted();
    let semaphore = Rc::new(Semaphore::new(0).unwrap());
    let (by_other, source) = (Rc::clone(&taken), Rc::clone(&semaphore));
    other
        .add(nudges, Registration::default(), move |(), _| {
            while source.try_wait()? {
                by_other.set(by_other.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    let sharing = Shared::new(semaphore.try_clone().unwrap());
    woken
        .add(sharing, Registration::exclusive(), move |semaphore, turn| {
            // One is taken, and then the loop has other things to do.
            let unit = |semaphore: &mut Shared<Semaphore>| semaphore.try_wait();
            assert_eq!(semaphore.input(unit)?, Some(true));
            let _ = nudge.push(());
            turn.stop();
            Ok(())
        })
        .unwrap();
    semaphore.post(3).unwrap();
    woken.run().unwrap();
    other.turn(None).unwrap();
    assert_eq!(taken.get(), 2, "nothing waits for the next arrival");
}

/// Two doorbells of one queue are one: it ends with the last of them.
#[test]
fn d09_clones_are_one_end() {
    let (bell, queue) = doorbell(2).unwrap();
    let clone: Doorbell<u8> = bell.clone();
    drop(bell);
    clone.push(1).unwrap();
    assert!(!queue.is_closed());
    drop(clone);
    assert!(queue.is_closed() && queue.has_item());
}
