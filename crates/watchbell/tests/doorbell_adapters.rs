//! A doorbell's queue in loops of others: mio, tokio and calloop, each by its own waiting.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/items.rs"]
mod items;
#[path = "support/programs.rs"]
mod programs;
mod support;

use calloop::EventLoop;
use items::{Item, Items, assert_ledger, assert_same_items};
use mio::{Events, Interest, Poll, Token};
use programs::{built_with, last_line_of};
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll as Polled, Waker};
use std::thread;
use std::time::Duration;
use support::{observe, watchdog};
use tokio::runtime::{Builder, Runtime};
use watchbell::doorbell::{Armed, PushError, Queue, doorbell};

const PRODUCERS: usize = 4;
const EACH: usize = 2_500;

/// A loop that sends the items of a queue on until it has ended, and gives it back.
type Consumer = fn(Queue<Item>, Sender<Item>) -> Queue<Item>;

fn by_mio(mut queue: Queue<Item>, came: Sender<Item>) -> Queue<Item> {
    let (mut poll, mut events) = (Poll::new().unwrap(), Events::with_capacity(4));
    poll.registry().register(&mut queue, Token(7), Interest::READABLE).unwrap();
    loop {
        queue.drain(usize::MAX, |item| came.send(item).unwrap());
        match queue.arm() {
            Armed::Item => {}
            Armed::Sleep => poll.poll(&mut events, None).unwrap(),
            Armed::SleepBriefly => poll.poll(&mut events, Some(Armed::BRIEFLY)).unwrap(),
            Armed::Closed => break,
        }
    }
    poll.registry().deregister(&mut queue).unwrap();
    queue
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn by_tokio(queue: Queue<Item>, came: Sender<Item>) -> Queue<Item> {
    runtime().block_on(async {
        let mut queue = queue.into_async().unwrap();
        while let Some(item) = queue.next().await.unwrap() {
            came.send(item).unwrap();
        }
        assert!(queue.next().await.unwrap().is_none(), "the end stays the end");
        queue.into_queue()
    })
}

/// With a small budget, so that it is spent.
fn by_calloop(queue: Queue<Item>, came: Sender<Item>) -> Queue<Item> {
    let mut events: EventLoop<'_, bool> = EventLoop::try_new().unwrap();
    let source = calloop::Dispatcher::new(queue.into_source(3), |item, (), ended: &mut bool| {
        assert!(!*ended, "nothing comes after the end");
        match item {
            Some(item) => came.send(item).unwrap(),
            None => *ended = true,
        }
    });
    events.handle().register_dispatcher(source.clone()).unwrap();
    let mut ended = false;
    while !ended {
        events.dispatch(None, &mut ended).unwrap();
    }
    events.dispatch(Duration::ZERO, &mut ended).unwrap();
    source.into_source_inner().into_queue()
}

/// Small queues, so that the consumer sleeps and the producers wait, again and again.
fn d10_body(consumer: Consumer) {
    for capacity in [1, 64] {
        watchdog(move || {
            let items = Items::new(PRODUCERS * EACH);
            let (bell, queue) = doorbell(capacity).unwrap();
            let producers: Vec<_> = (0..PRODUCERS)
                .map(|producer| {
                    let (items, bell) = (items.clone(), bell.clone());
                    let own = producer * EACH..(producer + 1) * EACH;
                    thread::spawn(move || {
                        own.for_each(|id| assert!(bell.push_wait(items.make(id)).is_ok()));
                    })
                })
                .collect();
            drop(bell);
            let (came, received) = channel();
            let queue = consumer(queue, came);
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            let came: Vec<usize> = received.into_iter().map(|item| item.id).collect();
            assert_same_items(&came, 0..PRODUCERS * EACH);
            items.assert_all_ended_once();
            let all = (PRODUCERS * EACH) as u64;
            assert_ledger(queue.ledger(), [all, all, 0, 0]);
        });
    }
}

/// The next item, which was pushed to a consumer that slept.
fn next_id(received: &Receiver<Item>) -> usize {
    received.recv().unwrap().id
}

fn d05_body(consumer: Consumer) {
    watchdog(move || {
        let items = Items::new(3);
        let (bell, queue) = doorbell(2).unwrap();
        let (came, received) = channel();
        let consumer = observe(move || consumer(queue, came));
        for id in 0..3 {
            consumer.wait_until_blocked();
            bell.push(items.make(id)).unwrap();
            assert_eq!(next_id(&received), id);
        }
        consumer.wait_until_blocked();
        bell.close();
        assert_ledger(consumer.join().ledger(), [3, 3, 0, 0]);
    });
}

/// What was accepted before the close comes first.
fn d10_close_body(consumer: Consumer) {
    watchdog(move || {
        let items = Items::new(9);
        let (bell, queue) = doorbell(8).unwrap();
        (0..8).for_each(|id| bell.push(items.make(id)).unwrap());
        bell.close();
        assert!(matches!(bell.push(items.make(8)), Err(PushError::Closed(_))));
        let (came, received) = channel();
        let queue = consumer(queue, came);
        let came: Vec<usize> = received.into_iter().map(|item| item.id).collect();
        assert_eq!(came, (0..8).collect::<Vec<_>>());
        assert!(queue.has_ended());
        items.assert_all_ended_once();
    });
}

#[test]
fn d10_mio_brings_each_item_once() {
    d10_body(by_mio);
}

#[test]
fn d10_tokio_brings_each_item_once() {
    d10_body(by_tokio);
}

#[test]
fn d10_calloop_brings_each_item_once() {
    d10_body(by_calloop);
}

#[test]
fn d05_a_push_wakes_mio_from_its_sleep() {
    d05_body(by_mio);
}

#[test]
fn d05_a_push_wakes_tokio_from_its_sleep() {
    d05_body(by_tokio);
}

#[test]
fn d05_a_push_wakes_calloop_from_its_sleep() {
    d05_body(by_calloop);
}

#[test]
fn d10_a_close_ends_it_in_mio() {
    d10_close_body(by_mio);
}

#[test]
fn d10_a_close_ends_it_in_tokio() {
    d10_close_body(by_tokio);
}

#[test]
fn d10_a_close_ends_it_in_calloop() {
    d10_close_body(by_calloop);
}

/// Each `next` is polled once and dropped if it is pending, as a `select!` does whose other branch
/// is ready, while the producers go on.
#[test]
fn d10_a_cancelled_next_of_tokio_loses_no_item() {
    watchdog(|| {
        let items = Items::new(EACH);
        let (bell, queue) = doorbell(4).unwrap();
        let (made, mut cancelled) = (items.clone(), 0);
        let (start, started) = channel();
        let producer = thread::spawn(move || {
            started.recv().unwrap();
            (0..EACH).for_each(|id| assert!(bell.push_wait(made.make(id)).is_ok()));
        });
        let came = runtime().block_on(async {
            let (mut queue, mut came) = (queue.into_async().unwrap(), Vec::new());
            loop {
                let polled = {
                    let mut next = pin!(queue.next());
                    next.as_mut().poll(&mut Context::from_waker(Waker::noop()))
                };
                match polled {
                    Polled::Ready(Ok(Some(item))) => came.push(item.id),
                    Polled::Ready(end) => break end.map(|_| came),
                    Polled::Pending => {
                        cancelled += 1;
                        let _ = start.send(());
                        tokio::task::yield_now().await;
                    }
                }
            }
        });
        producer.join().unwrap();
        assert!(cancelled > 0, "the first poll found nothing, since nothing was pushed before it");
        assert_eq!(came.unwrap(), (0..EACH).collect::<Vec<_>>());
        items.assert_all_ended_once();
    });
}

/// A `next` that was cancelled has left the queue armed: the following one is still woken.
#[test]
fn d05_tokio_is_woken_after_a_cancelled_next() {
    watchdog(|| {
        let (bell, queue) = doorbell(1).unwrap();
        let (send, ready) = channel();
        let consumer = observe(move || {
            runtime().block_on(async {
                let mut queue = queue.into_async().unwrap();
                for _ in 0..3 {
                    let brief = tokio::time::timeout(Duration::from_millis(1), queue.next());
                    assert!(brief.await.is_err(), "nothing was pushed");
                }
                send.send(()).unwrap();
                queue.next().await.unwrap()
            })
        });
        ready.recv().unwrap();
        consumer.wait_until_blocked();
        bell.push(5).unwrap();
        assert_eq!(consumer.join(), Some(5));
    });
}

/// A queue that always has an item does not keep the thread to itself.
#[test]
fn e10_tokio_serves_another_task_while_the_queue_is_full() {
    watchdog(|| {
        let (bell, queue) = doorbell(EACH).unwrap();
        bell.push_all(&mut (0..EACH)).unwrap();
        runtime().block_on(async {
            let mut queue = queue.into_async().unwrap();
            let other = tokio::spawn(async {});
            let mut before = 0;
            while !other.is_finished() {
                assert!(queue.next().await.unwrap().is_some());
                before += 1;
            }
            assert!(before < EACH, "{before} items before the other task ran");
        });
    });
}

/// An item that is left by a spent budget comes in the next turn, beside the other sources.
#[test]
fn d07_calloop_serves_others_between_two_budgets() {
    watchdog(|| {
        let (bell, queue) = doorbell(8).unwrap();
        bell.push_all(&mut (0..8)).unwrap();
        let mut events: EventLoop<'_, Vec<i32>> = EventLoop::try_new().unwrap();
        let push = |item, (): &mut (), came: &mut Vec<i32>| came.extend(item);
        events.handle().insert_source(queue.into_source(3), push).unwrap();
        let mut came = Vec::new();
        for expected in [3, 6, 8] {
            events.dispatch(None, &mut came).unwrap();
            assert_eq!(came.len(), expected);
        }
    });
}

/// The doorbells keep the eventfd open, so it takes the removal to end calloop's registration.
#[test]
fn e13_calloop_forgets_a_queue_that_it_has_removed() {
    watchdog(|| {
        let (bell, queue) = doorbell(1).unwrap();
        let mut events: EventLoop<'_, usize> = EventLoop::try_new().unwrap();
        let count = |_: Option<u8>, (): &mut (), came: &mut usize| *came += 1;
        let token = events.handle().insert_source(queue.into_source(1), count).unwrap();
        let mut came = 0;
        events.dispatch(Duration::ZERO, &mut came).unwrap();
        events.handle().disable(&token).unwrap();
        bell.push(1).unwrap();
        events.dispatch(Duration::ZERO, &mut came).unwrap();
        assert_eq!(came, 0, "disabled, it says nothing");
        events.handle().enable(&token).unwrap();
        events.dispatch(None, &mut came).unwrap();
        assert_eq!(came, 1, "enabled, it has what came meanwhile");
        events.handle().remove(token);
        assert!(bell.is_closed());
        events.dispatch(Duration::ZERO, &mut came).unwrap();
        assert_eq!(came, 1);
    });
}

/// With the features that this program has, so that the library is not built once more.
fn last_line_of_example(example: &str) -> String {
    last_line_of(built_with("mio,tokio,calloop", example))
}

#[test]
fn the_example_of_mio() {
    assert_eq!(last_line_of_example("with_mio"), "mio: 1000 items, sum 499500");
}

#[test]
fn the_example_of_tokio() {
    assert_eq!(last_line_of_example("with_tokio"), "tokio: 1000 items, sum 499500");
}

#[test]
fn the_example_of_calloop() {
    assert_eq!(last_line_of_example("with_calloop"), "calloop: 1000 items, sum 499500");
}
