//! What loom is to try in every order. Each model ends with what must hold whatever the order was.
#![allow(unsafe_code, reason = "loom's cells, which check who comes by when")]

use crate::account::Account;
use crate::channel::{Armed, Channel, Owed};
use crate::ring::{Cursor, Refusal, Ring};
use crate::room::Room;
use loom::cell::UnsafeCell;
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A scenario, and how many times a thread that could go on is preempted at the most.
pub struct Model {
    body: Arc<dyn Fn() + Send + Sync>,
    preemptions: usize,
}

impl Model {
    fn new(preemptions: usize, body: impl Fn() + Send + Sync + 'static) -> Model {
        Model { body: Arc::new(body), preemptions }
    }

    /// Tries every order, and says how many there were. Panics in one that breaks the rules.
    pub fn check(&self) -> (u64, Duration) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(self.preemptions);
        builder.max_branches = 2_000;
        let executions = Arc::new(AtomicU64::new(0));
        let (count, body) = (executions.clone(), self.body.clone());
        let begin = Instant::now();
        builder.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            body();
        });
        (executions.load(Ordering::Relaxed), begin.elapsed())
    }
}

/// The eventfd, as an edge-triggered wait sees it: each write makes an edge, a wait takes it.
#[derive(Default)]
struct Bell {
    edge: Mutex<bool>,
    made: Condvar,
    writes: AtomicUsize,
}

impl Bell {
    fn ring_if(&self, owed: Owed) {
        if owed == Owed::Ring {
            self.writes.fetch_add(1, Ordering::Relaxed);
            *self.edge.lock().unwrap() = true;
            self.made.notify_one();
        }
    }

    fn wait(&self) {
        let mut edge = self.edge.lock().unwrap();
        while !*edge {
            edge = self.made.wait(edge).unwrap();
        }
        *edge = false;
    }
}

/// Shared by the threads of a model, of which the first outlives the others. When a model fails it
/// is left alone: loom is gone by then.
struct Shared<T>(ManuallyDrop<T>);

fn share<T>(value: T) -> Arc<Shared<T>> {
    Arc::new(Shared(ManuallyDrop::new(value)))
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: nobody comes by the value after its owner's end.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

/// A channel and its bell.
struct Door {
    channel: Channel<usize>,
    bell: Bell,
}

impl Door {
    fn new(capacity: usize) -> (Arc<Shared<Door>>, Cursor) {
        let (channel, cursor) = Channel::new(capacity).expect("memory");
        (share(Door { channel, bell: Bell::default() }), cursor)
    }

    /// Pushes as soon as there is room. Whether it was accepted.
    fn push(&self, mut item: usize) -> bool {
        loop {
            item = match self.channel.push(item) {
                Ok(owed) => {
                    self.bell.ring_if(owed);
                    return true;
                }
                Err((_, Refusal::Closed)) => return false,
                Err((item, Refusal::Full)) => item,
            };
            thread::yield_now();
        }
    }

    fn close(&self) {
        self.bell.ring_if(self.channel.close());
    }
}

/// What the consumer makes of the answer of `arm`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Recheck {
    /// What it says is done.
    Believed,
    /// The last look is one before arming; then it sleeps, whatever the answer: a flag that is
    /// cleared after the drain.
    Ignored,
    /// There is none.
    None,
}

/// Takes items until there are `most` or the channel has ended.
fn consume(door: &Door, cursor: &mut Cursor, most: usize, recheck: Recheck) -> Vec<usize> {
    let Door { channel, bell } = door;
    let (mut items, mut arms) = (Vec::new(), 0);
    loop {
        while let Some(item) = channel.ring.take(cursor) {
            items.push(item);
        }
        channel.ring.free(cursor);
        if items.len() >= most {
            break;
        }
        if recheck == Recheck::Ignored && channel.ring.end_now().0 != cursor.position() {
            thread::yield_now();
            continue;
        }
        arms += 1;
        match channel.arm(cursor) {
            Armed::Closed => break,
            Armed::Item | Armed::SleepBriefly if recheck != Recheck::Believed => bell.wait(),
            Armed::Item => continue,
            Armed::Sleep => bell.wait(),
            // A sleep that ends by itself: the others go on meanwhile.
            Armed::SleepBriefly => thread::yield_now(),
        }
        channel.disarm();
    }
    assert!(bell.writes.load(Ordering::Relaxed) <= arms, "more than one write an arm");
    items
}

/// Asserts that each item came once, those of one producer in order.
fn assert_all_came(items: &[usize], mut expected: Vec<usize>) {
    let is_in_order =
        |producer| items.iter().filter(move |item| *item / 10 == producer).is_sorted();
    assert!((0..3).all(is_in_order), "out of order: {items:?}");
    let mut came = items.to_vec();
    came.sort_unstable();
    expected.sort_unstable();
    assert_eq!(came, expected, "lost or doubled");
}

