//! H. An epoll instance that watches another.

use crate::compare::system::{System, both};
use crate::line;
use watchbell_model::{Fd, Mask};

const LEVEL: Mask = Mask::IN;
const EDGE: Mask = Mask(Mask::IN.0 | Mask::ET.0);

#[test]
fn case_c060_an_instance_is_readable_while_something_in_it_is_ready() {
    both(
        |s| {
            let (outer, inner, (r, w)) = (s.epoll(), s.epoll(), s.pipe());
            s.add(inner, r, Mask::IN, 1);
            s.add(outer, inner, Mask::IN | Mask::OUT | Mask::PRI | Mask::RDHUP, 2);
            let all = Mask(0xffff);
            let idle = line![s.wait(outer), s.poll(inner, all)];
            s.send(w, 1);
            let ready = line![s.wait(outer), s.wait(outer), s.wait(inner)];
            let asked = line![s.poll(inner, all), s.poll(inner, Mask::OUT), s.select(inner)];
            s.receive(r, 1);
            line![idle, ready, asked, s.wait(outer), s.poll(inner, all)]
        },
        "[]; 0:0; [2:IN]; [2:IN]; [1:IN]; 1:IN|RDNORM; 0:0; n=1 r=1 w=0 x=0; []; 0:0",
    );
}

#[test]
fn case_c062_a_circle_is_refused_and_a_diamond_is_not() {
    both(
        |s| {
            let [a, b, c] = [0; 3].map(|_| s.epoll());
            let first = line![s.add(a, b, LEVEL, 0), s.add(b, a, LEVEL, 0), s.delete(b, a)];
            line![first, s.add(b, c, LEVEL, 0), s.add(c, a, LEVEL, 0), s.add(a, c, LEVEL, 0)]
        },
        "0; ELOOP; ENOENT; 0; ELOOP; 0",
    );
}

#[test]
fn case_c063_five_instances_deep_from_either_end() {
    both(
        |s| {
            let outward: [Fd; 6] = std::array::from_fn(|_| s.epoll());
            let inward: [Fd; 6] = std::array::from_fn(|_| s.epoll());
            let out = (0..5).map(|i| s.add(outward[i + 1], outward[i], LEVEL, 0));
            let out = out.collect::<Vec<_>>().join(" ");
            let inn = (0..5).map(|i| s.add(inward[i], inward[i + 1], LEVEL, 0));
            line![out, inn.collect::<Vec<_>>().join(" ")]
        },
        "0 0 0 0 ELOOP; 0 0 0 0 ELOOP",
    );
}

#[test]
fn case_c064_a_write_below_a_chain_reaches_every_level() {
    both(
        |s| {
            let levels: [Fd; 5] = std::array::from_fn(|_| s.epoll());
            for i in 0..4 {
                s.add(levels[i], levels[i + 1], LEVEL, 0);
            }
            let f = s.eventfd(0);
            let added = s.add(levels[4], f, LEVEL, 7);
            s.write(f, 1);
            line![added, levels.map(|level| s.wait(level)).join(" ")]
        },
        "0; [0:IN] [0:IN] [0:IN] [0:IN] [7:IN]",
    );
}

/// Of this case, 150 watchers instead of 3000.
#[test]
fn case_c066_any_number_of_instances_may_watch_one_target() {
    both(
        |s| {
            let f = s.eventfd(0);
            let added = (0..150).filter(|_| {
                let e = s.epoll();
                s.add(e, f, LEVEL, 0) == "0"
            });
            added.count().to_string()
        },
        "150",
    );
}

#[test]
fn case_c070_closing_the_inner_instance_removes_it() {
    both(
        |s| {
            let (outer, inner, f) = (s.epoll(), s.epoll(), s.eventfd(1));
            s.add(inner, f, LEVEL, 1);
            s.add(outer, inner, LEVEL, 2);
            line![s.wait(outer), s.close(inner), s.wait(outer), s.fdinfo(outer)]
        },
        "[2:IN]; 0; []; ",
    );
}

#[test]
fn case_c071_two_outer_instances_are_both_told() {
    both(
        |s| {
            let (one, two, inner, f) = (s.epoll(), s.epoll(), s.epoll(), s.eventfd(0));
            s.add(inner, f, LEVEL, 1);
            s.add(one, inner, LEVEL, 2);
            s.add(two, inner, LEVEL, 3);
            line![s.write(f, 1), s.wait(one), s.wait(two)]
        },
        "8; [2:IN]; [3:IN]",
    );
}

#[test]
fn case_c072_a_fired_one_shot_is_silent_outside_too() {
    both(
        |s| {
            let (outer, inner, f) = (s.epoll(), s.epoll(), s.eventfd(1));
            s.add(inner, f, Mask::IN | Mask::ONESHOT, 1);
            s.add(outer, inner, LEVEL, 2);
            let fired = line![s.wait(outer), s.wait(inner), s.wait(outer), s.poll(inner, LEVEL)];
            s.modify(inner, f, Mask::IN | Mask::ONESHOT, 1);
            line![fired, s.wait(outer)]
        },
        "[2:IN]; [1:IN]; []; 0:0; [2:IN]",
    );
}

#[test]
fn case_c073_the_outer_instance_only_looks() {
    both(
        |s| {
            let (outer, inner, f) = (s.epoll(), s.epoll(), s.eventfd(0));
            s.add(inner, f, EDGE, 1);
            s.add(outer, inner, LEVEL, 2);
            s.write(f, 1);
            line![s.wait(outer), s.wait(outer), s.wait(inner), s.wait(outer)]
        },
        "[2:IN]; [2:IN]; [1:IN]; []",
    );
}

#[test]
fn case_c076_poll_consumes_no_edge() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, EDGE, 1);
            s.write(f, 1);
            let edge = line![s.poll(e, LEVEL), s.poll(e, LEVEL), s.wait(e), s.poll(e, LEVEL)];
            let drained = drain(s, f);
            line![edge, drained, s.poll(e, LEVEL), s.wait(e)]
        },
        "1:IN; 1:IN; [1:IN]; 0:0; 8 8:2; 0:0; []",
    );
}

fn drain(s: &mut dyn System, f: Fd) -> String {
    let wrote = s.write(f, 1);
    format!("{wrote} {}", s.read(f))
}
