//! A doorbell's queue in a tokio task, fed by threads that know nothing of tokio.
#![allow(clippy::print_stdout)]

use std::io;
use std::thread;
use tokio::runtime;
use watchbell::doorbell::{Queue, doorbell};

async fn consume(queue: Queue<u64>) -> io::Result<(u64, u64)> {
    let (mut queue, mut items, mut sum) = (queue.into_async()?, 0, 0);
    while let Some(n) = queue.next().await? {
        (items, sum) = (items + 1, sum + n);
    }
    Ok((items, sum))
}

fn main() -> io::Result<()> {
    let (bell, queue) = doorbell::<u64>(64)?;
    let producers = [0, 1].map(|parity| {
        let bell = bell.clone();
        thread::spawn(move || (0..500).try_for_each(|n| bell.push_wait(2 * n + parity)))
    });
    drop(bell); // the queue ends with its last producer

    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let (items, sum) = runtime.block_on(consume(queue))?;
    producers.into_iter().for_each(|producer| assert!(matches!(producer.join(), Ok(Ok(())))));
    println!("tokio: {items} items, sum {sum}");
    Ok(())
}
