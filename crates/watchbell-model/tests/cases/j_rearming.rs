//! J. Delivery, continued: modifications, several instances, and waits for nothing.

use crate::compare::call::{Call, Timeout, show};
use crate::compare::system::both;
use crate::line;
use watchbell_model::Mask;

const LEVEL: Mask = Mask::IN;
const EDGE: Mask = Mask(Mask::IN.0 | Mask::ET.0);
const BOTH: Mask = Mask(Mask::IN.0 | Mask::OUT.0);
const BOTH_EDGE: Mask = Mask(BOTH.0 | Mask::ET.0);

#[test]
fn case_s140_a_modification_re_arms_an_edge() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, EDGE, 1);
            let taken = line![s.wait(e), s.wait(e)];
            s.modify(e, f, EDGE, 1);
            let again = line![s.wait(e), s.wait(e)];
            s.read(f);
            s.modify(e, f, EDGE, 1);
            line![taken, again, s.wait(e)]
        },
        "[1:IN]; []; [1:IN]; []; []",
    );
}

#[test]
fn case_s141_from_edge_to_level_and_back() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, EDGE, 1);
            s.wait(e);
            s.modify(e, f, LEVEL, 2);
            let level = line![s.wait(e), s.wait(e)];
            s.modify(e, f, EDGE, 3);
            line![level, s.wait(e), s.wait(e)]
        },
        "[2:IN]; [2:IN]; [3:IN]; []",
    );
}

#[test]
fn case_s142_a_modification_of_a_pending_event() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, LEVEL, 1);
            let masks = [(LEVEL, 2), (Mask::NONE, 3), (Mask::OUT, 4), (BOTH, 5)];
            let told = masks.map(|(mask, data)| {
                s.modify(e, f, mask, data);
                s.wait(e)
            });
            s.delete(e, f);
            let deleted = s.wait(e);
            s.add(e, f, EDGE, 6);
            line![told.join(" "), deleted, s.wait(e)]
        },
        "[2:IN] [] [4:OUT] [5:IN|OUT]; []; [6:IN]",
    );
}

#[test]
fn case_s143_from_nothing_to_an_edge() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, Mask::NONE, 1);
            s.write(f, 1);
            let nothing = s.wait(e);
            s.modify(e, f, EDGE, 2);
            let armed = line![s.wait(e), s.wait(e)];
            s.write(f, 1);
            line![nothing, armed, s.wait(e)]
        },
        "[]; [2:IN]; []; [2:IN]",
    );
}

#[test]
fn case_s144_deleting_and_adding_re_arms() {
    both(
        |s| {
            let (e, (r, w)) = (s.epoll(), s.pipe());
            s.send(w, 1);
            s.add(e, r, EDGE, 1);
            s.wait(e);
            s.delete(e, r);
            s.add(e, r, EDGE, 2);
            line![s.wait(e), s.wait(e)]
        },
        "[2:IN]; []",
    );
}

#[test]
fn case_s156_each_instance_has_its_own_edge() {
    both(
        |s| {
            let (a, b, late, f) = (s.epoll(), s.epoll(), s.epoll(), s.eventfd(0));
            s.add(a, f, EDGE, 1);
            s.add(b, f, EDGE, 2);
            s.write(f, 1);
            let told = line![s.wait(a), s.wait(b), s.wait(a)];
            s.add(late, f, EDGE, 3);
            let late = line![s.wait(late), s.wait(a)];
            s.read(f);
            line![told, late, s.wait(a)]
        },
        "[1:IN]; [2:IN]; []; [3:IN]; []; []",
    );
}

#[test]
fn case_s158_both_modes_in_one_instance() {
    both(
        |s| {
            let (e, (a, b)) = (s.epoll(), s.socketpair());
            s.add(e, a, BOTH_EDGE, 0);
            s.add(e, b, BOTH, 1);
            s.wait(e);
            s.send(b, 1);
            line![s.wait(e), s.wait(e)]
        },
        "[1:OUT,0:IN|OUT]; [1:OUT]",
    );
}

#[test]
fn case_x002_a_stale_item_does_not_end_a_wait() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, LEVEL, 1);
            s.write(f, 1);
            s.read(f);
            let waiter = s.spawn(Call::Wait { epoll: e, max: 1, timeout: Timeout::Millis(80) });
            show(&s.join(waiter))
        },
        "[]",
    );
}

#[test]
fn case_x012_an_empty_interest_list_is_waited_on() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            let empty = s.wait(e);
            s.add(e, f, LEVEL, 1);
            s.delete(e, f);
            let waiter = s.spawn(Call::Wait { epoll: e, max: 1, timeout: Timeout::Millis(40) });
            line![empty, show(&s.join(waiter))]
        },
        "[]; []",
    );
}
