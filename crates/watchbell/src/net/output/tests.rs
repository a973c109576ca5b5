//! The queue against a plain vector, over random pushes and consumes.

use super::*;
use crate::event_loop::{Address, Inbox};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[derive(Clone, Debug)]
enum Step {
    Push(usize),
    /// In thousandths of what is queued.
    Consume(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let push = (0_usize..80).prop_map(Step::Push);
    let consume = (0_usize..=1000).prop_map(Step::Consume);
    prop::collection::vec(prop_oneof![push, consume], 0..60)
}

fn marks() -> impl Strategy<Value = Marks> {
    (0_usize..100, 1_usize..100, 0_usize..300).prop_map(|(low, above, limit)| {
        Marks::new(low, low + above).expect("low is below high").with_limit(limit)
    })
}

/// The queue's bytes as they would be handed to the kernel.
fn offered(output: &Output) -> Vec<u8> {
    output.slices().iter().flat_map(|slice| slice.iter().copied()).collect()
}

fn model(marks: Marks, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut output = Output::new(marks);
    let inbox = Arc::new(Inbox::new(|| {}));
    let filler = Arc::new(Address::new(&inbox, Token::new(1, 7)));
    let (mut queued, mut holds, mut next) = (Vec::new(), false, 0_u8);
    for step in steps {
        match step {
            Step::Push(length) => {
                let bytes: Vec<u8> = (0..length).map(|at| next.wrapping_add(at as u8)).collect();
                let room = output.check_room(length);
                prop_assert_eq!(room.is_ok(), queued.len() + length <= marks.limit);
                if let Err(full) = room {
                    prop_assert_eq!(full, QueueFull { queued: queued.len(), refused: length });
                } else {
                    output.push(&bytes);
                    let held = queued.len() + length >= marks.high;
                    prop_assert_eq!(output.is_at_high_water(), held);
                    if held {
                        output.flow().hold(&filler);
                        output.flow().hold(&filler); // once is enough
                    }
                    holds |= held;
                    queued.extend_from_slice(&bytes);
                    next = next.wrapping_add(length as u8);
                }
            }
            Step::Consume(share) => {
                let taken = queued.len() * share / 1000;
                output.consume(taken);
                queued.drain(..taken);
                let released = holds && queued.len() <= marks.low;
                prop_assert_eq!(output.release(), released);
                prop_assert_eq!(
                    inbox.take_letters().len(),
                    usize::from(released),
                    "it is asked once"
                );
                prop_assert!(!output.release(), "a filler is released once");
                holds &= !released;
            }
        }
        prop_assert_eq!(output.is_above_high_water(), holds);
        prop_assert_eq!(filler.is_held(), holds);
        prop_assert_eq!(output.len(), queued.len());
        prop_assert_eq!(output.is_empty(), queued.is_empty());
        prop_assert!(output.len() <= marks.limit);
        prop_assert_eq!(offered(&output), &queued[..]);
    }
    Ok(())
}

#[test]
fn e09_order_marks_and_limit_hold_over_random_traffic() {
    let config = Config { cases: 512, failure_persistence: None, ..Config::default() };
    let run =
        TestRunner::new(config).run(&(marks(), steps()), |(marks, steps)| model(marks, steps));
    run.expect("the queue is as the model");
}

#[test]
fn e09_a_length_that_overflows_is_refused() {
    let mut output = Output::new(Marks::default().with_limit(usize::MAX));
    output.push(b"x");
    let refused = output.check_room(usize::MAX);
    assert_eq!(refused, Err(QueueFull { queued: 1, refused: usize::MAX }));
}

#[test]
fn e09_an_empty_queue_holds_no_memory() {
    let mut output = Output::default();
    output.push(&[0; 1000]);
    output.consume(1000);
    assert_eq!(output.queue.capacity(), 0);
}

#[test]
fn e08_the_end_is_due_once_the_queue_is_empty_and_told_once() {
    let mut output = Output::default();
    output.push(b"x");
    output.finish();
    assert!(output.is_ending() && !output.has_end_due());
    output.consume(1);
    assert!(output.has_end_due() && !output.is_finished());
    output.set_finished();
    output.finish();
    assert!(output.is_finished() && !output.has_end_due());
}

#[test]
fn e09_a_queue_shows_how_much_it_holds_and_not_what() {
    let mut output = Output::default();
    output.push(b"secret");
    let shown = format!("{output:?}");
    assert!(shown.contains("len: 6") && !shown.contains("115"), "{shown}");
}
