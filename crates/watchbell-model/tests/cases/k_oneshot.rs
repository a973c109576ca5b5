//! K. EPOLLONESHOT.

use crate::compare::system::both;
use crate::line;
use watchbell_model::Mask;

const ONE: Mask = Mask(Mask::IN.0 | Mask::ONESHOT.0);
const ONE_EDGE: Mask = Mask(ONE.0 | Mask::ET.0);

#[test]
fn case_s150_a_fired_one_shot_hides_everything_until_it_is_modified() {
    both(
        |s| {
            let (e, (r, w)) = (s.epoll(), s.pipe());
            s.add(e, r, ONE, 1);
            s.send(w, 1);
            let fired = line![s.wait(e), s.wait(e)];
            s.send(w, 1);
            let data = s.wait(e);
            s.close(w);
            let hup = s.wait(e);
            s.modify(e, r, ONE, 2);
            let armed = line![s.wait(e), s.wait(e), s.add(e, r, ONE, 3)];
            s.modify(e, r, Mask::ONESHOT, 4);
            line![fired, data, hup, armed, s.wait(e), s.wait(e), s.delete(e, r)]
        },
        "[1:IN]; []; []; []; [2:IN|HUP]; []; EEXIST; [4:HUP]; []; 0",
    );
}

#[test]
fn case_s151_edge_and_one_shot_together_are_a_one_shot() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, ONE_EDGE, 1);
            let fired = s.wait(e);
            s.write(f, 1);
            let disarmed = s.wait(e);
            s.modify(e, f, ONE_EDGE, 2);
            let ready = s.wait(e);
            s.read(f);
            s.modify(e, f, ONE_EDGE, 3);
            let empty = s.wait(e);
            s.write(f, 1);
            line![fired, disarmed, ready, empty, s.wait(e), s.wait(e)]
        },
        "[1:IN]; []; [2:IN]; []; [3:IN]; []",
    );
}

#[test]
fn case_s153_what_was_queued_and_drained_has_not_fired() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, ONE, 1);
            s.write(f, 1);
            s.read(f);
            let drained = s.wait(e);
            s.write(f, 1);
            line![drained, s.wait(e), s.wait(e)]
        },
        "[]; [1:IN]; []",
    );
}

#[test]
fn case_s154_out_fires_once_too() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, Mask::OUT | Mask::ET | Mask::ONESHOT, 1);
            let fired = s.wait(e);
            s.write(f, u64::MAX - 1);
            s.read(f);
            line![fired, s.wait(e)]
        },
        "[1:OUT]; []",
    );
}

#[test]
fn case_s155_a_modification_makes_and_unmakes_a_one_shot() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, Mask::IN, 1);
            s.modify(e, f, Mask::OUT | Mask::ONESHOT, 2);
            let once = line![s.wait(e), s.wait(e)];
            s.modify(e, f, Mask::OUT, 3);
            line![once, s.wait(e), s.wait(e)]
        },
        "[2:OUT]; []; [3:OUT]; [3:OUT]",
    );
}

#[test]
fn case_y009_each_instance_has_its_own_one_shot() {
    both(
        |s| {
            let (a, b, f) = (s.epoll(), s.epoll(), s.eventfd(0));
            s.add(a, f, ONE, 1);
            s.add(b, f, ONE, 2);
            s.write(f, 1);
            let fired = line![s.wait(a), s.wait(b)];
            s.modify(a, f, ONE, 3);
            line![fired, s.wait(a), s.wait(b)]
        },
        "[1:IN]; [2:IN]; [3:IN]; []",
    );
}
