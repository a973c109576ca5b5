//! G. EPOLLEXCLUSIVE and EPOLLWAKEUP: the masks that are taken.

use crate::compare::system::both;
use crate::line;
use watchbell_model::Mask;

#[test]
fn case_c041_what_goes_with_exclusive() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            let all = Mask::IN | Mask::OUT | Mask::ERR | Mask::HUP | Mask::WAKEUP | Mask::ET;
            let with = [
                Mask::NONE,
                Mask::IN,
                Mask::OUT,
                Mask::ERR,
                Mask::HUP,
                Mask::WAKEUP,
                Mask::ET,
                all,
            ];
            with.map(|with| {
                let added = s.add(e, f, Mask::EXCLUSIVE | with, 0);
                s.delete(e, f);
                added
            })
            .join(" ")
        },
        "0 0 0 0 0 0 0 0",
    );
}

#[test]
fn case_c042_what_does_not() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            let without = [
                Mask::PRI,
                Mask::RDNORM,
                Mask::RDBAND,
                Mask::WRNORM,
                Mask::WRBAND,
                Mask::MSG,
                Mask::RDHUP,
                Mask::ONESHOT,
                Mask::NVAL,
                Mask(0x800),
                Mask(1 << 27),
            ];
            without.map(|bit| s.add(e, f, Mask::EXCLUSIVE | Mask::IN | bit, 0)).join(" ")
        },
        "EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL",
    );
}

#[test]
fn case_c043_an_exclusive_registration_is_never_modified() {
    both(
        |s| {
            let (e, plain, f) = (s.epoll(), s.eventfd(0), s.eventfd(1));
            s.add(e, plain, Mask::OUT, 1);
            let to = line![s.modify(e, plain, Mask::IN | Mask::EXCLUSIVE, 9), s.wait(e)];
            s.delete(e, plain);
            let from = line![
                s.add(e, f, Mask::IN | Mask::EXCLUSIVE, 2),
                s.modify(e, f, Mask::IN, 9),
                s.modify(e, f, Mask::IN | Mask::EXCLUSIVE, 9),
                s.wait(e)
            ];
            let again =
                line![s.delete(e, f), s.add(e, f, Mask::IN, 3), s.modify(e, f, Mask::OUT, 3)];
            line![to, from, again]
        },
        "EINVAL; [1:OUT]; 0; EINVAL; EINVAL; [2:IN]; 0; 0; 0",
    );
}

#[test]
fn case_c045_an_instance_is_never_watched_exclusively() {
    both(
        |s| {
            let (e, inner) = (s.epoll(), s.epoll());
            let exclusive = s.add(e, inner, Mask::IN | Mask::EXCLUSIVE, 0);
            line![exclusive, s.delete(e, inner), s.add(e, inner, Mask::IN, 0)]
        },
        "EINVAL; ENOENT; 0",
    );
}

/// A kernel with suspend (CONFIG_PM_SLEEP) keeps the bit; see docs/semantics.md.
#[test]
fn case_c051_wakeup_is_taken_and_dropped() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            let added = line![s.add(e, f, Mask::IN | Mask::WAKEUP, 1), s.fdinfo(e), s.wait(e)];
            let mask = Mask::IN | Mask::WAKEUP | Mask::ET | Mask::ONESHOT;
            let modified = line![s.modify(e, f, mask, 1), s.fdinfo(e), s.delete(e, f)];
            s.add(e, f, Mask::IN | Mask::EXCLUSIVE | Mask::WAKEUP, 1);
            line![added, modified, s.fdinfo(e)]
        },
        "0; tfd:        1 events:       19 data:                1; [1:IN]; \
         0; tfd:        1 events: c0000019 data:                1; 0; \
         tfd:        1 events: 10000019 data:                1",
    );
}

#[test]
fn case_c052_the_stored_masks() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, Mask::IN, 0);
            let plain = s.fdinfo(e);
            s.modify(e, f, Mask::OUT | Mask::ET, 0);
            let edge = s.fdinfo(e);
            s.delete(e, f);
            s.add(e, f, Mask::IN | Mask::EXCLUSIVE, 0);
            let exclusive = s.fdinfo(e);
            s.delete(e, f);
            s.add(e, f, Mask::OUT | Mask::ONESHOT | Mask::ET, 0);
            let fired = line![s.wait(e), s.fdinfo(e)];
            line![plain, edge, exclusive, fired]
        },
        "tfd:        1 events:       19 data:                0; \
         tfd:        1 events: 8000001c data:                0; \
         tfd:        1 events: 10000019 data:                0; \
         [0:OUT]; tfd:        1 events: c0000000 data:                0",
    );
}
