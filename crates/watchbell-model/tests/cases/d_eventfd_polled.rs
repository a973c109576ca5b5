//! D. eventfd: poll and select.

use crate::compare::call::{Call, Timeout, show};
use crate::compare::system::both;
use crate::line;
use watchbell_model::{EFD_SEMAPHORE, Mask, PollFd, Sets};

const MAX: u64 = u64::MAX - 1;
const BOTH: Mask = Mask(Mask::IN.0 | Mask::OUT.0);

#[test]
fn case_e090_readable_above_zero_and_writable_below_the_maximum() {
    both(
        |s| {
            let f = s.eventfd(0);
            let zero = s.poll(f, BOTH);
            s.write(f, 5);
            let five = s.poll(f, BOTH);
            s.write(f, MAX - 6);
            let nearly = s.poll(f, BOTH);
            s.write(f, 1);
            let full = s.poll(f, BOTH);
            s.read(f);
            line![zero, five, nearly, full, s.poll(f, BOTH)]
        },
        "1:OUT; 1:IN|OUT; 1:IN|OUT; 1:IN; 1:OUT",
    );
}

#[test]
fn case_e094_never_the_norm_bits() {
    both(
        |s| {
            let (f, zero) = (s.eventfd(5), s.eventfd(0));
            let norm = Mask::RDNORM | Mask::WRNORM;
            let all = Mask(0xffff);
            let none = line![s.poll(f, norm), s.poll(f, Mask::RDNORM)];
            line![none, s.poll(f, all), s.poll(zero, all), s.poll(f, Mask::NONE)]
        },
        "0:0; 0:0; 1:IN|OUT; 1:OUT; 0:0",
    );
}

#[test]
fn case_e096_select_says_the_same_and_never_except() {
    both(
        |s| {
            let f = s.eventfd(0);
            let zero = s.select(f);
            s.write(f, 5);
            let five = s.select(f);
            s.write(f, MAX - 5);
            line![zero, five, s.select(f)]
        },
        "n=1 r=0 w=1 x=0; n=2 r=1 w=1 x=0; n=1 r=1 w=0 x=0",
    );
}

#[test]
fn case_e097_a_write_wakes_poll_for_in_and_a_read_for_out() {
    both(
        |s| {
            let (f, full) = (s.eventfd(0), s.eventfd(0));
            s.write(full, MAX);
            let threads = [s.poller(f, Mask::IN), s.poller(full, Mask::OUT)];
            let before = s.look(&threads);
            line![before, s.write(f, 1), s.read(full), s.look(&threads)]
        },
        "- -; 8; 8:18446744073709551614; 1:IN 1:OUT",
    );
}

#[test]
fn case_e098_a_write_of_zero_does_not_end_a_poll() {
    both(
        |s| {
            let f = s.eventfd(0);
            let poller = s.poller(f, Mask::IN);
            line![s.write(f, 0), s.look(&[poller]), s.write(f, 1), s.look(&[poller])]
        },
        "8; -; 8; 1:IN",
    );
}

#[test]
fn case_e099_a_number_that_is_not_open_is_nval() {
    both(
        |s| {
            let f = s.eventfd(0);
            s.close(f);
            line![s.poll(f, Mask::IN), s.poll(150, Mask::NONE)]
        },
        "1:NVAL; 1:NVAL",
    );
}

#[test]
fn case_e101_a_signal_ends_poll_and_select() {
    both(
        |s| {
            let f = s.eventfd(0);
            let poller = s.poller(f, Mask::IN);
            let sets = Sets { read: vec![f], ..Sets::default() };
            let selecting = s.spawn(Call::Select { sets, timeout: Timeout::Never });
            s.interrupt(poller);
            s.interrupt(selecting);
            let outcomes = [s.join(poller), s.join(selecting)];
            outcomes.map(|outcome| show(&outcome)).join(" ")
        },
        "EINTR EINTR",
    );
}

#[test]
fn case_e103_select_refuses_a_number_that_is_not_open() {
    both(
        |s| {
            let f = s.eventfd(0);
            line![s.close(f), s.select(f)]
        },
        "0; EBADF",
    );
}

/// Only the model: on Linux this takes asynchronous I/O.
#[test]
fn case_e104_a_posted_unit_reaches_the_maximum_and_is_an_error() {
    use watchbell_model::{Event, Kernel, Op, Task, Wait};
    let (mut kernel, main) = (Kernel::default(), Task::MAIN);
    let f = kernel.eventfd(main, 0, 0o4000).expect("an eventfd");
    let epoll = kernel.epoll_create(main, 0).expect("an instance");
    let event = Event { events: BOTH, data: 1 };
    kernel.epoll_ctl(main, epoll, Op::Add, f, event).expect("it can be watched");
    kernel.write(main, f, &MAX.to_ne_bytes());
    for _ in 0..2 {
        kernel.eventfd_post(main, f).expect("an eventfd");
        let lines = [PollFd { fd: f, events: Mask::NONE }];
        let said = format!(
            "{:?} {:?} {:?} {:?}",
            kernel.poll(main, &lines, Wait::Not),
            kernel.epoll_wait(main, epoll, 8, Wait::Not),
            kernel.write(main, f, &[0; 8]),
            kernel.fdinfo(main, f).map(|info| info.lines().next().map(str::to_owned)),
        );
        let expected = "Done(Ok(Masks([ERR]))) Done(Ok(Events([1:IN|ERR]))) Done(Err(EAGAIN)) \
                        Ok(Some(\"eventfd-count: ffffffffffffffff\"))";
        assert_eq!(said, expected);
    }
    let read = format!("{:?}", kernel.read(main, f, 8));
    assert!(read.contains("255, 255, 255, 255, 255, 255, 255, 255"), "{read}");
}

#[test]
fn case_e109_one_write_ends_every_poll_and_select() {
    both(
        |s| {
            let f = s.eventfd_with(0, EFD_SEMAPHORE);
            let sets = Sets { read: vec![f], ..Sets::default() };
            let threads = [
                s.poller(f, Mask::IN),
                s.poller(f, Mask::IN),
                s.spawn(Call::Select { sets, timeout: Timeout::Never }),
            ];
            line![s.write(f, 1), s.look(&threads)]
        },
        "8; 1:IN 1:IN n=1 r=1 w=0 x=0",
    );
}
