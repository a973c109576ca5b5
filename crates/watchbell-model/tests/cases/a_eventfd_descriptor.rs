//! A. eventfd: creation, and what its descriptor can do.

use crate::compare::call::Call;
use crate::compare::system::both;
use crate::line;
use watchbell_model::{EFD_SEMAPHORE, O_APPEND, O_CLOEXEC, O_DIRECT, O_NONBLOCK};

const O_ASYNC: u32 = 0o20000;

#[test]
fn case_e001_an_eventfd_is_open_for_reading_and_writing() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            line![s.flags(f), s.say(&Call::GetCloexec { fd: f })]
        },
        "02; 0",
    );
}

#[test]
fn case_e002_close_on_exec_is_of_the_number_and_the_mode_shows_nowhere() {
    both(
        |s| {
            let f = s.eventfd_with(0, O_CLOEXEC);
            let g = s.eventfd_with(0, O_CLOEXEC | O_NONBLOCK | EFD_SEMAPHORE);
            let (f, on_g) = (Call::GetCloexec { fd: f }, Call::GetCloexec { fd: g });
            line![s.say(&f), s.say(&on_g), s.flags(g)]
        },
        "1; 1; 04002",
    );
}

#[test]
fn case_e003_nonblock_is_o_nonblock() {
    both(
        |s| {
            let f = s.eventfd(0);
            s.flags(f)
        },
        "04002",
    );
}

#[test]
fn case_e004_fdinfo_tells_the_mode() {
    both(
        |s| {
            let (f, g) = (s.eventfd_with(0, EFD_SEMAPHORE), s.eventfd_with(0, 0));
            line![s.fdinfo(f), s.fdinfo(g), s.flags(f)]
        },
        "eventfd-count:                0; eventfd-semaphore: 1; \
         eventfd-count:                0; eventfd-semaphore: 0; 02",
    );
}

#[test]
fn case_e005_any_other_flag_is_einval() {
    both(
        |s| {
            let valid = EFD_SEMAPHORE | O_NONBLOCK | O_CLOEXEC;
            let flags = [2, 4, 0x100, 42, valid | 42, O_APPEND, i32::MAX as u32, u32::MAX];
            let refused = flags.map(|flags| s.say(&Call::Eventfd { initval: 0, flags }));
            line![refused.join(" ")]
        },
        "EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL",
    );
}

#[test]
fn case_e007_initval_reaches_32_bits() {
    both(
        |s| {
            let (f, g) = (s.eventfd(u32::MAX), s.eventfd_with(10, 0));
            line![s.read(f), s.read(g)]
        },
        "8:4294967295; 8:10",
    );
}

#[test]
fn case_e009_a_full_table_is_emfile() {
    both(
        |s| {
            s.fork(false, &|child| {
                child.limit(5);
                let made = [0; 6].map(|_| child.say(&Call::Eventfd { initval: 0, flags: 0 }));
                made.last().cloned().unwrap_or_default()
            })
        },
        "EMFILE",
    );
}

#[test]
fn case_e010_fdinfo_tells_the_count_in_hexadecimal() {
    both(
        |s| {
            let f = s.eventfd(0xdead_beef);
            s.fdinfo(f)
        },
        "eventfd-count:         deadbeef; eventfd-semaphore: 0",
    );
}

#[test]
fn case_e022_only_nonblock_and_append_can_be_set() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            line![
                s.set_flags(f, O_APPEND | O_NONBLOCK | O_ASYNC),
                s.flags(f),
                s.set_flags(f, 0),
                s.flags(f),
                s.set_flags(f, O_DIRECT)
            ]
        },
        "0; 06002; 0; 02; EINVAL",
    );
}

#[test]
fn case_e024_nonblock_is_shared_by_duplicates_and_close_on_exec_is_not() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let d = s.dup(f);
            line![
                s.set_flags(d, O_NONBLOCK),
                s.flags(f),
                s.read(f),
                s.write(d, 4),
                s.read(f),
                s.say(&Call::SetCloexec { fd: d, on: true }),
                s.say(&Call::GetCloexec { fd: f }),
                s.say(&Call::GetCloexec { fd: d })
            ]
        },
        "0; 04002; EAGAIN; 8; 8:4; 0; 0; 1",
    );
}

#[test]
fn case_e025_two_eventfds_are_two_counters() {
    both(
        |s| {
            let (f, g) = (s.eventfd(1), s.eventfd(2));
            line![s.read(f), s.read(g)]
        },
        "8:1; 8:2",
    );
}
