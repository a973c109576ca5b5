//! Competing consumers: workers that claim one unit each of a semaphore in front of a queue.
//!
//! It is unfair. One arrival wakes one of them, so whoever leaves with units left rings on.
#![allow(clippy::print_stdout)]

use std::{collections::VecDeque, io};
use watchbell::epoll::{Epoll, Events, ExclusiveInterest, OnBlocking, Trigger};
use watchbell::eventfd::Semaphore;
use watchbell::sync::{Mutex, PoisonError, thread};

const WORKERS: usize = 4;
const JOBS: u64 = 1000;

struct Queue {
    entries: Mutex<VecDeque<Option<u64>>>, // the jobs, then one `None` a worker
    units: Semaphore,
}

impl Queue {
    /// The next entry, if this worker is the one who gets a unit.
    fn claim(&self) -> io::Result<Option<Option<u64>>> {
        let has_unit = self.units.try_wait()?;
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(has_unit.then(|| entries.pop_front().expect("a unit stands for an entry")))
    }
}

fn work(queue: &Queue) -> io::Result<(usize, u64)> {
    let (epoll, edge) = (Epoll::new()?, Trigger::Edge(OnBlocking::Refuse));
    let _registered = epoll.exclusive(&queue.units, ExclusiveInterest::Readable, edge)?;
    let (mut events, mut done, mut sum) = (Events::with_capacity(1), 0, 0);
    loop {
        while let Some(entry) = queue.claim()? {
            let Some(job) = entry else {
                queue.units.post(0)?; // adds none, and wakes whoever is next
                return Ok((done, sum));
            };
            (done, sum) = (done + 1, sum + job);
        }
        epoll.wait(&mut events, None)?;
    }
}

fn main() -> io::Result<()> {
    let entries = (1..=JOBS).map(Some).chain([None; WORKERS]).collect();
    let queue = Queue { entries: Mutex::new(entries), units: Semaphore::new(0)? };
    let (mut jobs, mut total) = (0, 0);
    thread::scope(|scope| {
        let workers = [(); WORKERS].map(|()| scope.spawn(|| work(&queue)));
        queue.units.post(JOBS + WORKERS as u64)?;
        for (index, worker) in workers.into_iter().enumerate() {
            let (done, sum) = worker.join().expect("a worker does not panic")?;
            println!("worker {index}: {done} jobs");
            (jobs, total) = (jobs + done, total + sum);
        }
        println!("total: {jobs} jobs, sum {total}");
        Ok(())
    })
}
