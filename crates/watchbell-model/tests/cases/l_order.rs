//! L. The order of the ready list, room for fewer events, and turns.

use crate::compare::system::{System, both};
use crate::line;
use watchbell_model::{Fd, Mask};

const LEVEL: Mask = Mask::IN;

/// An instance that watches three eventfds, level-triggered, with data 1, 2, 3.
fn three(s: &mut dyn System, initval: u32) -> (Fd, [Fd; 3]) {
    let epoll = s.epoll();
    let fds = [1, 2, 3].map(|data| {
        let fd = s.eventfd(initval);
        s.add(epoll, fd, LEVEL, data);
        fd
    });
    (epoll, fds)
}

#[test]
fn case_s160_in_the_order_of_becoming_ready() {
    both(
        |s| {
            let (e, fds) = three(s, 0);
            for i in [2, 0, 1] {
                s.write(fds[i], 1);
            }
            line![s.wait(e), s.wait(e)]
        },
        "[3:IN,1:IN,2:IN]; [3:IN,1:IN,2:IN]",
    );
}

#[test]
fn case_s161_or_of_being_added() {
    both(
        |s| {
            let e = s.epoll();
            for data in [2, 1, 3] {
                let f = s.eventfd(1);
                s.add(e, f, LEVEL, data);
            }
            s.wait(e)
        },
        "[2:IN,1:IN,3:IN]",
    );
}

#[test]
fn case_s162_with_room_for_one_they_take_turns() {
    both(
        |s| {
            let (e, _) = three(s, 1);
            [0; 5].map(|_| s.wait_max(e, 1)).join(" ")
        },
        "[1:IN] [2:IN] [3:IN] [1:IN] [2:IN]",
    );
}

#[test]
fn case_s163_with_room_for_two_as_well() {
    both(
        |s| {
            let (e, _) = three(s, 1);
            [0; 4].map(|_| s.wait_max(e, 2)).join(" ")
        },
        "[1:IN,2:IN] [3:IN,1:IN] [2:IN,3:IN] [1:IN,2:IN]",
    );
}

#[test]
fn case_s164_thirteen_get_exactly_the_same_share() {
    both(
        |s| {
            let e = s.epoll();
            for data in 0..13 {
                let f = s.eventfd(1);
                s.add(e, f, LEVEL, data);
            }
            let mut told = [0; 13];
            for _ in 0..130 {
                let line = s.wait_max(e, 3);
                let events = line.trim_matches(['[', ']']).split(',');
                let data = events.filter_map(|event| event.split_once(':')?.0.parse().ok());
                data.for_each(|data: usize| told[data] += 1);
            }
            format!("{told:?}")
        },
        "[30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30]",
    );
}

#[test]
fn case_y011_the_newest_registration_of_a_file_is_queued_first() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            let d = s.dup(f);
            let mask = Mask::IN | Mask::OUT | Mask::ET;
            s.add(e, f, mask, 1);
            s.add(e, d, mask, 2);
            line![s.wait(e), s.write(f, 0), s.wait(e), s.wait(e)]
        },
        "[1:OUT,2:OUT]; 8; [2:OUT,1:OUT]; []",
    );
}

#[test]
fn case_s169_a_modification_keeps_the_place() {
    both(
        |s| {
            let (e, fds) = three(s, 1);
            s.modify(e, fds[0], LEVEL, 1);
            let modified = s.wait(e);
            s.delete(e, fds[0]);
            s.add(e, fds[0], LEVEL, 1);
            let added = s.wait(e);
            s.poll(e, Mask::IN);
            line![modified, added, s.wait(e)]
        },
        "[1:IN,2:IN,3:IN]; [2:IN,3:IN,1:IN]; [2:IN,3:IN,1:IN]",
    );
}

#[test]
fn case_s171_a_closed_one_leaves_the_list() {
    both(
        |s| {
            let (e, fds) = three(s, 1);
            s.close(fds[0]);
            line![s.wait_max(e, 1), s.wait(e)]
        },
        "[2:IN]; [3:IN,2:IN]",
    );
}

#[test]
fn case_x013_an_edge_leaves_and_a_level_comes_back() {
    both(
        |s| {
            let (e, level, edge) = (s.epoll(), s.eventfd(1), s.eventfd(1));
            s.add(e, level, LEVEL, 1);
            s.add(e, edge, Mask::IN | Mask::ET, 2);
            [0; 4].map(|_| s.wait_max(e, 1)).join(" ")
        },
        "[1:IN] [2:IN] [1:IN] [1:IN]",
    );
}
