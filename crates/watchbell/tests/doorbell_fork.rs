//! A forked child has copies of both ends, and the eventfd in common with its parent.
#![allow(clippy::unwrap_used)]

#[path = "support/fork.rs"]
mod fork;
#[path = "support/items.rs"]
mod items;

use fork::in_child;
use items::assert_ledger;
use std::time::Duration;
use watchbell::Error;
use watchbell::doorbell::{Armed, Queue, doorbell};
use watchbell::epoll::{AnyFd, Epoll, Events, Interest, OnBlocking};
use watchbell::event_loop::{EventLoop, Registration};

#[test]
fn c13_ends_dropped_in_a_forked_child_stay_the_parents() {
    let (bell, queue) = doorbell(4).unwrap();
    let epoll = Epoll::new().unwrap();
    let queue = epoll.edge(AnyFd(queue), Interest::READABLE, OnBlocking::Refuse).unwrap();
    let mut ends = Some((bell, queue));
    assert_eq!(
        in_child(|| ends.take().map_or(1, |ends| {
            drop(ends);
            0
        })),
        0
    );

    let (bell, mut queue) = ends.unwrap();
    let mut events = Events::with_capacity(1);
    let mut is_woken = || {
        epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
        !events.is_empty()
    };
    assert!(!bell.is_closed(), "the child closed its copy");
    assert_eq!(queue.get_mut().0.arm(), Armed::Sleep);
    is_woken();
    bell.push(1).unwrap();
    assert!(is_woken(), "it is still in the interest list");
    assert_eq!(queue.get_mut().0.pop(), Some(1));
}

#[test]
fn c13_an_item_pushed_in_a_forked_child_is_the_childs() {
    let (bell, mut queue) = doorbell(4).unwrap();
    let pushed = in_child(|| i32::from(bell.push(1).is_err() || bell.ledger().owned != 1));
    assert_eq!(pushed, 0);
    assert_eq!(queue.pop(), None);
    assert_ledger(bell.ledger(), [0; 4]);
}

/// The eventfd is one object: the child's end may wake the parent, which finds nothing.
#[test]
fn c13_a_ring_in_a_forked_child_wakes_the_parent_for_nothing() {
    let (bell, queue) = doorbell::<u8>(4).unwrap();
    let epoll = Epoll::new().unwrap();
    let mut queue = epoll.edge(AnyFd(queue), Interest::READABLE, OnBlocking::Refuse).unwrap();
    assert_eq!(queue.get_mut().0.arm(), Armed::Sleep);
    let mut ends = Some(bell);
    assert_eq!(
        in_child(|| ends.take().map_or(1, |bell| {
            drop(bell);
            0
        })),
        0
    );
    let mut events = Events::with_capacity(1);
    epoll.wait(&mut events, None).unwrap();
    assert_eq!((queue.get_mut().0.pop(), queue.get_mut().0.arm()), (None, Armed::Sleep));
}

#[test]
fn c13_a_loop_refuses_a_queue_in_a_forked_child_and_gives_it_back() {
    let mut events = EventLoop::new().unwrap();
    let mut ends = Some(doorbell(4).unwrap());
    let refused = in_child(|| {
        let (bell, queue) = ends.take().unwrap();
        let Err(rejected) = events.add(queue, Registration::default(), |_: u8, _| Ok(())) else {
            return 1;
        };
        let queue: Queue<u8> = rejected.source;
        i32::from(
            !matches!(rejected.error, Error::Forked) || bell.push(1).is_err() || !queue.has_item(),
        )
    });
    assert_eq!(refused, 0);
    let (bell, queue) = ends.unwrap();
    bell.push(2).unwrap();
    assert_eq!(queue.reclaim(), [2]);
}
