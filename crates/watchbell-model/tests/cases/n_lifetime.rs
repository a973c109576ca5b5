//! N. Lifetime: closing, duplicates, fork, passing, exec.

use crate::compare::call::Call;
use crate::compare::system::both;
use crate::line;
use watchbell_model::{Mask, O_CLOEXEC, O_NONBLOCK};

const LEVEL: Mask = Mask::IN;

#[test]
fn case_s210_the_last_close_ends_the_registration() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, LEVEL, 1);
            let before = s.wait(e);
            s.close(f);
            let after = line![s.wait(e), s.fdinfo(e), s.delete(e, f)];
            let g = s.eventfd(1);
            line![before, after, g == f, s.delete(e, g), s.add(e, g, LEVEL, 2)]
        },
        "[1:IN]; []; ; EBADF; true; ENOENT; 0",
    );
}

#[test]
fn case_s211_a_duplicate_keeps_it_and_nobody_can_remove_it() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, LEVEL, 1);
            let d = s.dup(f);
            s.close(f);
            s.write(d, 1);
            let ghost = line![s.wait(e), s.delete(e, f), s.modify(e, f, LEVEL, 0)];
            let by_duplicate = line![s.delete(e, d), s.modify(e, d, LEVEL, 0)];
            let added = line![s.add(e, d, LEVEL, 2), s.wait(e)];
            s.close(d);
            line![ghost, by_duplicate, added, s.wait(e), s.fdinfo(e)]
        },
        "[1:IN]; EBADF; EBADF; ENOENT; ENOENT; 0; [1:IN,2:IN]; []; ",
    );
}

#[test]
fn case_s214_a_forked_child_keeps_it_too() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, LEVEL, 1);
            s.fork(true, &|_| String::new());
            s.close(f);
            let held = s.wait(e);
            s.reap();
            line![held, s.wait(e)]
        },
        "[1:IN]; []",
    );
}

#[test]
fn case_s216_a_duplicate_of_the_instance_is_the_instance() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            let d = s.dup(e);
            s.add(e, f, LEVEL, 1);
            let shared = line![s.wait(d), s.add(d, f, LEVEL, 1)];
            line![shared, s.close(e), s.wait(d), s.delete(d, f)]
        },
        "[1:IN]; EEXIST; 0; [1:IN]; 0",
    );
}

#[test]
fn case_s217_a_childs_registration_is_seen_by_the_parent() {
    both(
        |s| {
            let e = s.epoll();
            let child = s.fork(true, &|child| {
                let f = child.eventfd(1);
                child.say(&Call::Dup2 { fd: f, number: 77 });
                line![child.close(f), child.add(e, 77, LEVEL, 7777)]
            });
            let seen = line![child, s.wait(e), s.delete(e, 77)];
            s.reap();
            line![seen, s.wait(e)]
        },
        "0; 0; [7777:IN]; EBADF; []",
    );
}

#[test]
fn case_s218_a_childs_deletion_counts_and_its_closes_do_not() {
    both(
        |s| {
            let (e, f, g) = (s.epoll(), s.eventfd(1), s.eventfd(1));
            s.add(e, f, LEVEL, 1);
            let deleted = s.fork(false, &|child| child.delete(e, f));
            let gone = s.wait(e);
            s.add(e, g, LEVEL, 2);
            let closed = s.fork(false, &|child| line![child.close(g), child.close(e)]);
            line![deleted, gone, closed, s.wait(e)]
        },
        "0; []; 0; 0; [2:IN]",
    );
}

#[test]
fn case_s219_closing_one_instance_leaves_the_other() {
    both(
        |s| {
            let (a, b, f) = (s.epoll(), s.epoll(), s.eventfd(0));
            s.add(a, f, LEVEL, 1);
            s.add(b, f, LEVEL, 2);
            s.close(a);
            line![s.write(f, 1), s.wait(b), s.read(f)]
        },
        "8; [2:IN]; 8:1",
    );
}

#[test]
fn case_s221_a_passed_instance_tells_of_files_without_a_number() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, LEVEL, 1);
            let passed = s.say(&Call::Pass { fd: e }).parse().expect("a descriptor");
            let d = s.dup(f);
            line![s.close(e), s.close(f), s.write(d, 1), s.wait(passed)]
        },
        "0; 0; 8; [1:IN]",
    );
}

#[test]
fn case_s225_an_executed_program_finds_what_the_parent_keeps_open() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            let cloexec = s.eventfd_with(1, O_CLOEXEC | O_NONBLOCK);
            s.add(e, f, LEVEL, 1);
            s.add(e, cloexec, LEVEL, 2);
            s.exec(&[f, cloexec], e)
        },
        "open gone; [1:IN,2:IN]",
    );
}

#[test]
fn case_x011_dup2_over_a_registered_number_ends_it() {
    both(
        |s| {
            let (e, f, g) = (s.epoll(), s.eventfd(1), s.eventfd(1));
            s.add(e, f, LEVEL, 1);
            s.say(&Call::Dup2 { fd: g, number: f });
            line![s.wait(e), s.fdinfo(e), s.add(e, f, LEVEL, 2), s.wait(e)]
        },
        "[]; ; 0; [2:IN]",
    );
}

/// Of this case, poll and select; ppoll and pselect differ by a signal mask.
#[test]
fn case_x023_poll_of_an_instance_leaves_the_event() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, LEVEL, 3);
            line![s.select(e), s.poll(e, Mask::IN), s.wait(e)]
        },
        "n=1 r=1 w=0 x=0; 1:IN; [3:IN]",
    );
}

/// By fcntl instead of FIONBIO.
#[test]
fn case_x026_a_child_clears_nonblock_for_its_parent() {
    both(
        |s| {
            let f = s.eventfd(0);
            let cleared = s.fork(false, &|child| child.set_flags(f, 0));
            line![cleared, s.flags(f)]
        },
        "0; 02",
    );
}
