//! I. epoll_wait: its arguments.

use crate::compare::call::{Call, Timeout, show};
use crate::compare::system::both;
use crate::line;
use watchbell_model::Mask;

/// Of this case, no room; other numbers of events cannot be said in the model.
#[test]
fn case_c090_no_room_for_events_is_einval() {
    both(
        |s| {
            let e = s.epoll();
            s.wait_max(e, 0)
        },
        "EINVAL",
    );
}

/// Of this case, what has no addresses in it.
#[test]
fn case_c091_ebadf_comes_before_einval() {
    both(
        |s| {
            let (r, _) = s.pipe();
            line![s.wait_max(99, 0), s.wait(99), s.wait(r)]
        },
        "EBADF; EBADF; EINVAL",
    );
}

#[test]
fn case_c096_zero_returns_at_once_and_a_timeout_in_time() {
    both(
        |s| {
            let e = s.epoll();
            let zero = s.wait(e);
            let timed = s.spawn(Call::Wait { epoll: e, max: 1, timeout: Timeout::Millis(50) });
            let forever = s.waiter(e);
            let outcome = s.join(timed);
            line![zero, show(&outcome), s.look(&[forever])]
        },
        "[]; []; -",
    );
}

#[test]
fn case_c102_a_signal_ends_a_wait() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, Mask::IN, 1);
            let waiter = s.waiter(e);
            s.interrupt(waiter);
            show(&s.join(waiter))
        },
        "EINTR",
    );
}
