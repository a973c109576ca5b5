//! What is asked of a source holds, whoever asks it, and in whatever state the source is: the whole
//! table of wishes, askers and states, and every ordered pair of wishes, against a specification.
//!
//! A source that is leased (`epoll::Leases`) is in no loop: a loop takes no lease source in, and so
//! the table has no row for one.
#![allow(clippy::unwrap_used)]

mod support;
#[path = "support/wishes/mod.rs"]
mod wishes;

use support::watchdog;
use watchbell::event_loop::Direction::{self, Input, Output};
use wishes::{Asker, LetGo, Mode, State, Wish, cell};

const OF_A_DIRECTION: [fn(Direction) -> Wish; 5] =
    [Wish::Pause, Wish::Resume, Wish::Rest, Wish::RestBriefly, Wish::Wake];

fn all_wishes() -> Vec<Wish> {
    let directed = OF_A_DIRECTION.iter().flat_map(|wish| [wish(Input), wish(Output)]);
    let others = [
        Wish::Hold,
        Wish::Budget,
        Wish::RunAgain,
        Wish::Close,
        Wish::Take,
        Wish::Detach,
        Wish::DetachAndLetGo,
    ];
    directed.chain(others).chain(LetGo::ALL.map(Wish::LetGo)).collect()
}

/// Runs a cell for each plan in each state, and says what went against the specification.
fn check(mode: Mode, plans: impl Iterator<Item = Vec<(Asker, Wish)>>) -> usize {
    let (mut cells, mut faults) = (0, Vec::new());
    for plan in plans {
        for state in State::ALL {
            let found = cell(mode, state, &plan);
            let place = |fault| format!("{mode:?}, {state:?}, {plan:?}: {fault}");
            faults.extend(found.into_iter().map(place));
            cells += 1;
        }
    }
    let some: Vec<_> = faults.iter().take(40).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} of {cells} cells:\n{}", faults.len(), some.join("\n"));
    cells
}

fn each_wish(mode: Mode) {
    watchdog(move || {
        let askers = Asker::ALL.into_iter();
        let all = askers.flat_map(|asker| all_wishes().into_iter().map(move |wish| (asker, wish)));
        let cells =
            check(mode, all.filter(|(asker, wish)| asker.can_ask(*wish)).map(|it| vec![it]));
        assert!(cells > 1000, "the table is whole: {cells}");
    });
}

fn each_pair(mode: Mode, direction: Direction) {
    watchdog(move || {
        let mut wishes = OF_A_DIRECTION.map(|wish| wish(direction)).to_vec();
        wishes.push(Wish::Close);
        let mut asked = Vec::new();
        for asker in Asker::ALL {
            let can = wishes.iter().filter(|wish| asker.can_ask(**wish));
            asked.extend(can.map(|wish| (asker, *wish)));
        }
        let pairs = asked.iter().flat_map(|one| asked.iter().map(|other| vec![*one, *other]));
        let cells = check(mode, pairs);
        assert!(cells > 10_000, "the table is whole: {cells}");
    });
}

#[test]
fn e03_each_wish_holds_edge_triggered() {
    each_wish(Mode::Edge);
}

#[test]
fn e03_each_wish_holds_level_triggered() {
    each_wish(Mode::Level);
}

#[test]
fn e03_each_wish_holds_exclusive() {
    each_wish(Mode::Exclusive);
}

#[test]
fn e03_two_wishes_of_input_hold_in_their_order_edge_triggered() {
    each_pair(Mode::Edge, Input);
}

#[test]
fn e03_two_wishes_of_input_hold_in_their_order_level_triggered() {
    each_pair(Mode::Level, Input);
}

#[test]
fn e03_two_wishes_of_input_hold_in_their_order_exclusive() {
    each_pair(Mode::Exclusive, Input);
}

#[test]
fn e03_two_wishes_of_output_hold_in_their_order_edge_triggered() {
    each_pair(Mode::Edge, Output);
}

#[test]
fn e03_two_wishes_of_output_hold_in_their_order_level_triggered() {
    each_pair(Mode::Level, Output);
}

#[test]
fn e03_two_wishes_of_output_hold_in_their_order_exclusive() {
    each_pair(Mode::Exclusive, Output);
}