/// Some producers of some items each, and a consumer that takes them all.
pub fn pushing(producers: usize, items: usize, capacity: usize, recheck: Recheck) -> Model {
    Model::new(3, move || {
        let (door, mut cursor) = Door::new(capacity);
        let push = |producer| {
            let door = door.clone();
            thread::spawn(move || {
                for item in 0..items {
                    assert!(door.push(10 * producer + item), "nobody has closed it");
                }
            })
        };
        let pushing: Vec<_> = (0..producers).map(push).collect();
        let came = consume(&door, &mut cursor, producers * items, recheck);
        let all = (0..producers).flat_map(|p| (0..items).map(move |i| 10 * p + i)).collect();
        assert_all_came(&came, all);
        pushing.into_iter().for_each(|pushing| pushing.join().unwrap());
    })
}

/// A batch that does not fit at once.
pub fn batch() -> Model {
    Model::new(2, || {
        let (door, mut cursor) = Door::new(2);
        let pushing = thread::spawn({
            let door = door.clone();
            move || {
                let mut items = vec![0, 1, 2];
                while !items.is_empty() {
                    match door.channel.push_front_of(&mut items) {
                        Ok((_, owed)) => door.bell.ring_if(owed),
                        Err(_) => thread::yield_now(),
                    }
                }
            }
        });
        let came = consume(&door, &mut cursor, 3, Recheck::Believed);
        assert_all_came(&came, vec![0, 1, 2]);
        pushing.join().unwrap();
    })
}

/// One thread closes while another pushes: what was accepted comes, what was not does not.
pub fn close_while_pushing() -> Model {
    Model::new(2, || {
        let (door, mut cursor) = Door::new(2);
        let pushing = thread::spawn({
            let door = door.clone();
            move || [0, 1].into_iter().filter(|item| door.push(*item)).collect()
        });
        let closing = thread::spawn({
            let door = door.clone();
            move || door.close()
        });
        let came = consume(&door, &mut cursor, usize::MAX, Recheck::Believed);
        assert_all_came(&came, pushing.join().unwrap());
        closing.join().unwrap();
    })
}

/// The last producer rings, and goes at once.
pub fn last_sender_dropped() -> Model {
    Model::new(3, || {
        let (door, mut cursor) = Door::new(2);
        let pushing = thread::spawn({
            let door = door.clone();
            move || {
                assert!(door.push(0), "nobody has closed it");
                door.close();
            }
        });
        let came = consume(&door, &mut cursor, usize::MAX, Recheck::Believed);
        assert_all_came(&came, vec![0]);
        pushing.join().unwrap();
    })
}

/// The write of the first push fails; the second push makes one.
pub fn failed_ring() -> Model {
    Model::new(3, || {
        let (door, mut cursor) = Door::new(2);
        let pushing = thread::spawn({
            let door = door.clone();
            move || {
                if door.channel.push(0).expect("there is room") == Owed::Ring {
                    door.channel.unring();
                }
                assert!(door.push(1), "nobody has closed it");
            }
        });
        let came = consume(&door, &mut cursor, 2, Recheck::Believed);
        assert_all_came(&came, vec![0, 1]);
        pushing.join().unwrap();
    })
}

/// Pushes, and waits for room where there is none. Whether it was accepted.
fn push_wait(ring: &Ring<usize>, room: &Room, mut item: usize) -> bool {
    loop {
        item = match ring.push(item) {
            Ok(()) => return true,
            Err((_, Refusal::Closed)) => return false,
            Err((item, Refusal::Full)) => item,
        };
        room.wait(None, || ring.has_room_now() || ring.end_now().1);
    }
}

/// A producer that sleeps until the consumer has made room for it.
pub fn waiting_for_room() -> Model {
    Model::new(3, || {
        let (ring, mut cursor) = Ring::new(1).expect("memory");
        let shared = share((ring, Room::default()));
        let pushing = thread::spawn({
            let shared = shared.clone();
            move || {
                [0, 1]
                    .into_iter()
                    .for_each(|item| assert!(push_wait(&shared.0.0, &shared.0.1, item)))
            }
        });
        let (ring, room) = &**shared;
        let mut came = vec![take(ring, &mut cursor)];
        ring.free(&cursor);
        room.notify();
        pushing.join().unwrap();
        came.push(take(ring, &mut cursor));
        assert_all_came(&came, vec![0, 1]);
    })
}

