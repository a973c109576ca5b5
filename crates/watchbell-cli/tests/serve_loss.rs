//! A server that loses connections cannot hide it.

mod support;

use rustix::process::Signal;
use std::path::PathBuf;
use std::process::Command;
use support::{Ledger, Server};

/// `cargo test` builds the examples beside the test programs, in `target/PROFILE/examples`; asked
/// for one test program only, it does not, and then this does.
fn seeded_loss() -> Command {
    let program = std::env::current_exe().expect("proc is mounted");
    let profile = program.ancestors().nth(2).expect("tests are in target/PROFILE/deps");
    let path: PathBuf = profile.join("examples/seeded_loss");
    if !path.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME")]);
        cargo.args(["--example", "seeded_loss", "--target-dir"]).arg(profile.join(".."));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo runs").success(), "the example does not build");
    }
    Command::new(path)
}

#[test]
fn d11_a_connection_lost_on_purpose_unbalances_the_last_line_and_the_exit_status() {
    let mut command = seeded_loss();
    command.args(["serve", "--listen", "127.0.0.1:0", "--workers", "1", "--drain", "0.1"]);
    let server = Server::spawn(command);
    let mut lost = Vec::new();
    for number in 1..=9 {
        let mut client = server.targets[0].connect();
        if number % 3 == 0 {
            lost.push(client);
        } else {
            assert!(client.rest().is_empty(), "closed in order");
        }
    }
    server.signal(Signal::TERM);
    let finished = server.finish();
    let expected = Ledger { accepted: 9, processed: 6, returned: 0, owned: 0 };
    assert_eq!(finished.ledger, expected, "nobody holds the other three: {finished:?}");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(finished.workers[0].accepts, 9);
}
