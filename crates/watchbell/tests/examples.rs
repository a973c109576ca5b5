//! Each example runs, ends well, and says at the end what it is meant to show.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::watchdog;

/// `cargo test` builds the examples beside the test programs, in `target/PROFILE/examples`. Asked for
/// some test programs only it does not, and then this does.
fn built(example: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let profile = program.ancestors().nth(2).expect("tests are in target/PROFILE/deps");
    let path = profile.join("examples").join(example);
    if !path.exists() {
        build(example, profile);
    }
    path
}

fn build(example: &str, profile: &Path) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--example", example]);
    cargo.arg("--target-dir").arg(profile.parent().expect("target/PROFILE is in target"));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().unwrap().success(), "example {example} does not build");
}

/// What the example printed last.
fn last_line(example: &str) -> String {
    let mut command = Command::new(built(example));
    let output = watchdog(move || command.output().unwrap());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {}\n{stderr}", output.status);
    let stdout = String::from_utf8(output.stdout).unwrap();
    stdout.lines().last().expect("it prints something").to_owned()
}

#[test]
fn semaphore() {
    assert_eq!(last_line("semaphore"), "total: 1000 jobs, sum 500500");
}