/// Two producers sleep until the consumer has made room for one after the other.
pub fn waiting_for_room_in_turn() -> Model {
    Model::new(1, || {
        let (ring, mut cursor) = Ring::new(1).expect("memory");
        assert_eq!(ring.push(0), Ok(()));
        let shared = share((ring, Room::default()));
        let push = |item| {
            let shared = shared.clone();
            thread::spawn(move || assert!(push_wait(&shared.0.0, &shared.0.1, item)))
        };
        let pushing = [push(10), push(20)];
        let (ring, room) = &**shared;
        let mut came = Vec::new();
        for _ in 0..2 {
            came.push(take(ring, &mut cursor));
            ring.free(&cursor);
            room.notify();
        }
        pushing.into_iter().for_each(|pushing| pushing.join().unwrap());
        came.push(take(ring, &mut cursor));
        assert_all_came(&came, vec![0, 10, 20]);
    })
}

fn take(ring: &Ring<usize>, cursor: &mut Cursor) -> usize {
    loop {
        match ring.take(cursor) {
            Some(item) => return item,
            None => thread::yield_now(),
        }
    }
}

/// A producer that sleeps for want of room, and a queue that ends.
pub fn waiting_for_the_end() -> Model {
    Model::new(3, || {
        let (ring, _cursor) = Ring::new(1).expect("memory");
        assert_eq!(ring.push(0), Ok(()));
        let shared = share((ring, Room::default()));
        let pushing = thread::spawn({
            let shared = shared.clone();
            move || assert!(!push_wait(&shared.0.0, &shared.0.1, 1), "there is never room")
        });
        let (ring, room) = &**shared;
        ring.close();
        room.notify();
        pushing.join().unwrap();
    })
}

/// Two producers find two slots that the consumer gives back at once: one of them by the head that
/// the other has seen.
pub fn passing_room_on() -> Model {
    Model::new(2, || {
        let (ring, mut cursor) = Ring::new(2).expect("memory");
        let ring = share(ring);
        assert_eq!((ring.push(0), ring.push(1)), (Ok(()), Ok(())));
        let push = |item| {
            let ring = ring.clone();
            thread::spawn(move || ring.push(item).is_ok())
        };
        let pushing = [push(10), push(20)];
        let mut came: Vec<_> = (0..2).filter_map(|_| ring.take(&mut cursor)).collect();
        ring.free(&cursor);
        let mut all = vec![0, 1];
        for (item, pushing) in [10, 20].into_iter().zip(pushing) {
            all.extend(pushing.join().unwrap().then_some(item));
        }
        came.extend(std::iter::from_fn(|| ring.take(&mut cursor)));
        assert_all_came(&came, all);
    })
}

/// Whoever learns of the end sees what was done before it.
pub fn seeing_the_end() -> Model {
    Model::new(3, || {
        let (door, cursor) = Door::new(1);
        // All threads of a model are one to the operating system.
        let written = Rc::new(UnsafeCell::new(0));
        let closing = thread::spawn({
            let (door, written) = (door.clone(), written.clone());
            move || {
                // SAFETY: nobody else looks before the channel is closed; loom checks that.
                written.with_mut(|written| unsafe { *written = 1 });
                door.close();
            }
        });
        let read = || {
            // SAFETY: the channel is closed, and nobody writes any more; loom checks that.
            written.with(|written| assert_eq!(unsafe { *written }, 1))
        };
        if door.channel.ring.end().1 {
            read();
        }
        while door.channel.arm(&cursor) != Armed::Closed {
            door.bell.wait();
        }
        read();
        closing.join().unwrap();
    })
}

/// A third thread asks for the account while one produces and one consumes.
pub fn snapshot() -> Model {
    Model::new(2, || {
        let (ring, mut cursor) = Ring::new(1).expect("memory");
        let shared = share((ring, Account::default()));
        let pushing = thread::spawn({
            let shared = shared.clone();
            move || assert_eq!(shared.0.0.push(0), Ok(()))
        });
        let asking = thread::spawn({
            let shared = shared.clone();
            move || balanced(&shared.0.0, &shared.0.1)
        });
        let (ring, account) = &**shared;
        while !ring.is_published(cursor.position()) {
            thread::yield_now();
        }
        assert_eq!(account.take(|| ring.take(&mut cursor)), Some(0));
        account.process();
        ring.free(&cursor);
        assert!(asking.join().unwrap() <= 1);
        pushing.join().unwrap();
        assert_eq!(balanced(ring, account), 1);
    })
}

/// How many items were accepted, by a snapshot that balances.
fn balanced(ring: &Ring<usize>, account: &Account) -> u64 {
    let seen = account.snapshot(ring);
    let gone = seen.processed + seen.returned;
    assert_eq!(seen.accepted, gone + seen.owned, "unbalanced: {seen:?}");
    seen.accepted
}
