//! A doorbell's queue in mio's poll: take everything, arm, and sleep only if that says so.
#![allow(clippy::print_stdout)]

use mio::{Events, Interest, Poll, Token};
use std::io;
use std::thread;
use std::time::Duration;
use watchbell::doorbell::{Armed, doorbell};

const QUEUE: Token = Token(0);

fn main() -> io::Result<()> {
    let (bell, mut queue) = doorbell::<u64>(64)?;
    let producers = [0, 1].map(|parity| {
        let bell = bell.clone();
        thread::spawn(move || (0..500).try_for_each(|n| bell.push_wait(2 * n + parity)))
    });
    drop(bell); // the queue ends with its last producer

    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(64));
    poll.registry().register(&mut queue, QUEUE, Interest::READABLE)?;
    let (mut items, mut sum) = (0, 0);
    loop {
        // At most so many a turn, so that other sources have theirs.
        items += queue.drain(256, |n| sum += n);
        let timeout = match queue.arm() {
            Armed::Item => Some(Duration::ZERO),
            Armed::Sleep => None,
            Armed::SleepBriefly => Some(Armed::BRIEFLY),
            Armed::Closed => break,
        };
        poll.poll(&mut events, timeout)?; // serve `events` here: QUEUE's own needs no answer
    }
    poll.registry().deregister(&mut queue)?;
    producers.into_iter().for_each(|producer| assert!(matches!(producer.join(), Ok(Ok(())))));
    println!("mio: {items} items, sum {sum}");
    Ok(())
}
