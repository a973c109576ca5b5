//! Workers that share a queue: one unit of a semaphore for each entry of it.
//!
//! A worker that has taken a unit finds an entry for certain, and one that finds no unit sleeps in
//! the kernel. The queue ends with one `None` a worker, after the last job.
#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::io;
use watchbell::eventfd::Semaphore;
use watchbell::sync::{Mutex, PoisonError, thread};

const WORKERS: usize = 4;
const JOBS: u32 = 1000;

struct Queue {
    entries: Mutex<VecDeque<Option<u32>>>,
    units: Semaphore,
}

impl Queue {
    /// The entry goes first: whoever takes the unit finds it.
    fn push(&self, entry: Option<u32>) -> io::Result<()> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push_back(entry);
        Ok(self.units.post(1)?)
    }

    fn pop(&self) -> io::Result<Option<u32>> {
        self.units.wait()?;
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(entries.pop_front().expect("a unit stands for an entry"))
    }
}

fn work(queue: &Queue) -> io::Result<(u32, u64)> {
    let (mut jobs, mut sum) = (0, 0);
    while let Some(job) = queue.pop()? {
        jobs += 1;
        sum += u64::from(job);
    }
    Ok((jobs, sum))
}

fn main() -> io::Result<()> {
    let queue = Queue { entries: Mutex::default(), units: Semaphore::new(0)? };
    let (mut jobs, mut sum) = (0, 0);
    thread::scope(|scope| {
        let workers = [(); WORKERS].map(|()| scope.spawn(|| work(&queue)));
        (1..=JOBS).try_for_each(|job| queue.push(Some(job)))?;
        workers.iter().try_for_each(|_| queue.push(None))?;
        for (index, worker) in workers.into_iter().enumerate() {
            let (did, its) = worker.join().expect("a worker does not panic")?;
            println!("worker {index}: {did} jobs");
            (jobs, sum) = (jobs + did, sum + its);
        }
        println!("total: {jobs} jobs, sum {sum}");
        Ok(())
    })
}
