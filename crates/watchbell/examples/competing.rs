//! Competing consumers: workers that claim one unit each of a semaphore in front of a queue.
//!
//! It is unfair: whoever reads first has the unit. The workers wait exclusively, so one arrival
//! wakes one of them, whatever it brings: who leaves with units left rings on for the next.
#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::io;
use watchbell::epoll::{Epoll, Events, ExclusiveInterest, OnBlocking, Trigger};
use watchbell::eventfd::Semaphore;
use watchbell::sync::{Mutex, PoisonError, thread};

const WORKERS: usize = 4;
const BUDGET: usize = 16; // jobs a wake

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
    let (epoll, mut events) = (Epoll::new()?, Events::with_capacity(1));
    let edge = Trigger::Edge(OnBlocking::Refuse);
    let _registered = epoll.exclusive(&queue.units, ExclusiveInterest::Readable, edge)?;
    let (mut done, mut sum, mut at_end) = (0, 0, false);
    while !at_end {
        epoll.wait(&mut events, None)?;
        let mut budget = BUDGET;
        while budget > 0
            && !at_end
            && let Some(entry) = queue.claim()?
        {
            (budget, at_end) = (budget - 1, entry.is_none());
            (done, sum) = (done + usize::from(entry.is_some()), sum + entry.unwrap_or(0));
        }
        if budget == 0 || at_end {
            queue.units.post(0)?; // adds none, and wakes whoever is next
        }
    }
    Ok((done, sum))
}

fn main() -> io::Result<()> {
    let entries: VecDeque<_> = (1..=1000).map(Some).chain([None; WORKERS]).collect();
    let units = entries.len() as u64;
    let queue = Queue { entries: Mutex::new(entries), units: Semaphore::new(0)? };
    let workers = thread::scope(|scope| {
        let workers = [(); WORKERS].map(|()| scope.spawn(|| work(&queue)));
        queue.units.post(units)?;
        workers.into_iter().map(|it| it.join().expect("no panic")).collect::<io::Result<Vec<_>>>()
    })?;
    workers.iter().enumerate().for_each(|(n, (done, _))| println!("worker {n}: {done} jobs"));
    let (jobs, sum) = workers.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    println!("total: {jobs} jobs, sum {sum}");
    Ok(())
}
