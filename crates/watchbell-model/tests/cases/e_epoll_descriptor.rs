//! E. epoll: creation, and what its descriptor can do.

use crate::compare::call::{Call, Timeout, show};
use crate::compare::system::both;
use crate::line;
use watchbell_model::{Mask, O_CLOEXEC, O_NONBLOCK};

#[test]
fn case_c002_any_flag_but_close_on_exec_is_einval() {
    both(
        |s| {
            let flags = [1, 42, O_NONBLOCK, O_CLOEXEC + 1, O_CLOEXEC | O_NONBLOCK, u32::MAX];
            let refused = flags.map(|flags| s.say(&Call::EpollCreate { flags }));
            line![s.say(&Call::EpollCreate { flags: 0 }), refused.join(" ")]
        },
        "0; EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL",
    );
}

#[test]
fn case_c003_flags_of_the_descriptor() {
    both(
        |s| {
            let plain = s.epoll();
            s.say(&Call::EpollCreate { flags: O_CLOEXEC });
            let cloexec = plain + 1;
            line![
                s.say(&Call::GetCloexec { fd: plain }),
                s.say(&Call::GetCloexec { fd: cloexec }),
                s.flags(plain),
                s.set_flags(plain, O_NONBLOCK),
                s.flags(plain)
            ]
        },
        "0; 1; 02; 0; 04002",
    );
}

#[test]
fn case_c004_a_full_table_is_emfile() {
    both(
        |s| {
            s.fork(false, &|child| {
                child.limit(3);
                [0; 4].map(|_| child.say(&Call::EpollCreate { flags: 0 }))[3].clone()
            })
        },
        "EMFILE",
    );
}

/// Of this case, reading and writing; offsets and mappings are left out.
#[test]
fn case_c006_an_instance_is_neither_read_nor_written() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, Mask::IN, 1);
            line![s.receive(e, 16), s.receive(e, 0), s.send(e, 8)]
        },
        "EINVAL; EINVAL; EINVAL",
    );
}

#[test]
fn case_c007_fdinfo_shows_the_stored_mask() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, Mask::IN | Mask::ET, 0x1122_3344_5566_7788);
            let edge = s.fdinfo(e);
            s.modify(e, f, Mask::NONE, 5);
            line![edge, s.fdinfo(e)]
        },
        "tfd:        1 events: 80000019 data: 1122334455667788; \
         tfd:        1 events:       18 data:                5",
    );
}

#[test]
fn case_c009_nonblock_on_the_instance_does_nothing() {
    both(
        |s| {
            let e = s.epoll();
            s.set_flags(e, O_NONBLOCK);
            let forever = s.waiter(e);
            let blocked = s.look(&[forever]);
            let timeout = Timeout::Millis(60);
            let timed = s.spawn(Call::Wait { epoll: e, max: 1, timeout });
            let outcome = s.join(timed);
            line![blocked, show(&outcome)]
        },
        "-; []",
    );
}
