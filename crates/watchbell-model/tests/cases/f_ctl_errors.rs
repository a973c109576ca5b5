//! F. epoll_ctl: what it refuses, and in which order.

use crate::compare::call::Call;
use crate::compare::system::both;
use crate::line;
use watchbell_model::{Mask, Op};

#[test]
fn case_c020_a_number_that_is_not_open_is_ebadf() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            let instance = s.add(99, f, Mask::IN, 0);
            let target = [Op::Add, Op::Mod, Op::Del].map(|op| s.ctl(e, op, 99, Mask::IN, 0));
            line![instance, target.join(" ")]
        },
        "EBADF; EBADF EBADF EBADF",
    );
}

/// Of this case, /dev/null; the model has no other file without readiness.
#[test]
fn case_c021_a_file_without_readiness_is_eperm() {
    both(
        |s| {
            let e = s.epoll();
            s.say(&Call::Null);
            s.add(e, 1, Mask::IN, 0)
        },
        "EPERM",
    );
}

/// Of this case, the objects that the model has.
#[test]
fn case_c022_every_object_with_readiness_can_be_watched() {
    both(
        |s| {
            let (e, f, inner) = (s.epoll(), s.eventfd(0), s.epoll());
            let ((r, w), (a, b)) = (s.pipe(), s.socketpair());
            let (timer, fresh) = (b + 1, b + 2);
            s.say(&Call::Timerfd { flags: 0 });
            s.socket();
            [f, inner, r, w, a, timer, fresh].map(|fd| s.add(e, fd, Mask::IN, 0)).join(" ")
        },
        "0 0 0 0 0 0 0",
    );
}

#[test]
fn case_c023_an_instance_never_watches_itself() {
    both(
        |s| {
            let e = s.epoll();
            let d = s.dup(e);
            let itself = [Op::Add, Op::Mod, Op::Del].map(|op| s.ctl(e, op, e, Mask::IN, 0));
            line![itself.join(" "), s.add(e, d, Mask::IN, 0), s.add(d, e, Mask::IN, 0)]
        },
        "EINVAL EINVAL EINVAL; EINVAL; EINVAL",
    );
}

#[test]
fn case_c024_only_an_instance_can_watch() {
    both(
        |s| {
            let (f, g) = (s.eventfd(0), s.eventfd(0));
            line![s.add(f, g, Mask::IN, 0), s.delete(f, g), s.wait(f)]
        },
        "EINVAL; EINVAL; EINVAL",
    );
}

#[test]
fn case_c030_registered_once_or_not_at_all() {
    both(
        |s| {
            let (e, f, other) = (s.epoll(), s.eventfd(1), s.eventfd(0));
            let twice = line![s.add(e, f, Mask::IN, 42), s.add(e, f, Mask::OUT, 43), s.wait(e)];
            let none = line![s.delete(e, other), s.modify(e, other, Mask::IN, 0)];
            line![twice, none, s.delete(e, f), s.delete(e, f)]
        },
        "0; EEXIST; [42:IN]; ENOENT; ENOENT; 0; ENOENT",
    );
}

#[test]
fn case_c032_two_numbers_are_two_registrations() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            let d = s.dup(f);
            let added = line![
                s.add(e, f, Mask::IN, 1),
                s.add(e, d, Mask::IN | Mask::OUT, 2),
                s.add(e, d, Mask::IN, 3)
            ];
            s.write(f, 1);
            line![added, s.wait(e), s.delete(e, f), s.wait(e)]
        },
        "0; 0; EEXIST; [2:IN|OUT,1:IN]; 0; [2:IN|OUT]",
    );
}

#[test]
fn case_c034_err_and_hup_are_told_unasked() {
    both(
        |s| {
            let (e, (r, w)) = (s.epoll(), s.pipe());
            s.add(e, r, Mask::NONE, 7);
            s.send(w, 1);
            let data = s.wait(e);
            s.close(w);
            line![data, s.wait(e)]
        },
        "[]; [7:HUP]",
    );
}

#[test]
fn case_c035_every_combination_of_the_common_bits_is_taken() {
    const BITS: [Mask; 8] = [
        Mask::IN,
        Mask::OUT,
        Mask::PRI,
        Mask::ERR,
        Mask::HUP,
        Mask::ET,
        Mask::ONESHOT,
        Mask::RDHUP,
    ];
    both(
        |s| {
            let (e, (r, _)) = (s.epoll(), s.pipe());
            s.add(e, r, Mask::IN, 0);
            let taken = (0..256_u32).filter(|choice| {
                let chosen = BITS.iter().enumerate().filter(|(i, _)| choice & (1 << i) != 0);
                let mask = chosen.fold(Mask::NONE, |mask, (_, bit)| mask | *bit);
                s.modify(e, r, mask, 0) == "0"
            });
            taken.count().to_string()
        },
        "256",
    );
}

#[test]
fn case_c036_unknown_bits_are_taken_and_never_told() {
    both(
        |s| {
            let bits = [0x400, 0x20, 0x800, 0x8000, 0x10_0000, 0x800_0000, 0x80, 0xcfff_ffff];
            bits.map(|bit| {
                let (e, f) = (s.epoll(), s.eventfd(1));
                line![s.add(e, f, Mask::IN | Mask(bit), 1), s.wait(e)]
            })
            .join(" ")
        },
        "0; [1:IN] 0; [1:IN] 0; [1:IN] 0; [1:IN] 0; [1:IN] 0; [1:IN] 0; [1:IN] 0; [1:IN|OUT]",
    );
}

#[test]
fn case_c037_a_deletion_does_not_look_at_the_event() {
    both(
        |s| {
            let (e, f, g) = (s.epoll(), s.eventfd(0), s.eventfd(0));
            s.add(e, f, Mask::IN, 0);
            s.add(e, g, Mask::IN | Mask::EXCLUSIVE, 0);
            let nonsense = Mask::EXCLUSIVE | Mask::ONESHOT;
            line![s.ctl(e, Op::Del, f, Mask(u32::MAX), 0), s.ctl(e, Op::Del, g, nonsense, 0)]
        },
        "0; 0",
    );
}
