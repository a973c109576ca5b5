//! C. eventfd: calls that block.

use crate::compare::call::{Call, show};
use crate::compare::system::{System, Thread, both};
use crate::line;
use watchbell_model::{EFD_SEMAPHORE, Fd, Mask, O_CLOEXEC, O_NONBLOCK};

const MAX: u64 = u64::MAX - 1;

fn writer(s: &mut dyn System, fd: Fd, value: u64) -> Thread {
    s.spawn(Call::Write { fd, bytes: value.to_ne_bytes().to_vec() })
}

fn readers(s: &mut dyn System, fd: Fd, count: usize) -> Vec<Thread> {
    (0..count).map(|_| s.reader(fd)).collect()
}

#[test]
fn case_e060_a_read_blocks_until_there_is_something() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let reader = s.reader(f);
            line![
                s.look(&[reader]),
                s.write(f, 0xdead_beef),
                s.look(&[reader]),
                s.poll(f, Mask::IN)
            ]
        },
        "-; 8; 8:3735928559; 0:0",
    );
}

#[test]
fn case_e061_a_write_of_zero_leaves_the_reader_blocked() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let reader = s.reader(f);
            line![s.write(f, 0), s.look(&[reader]), s.write(f, 3), s.look(&[reader])]
        },
        "8; -; 8; 8:3",
    );
}

#[test]
fn case_e062_a_write_blocks_until_there_is_room() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let full = s.write(f, MAX);
            let writer = writer(s, f, 7);
            line![full, s.look(&[writer]), s.read(f), s.look(&[writer]), s.read(f)]
        },
        "8; -; 8:18446744073709551614; 8; 8:7",
    );
}

#[test]
fn case_e064_one_of_four_readers_gets_the_count() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let readers = readers(s, f, 4);
            line![s.write(f, 5), s.count(&readers), s.poll(f, Mask::IN)]
        },
        "8; 1; 0:0",
    );
}

#[test]
fn case_e065_one_write_of_four_feeds_four_semaphore_readers() {
    both(
        |s| {
            let f = s.eventfd_with(0, EFD_SEMAPHORE);
            let readers = readers(s, f, 4);
            line![s.write(f, 4), s.look(&readers)]
        },
        "8; 8:1 8:1 8:1 8:1",
    );
}

#[test]
fn case_e066_as_many_semaphore_readers_return_as_there_are_units() {
    both(
        |s| {
            let f = s.eventfd_with(0, EFD_SEMAPHORE);
            let readers = readers(s, f, 4);
            line![s.write(f, 2), s.count(&readers), s.write(f, 1), s.count(&readers)]
        },
        "8; 2; 8; 1",
    );
}

/// Which reader gets a unit is open: only the sum is told.
#[test]
fn case_e067_readers_race_and_each_unit_goes_to_one() {
    both(
        |s| {
            let f = s.eventfd_with(0, EFD_SEMAPHORE);
            let readers = readers(s, f, 4);
            let counts = [0; 4].map(|_| {
                s.write(f, 1);
                s.count(&readers)
            });
            format!("{counts:?}")
        },
        "[1, 1, 1, 1]",
    );
}

#[test]
fn case_e069_a_signal_interrupts_a_read() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let reader = s.reader(f);
            s.interrupt(reader);
            let outcome = s.join(reader);
            line![show(&outcome), s.write(f, 9), s.read(f)]
        },
        "EINTR; 8; 8:9",
    );
}

#[test]
fn case_e070_a_signal_interrupts_a_write_which_adds_nothing() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            s.write(f, MAX);
            let writer = writer(s, f, 5);
            s.interrupt(writer);
            let outcome = s.join(writer);
            line![show(&outcome), s.read(f)]
        },
        "EINTR; 8:18446744073709551614",
    );
}

#[test]
fn case_e071_closing_the_number_does_not_disturb_a_blocked_read() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let d = s.dup(f);
            let reader = s.reader(f);
            line![s.close(f), s.look(&[reader]), s.write(d, 6), s.look(&[reader])]
        },
        "0; -; 8; 8:6",
    );
}

#[test]
fn case_e073_nonblock_is_read_when_the_call_begins() {
    both(
        |s| {
            let f = s.eventfd(0);
            let empty = line![s.read(f), s.set_flags(f, 0)];
            let reader = s.reader(f);
            let blocked = line![s.look(&[reader]), s.set_flags(f, O_NONBLOCK), s.look(&[reader])];
            let woken = line![s.write(f, 1), s.look(&[reader]), s.read(f)];
            line![empty, blocked, woken, s.write(f, MAX), s.write(f, 1)]
        },
        "EAGAIN; 0; -; 0; -; 8; 8:1; EAGAIN; 8; EAGAIN",
    );
}

#[test]
fn case_e077_a_forked_child_shares_the_counter_and_its_flags() {
    both(
        |s| {
            let f = s.eventfd(0);
            let wrote = s.fork(false, &|child| child.write(f, 7));
            let first = line![wrote, s.read(f), s.write(f, 4)];
            let read = s.fork(false, &|child| line![child.read(f), child.set_flags(f, 0)]);
            line![first, read, s.flags(f)]
        },
        "8; 8:7; 8; 8:4; 0; 02",
    );
}

#[test]
fn case_e078_a_passed_descriptor_is_of_the_same_counter() {
    both(
        |s| {
            let f = s.eventfd(0);
            let passed = s.say(&Call::Pass { fd: f }).parse().expect("a descriptor");
            line![s.write(f, 5), s.close(f), s.read(passed)]
        },
        "8; 0; 8:5",
    );
}

#[test]
fn case_e079_close_on_exec_keeps_it_out_of_an_executed_program() {
    both(
        |s| {
            let (plain, cloexec) = (s.eventfd(0), s.eventfd_with(0, O_CLOEXEC));
            let epoll = s.epoll();
            s.exec(&[plain, cloexec], epoll)
        },
        "open gone; []",
    );
}

#[test]
fn case_e080_concurrent_writes_add_up() {
    both(
        |s| {
            let f = s.eventfd(0);
            let writers: Vec<_> = (1..=6).map(|value| writer(s, f, value)).collect();
            line![s.count(&writers), s.read(f), s.read(f)]
        },
        "6; 8:21; EAGAIN",
    );
}

/// The late read may win or lose against the one that was blocked: no unit is lost or doubled.
#[test]
fn case_y001_a_late_read_may_overtake_a_blocked_one() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let blocked = s.reader(f);
            s.write(f, 1);
            let late = s.reader(f);
            line![s.count(&[blocked, late]), s.poll(f, Mask::IN)]
        },
        "1; 0:0",
    );
}

#[test]
fn case_y004_a_write_of_zero_passes_a_blocked_writer() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            s.write(f, MAX);
            let writer = writer(s, f, 1);
            line![s.write(f, 0), s.look(&[writer]), s.read(f), s.look(&[writer])]
        },
        "8; -; 8:18446744073709551614; 8",
    );
}

#[test]
fn case_y005_a_drain_lets_one_of_two_large_writers_go() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            s.write(f, MAX);
            let writers = [writer(s, f, MAX), writer(s, f, 7)];
            s.read(f);
            let first = s.count(&writers);
            s.read(f);
            line![first, s.count(&writers)]
        },
        "1; 1",
    );
}
