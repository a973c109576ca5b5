//! The machine behind a lock: real threads, really blocked.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::thread;
use std::time::{Duration, Instant};
use watchbell_model::{
    Caller, EFD_SEMAPHORE, Event, Fd, Kernel, Mask, O_NONBLOCK, Op, Oracle, Threaded, TimerSpec,
};

fn system() -> (Threaded, Caller) {
    let system = Threaded::new(Kernel::default());
    let caller = system.caller();
    (system, caller)
}

fn eventfd(caller: &Caller, flags: u32) -> Fd {
    caller.with(|kernel, task| kernel.eventfd(task, 0, flags)).unwrap()
}

fn epoll(caller: &Caller, target: Fd, events: Mask) -> Fd {
    caller.with(|kernel, task| {
        let epoll = kernel.epoll_create(task, 0).unwrap();
        kernel.epoll_ctl(task, epoll, Op::Add, target, Event { events, data: 1 }).unwrap();
        epoll
    })
}

fn one() -> [u8; 8] {
    1_u64.to_ne_bytes()
}

#[test]
fn a_read_blocks_until_a_write() {
    let (system, main) = system();
    let bell = eventfd(&main, 0);
    let reader = system.caller();
    let read = thread::spawn(move || reader.read(bell, 8));
    main.write(bell, &one()).unwrap();
    assert_eq!(read.join().unwrap(), Ok(one().to_vec()));
}

#[test]
fn a_write_blocks_until_there_is_room() {
    let (system, main) = system();
    let (reading, writing) = main.with(|kernel, task| kernel.pipe(task, 0)).unwrap();
    let writer = system.caller();
    let wrote = thread::spawn(move || writer.write(writing, &[7; 300_000]));
    let mut received = 0;
    while received < 300_000 {
        received += main.read(reading, 10_000).unwrap().len();
    }
    assert_eq!(wrote.join().unwrap(), Ok(300_000));
}

#[test]
fn one_write_wakes_every_level_triggered_waiter() {
    let (system, main) = system();
    let bell = eventfd(&main, O_NONBLOCK);
    let epoll = epoll(&main, bell, Mask::IN);
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let caller = system.caller();
            thread::spawn(move || caller.epoll_wait(epoll, 8, None))
        })
        .collect();
    main.write(bell, &one()).unwrap();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), Ok(vec![Event { events: Mask::IN, data: 1 }]));
    }
}

#[test]
fn a_timeout_is_never_early() {
    let (_, main) = system();
    let bell = eventfd(&main, O_NONBLOCK);
    let epoll = epoll(&main, bell, Mask::IN);
    let begin = Instant::now();
    assert_eq!(main.epoll_wait(epoll, 8, Some(Duration::from_millis(20))), Ok(vec![]));
    assert!(begin.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_timer_wakes_a_waiter() {
    let (_, main) = system();
    let timer = main.with(|kernel, task| kernel.timerfd(task, 0)).unwrap();
    let epoll = epoll(&main, timer, Mask::IN);
    let spec = TimerSpec { value: 5_000_000, interval: 0 };
    main.with(|kernel, task| kernel.timerfd_settime(task, timer, spec)).unwrap();
    assert_eq!(main.epoll_wait(epoll, 8, None), Ok(vec![Event { events: Mask::IN, data: 1 }]));
}

/// At both levels: every unit is taken exactly once.
#[test]
fn no_unit_is_lost_or_taken_twice() {
    for oracle in [Oracle::strict(), Oracle::permissive([])] {
        let system = Threaded::new(Kernel::new(oracle));
        let main = system.caller();
        let semaphore = eventfd(&main, EFD_SEMAPHORE);
        let takers: Vec<_> = (0..4)
            .map(|_| {
                let caller = system.caller();
                thread::spawn(move || {
                    (0..500).map(|_| caller.read(semaphore, 8)).all(|r| r.is_ok())
                })
            })
            .collect();
        for _ in 0..1000 {
            main.write(semaphore, &2_u64.to_ne_bytes()).unwrap();
        }
        for taker in takers {
            assert!(taker.join().unwrap());
        }
        main.with(|kernel, task| kernel.set_flags(task, semaphore, O_NONBLOCK)).unwrap();
        assert!(main.read(semaphore, 8).is_err());
    }
}
