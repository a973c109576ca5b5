//! A doorbell's queue as a source of calloop's loop, which its end stops.
#![allow(clippy::print_stdout)]

use calloop::{EventLoop, LoopSignal};
use std::error::Error;
use std::thread;
use watchbell::doorbell::doorbell;

struct State {
    items: u64,
    sum: u64,
    signal: LoopSignal,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (bell, queue) = doorbell::<u64>(64)?;
    let producers = [0, 1].map(|parity| {
        let bell = bell.clone();
        thread::spawn(move || (0..500).try_for_each(|n| bell.push_wait(2 * n + parity)))
    });
    drop(bell); // the queue ends with its last producer

    let mut events: EventLoop<'_, State> = EventLoop::try_new()?;
    events.handle().insert_source(queue.into_source(256), |item, (), state| match item {
        Some(n) => (state.items, state.sum) = (state.items + 1, state.sum + n),
        None => state.signal.stop(),
    })?;
    let mut state = State { items: 0, sum: 0, signal: events.get_signal() };
    events.run(None, &mut state, |_| {})?;
    producers.into_iter().for_each(|producer| assert!(matches!(producer.join(), Ok(Ok(())))));
    println!("calloop: {} items, sum {}", state.items, state.sum);
    Ok(())
}
