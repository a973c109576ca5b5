//! The examples of the epoll layer run, and end with what they promise.
#![allow(clippy::unwrap_used)]

use std::process::Command;

/// The last line that the built example prints.
fn last_line_of(example: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join(example);
    let output = Command::new(&path).output().unwrap_or_else(|error| {
        panic!("{}: {error} (cargo test builds it, unless told which target)", path.display())
    });
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn e11_handoff_serves_every_request_and_no_lease_is_left() {
    assert_eq!(last_line_of("handoff"), "served=400 out=0 undecided=0");
}

#[test]
fn x08_observer_sees_every_burst() {
    assert_eq!(last_line_of("observer"), "accepted=40 bursts=5 seen=5");
}
