//! The examples as programs that a test runs.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use crate::support::watchdog;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `cargo test` builds the examples beside the test programs, in `target/PROFILE/examples`. Asked
/// for some test programs only it does not, and then this does.
pub fn built(example: &str) -> PathBuf {
    let profile = profile();
    let path = profile.join("examples").join(example);
    if !path.exists() {
        build(&profile, &["--example", example]);
    }
    path
}

/// As [`built`], for one that needs one of `features`. What lies there may be older than its
/// source, since the plain test command leaves it alone.
pub fn built_with(features: &str, example: &str) -> PathBuf {
    let profile = profile();
    build(&profile, &["--example", example, "--features", features]);
    profile.join("examples").join(example)
}

fn profile() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(2).expect("tests are in target/PROFILE/deps").to_owned()
}

fn build(profile: &Path, what: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME")]).args(what);
    cargo.arg("--target-dir").arg(profile.parent().expect("target/PROFILE is in target"));
    // The test's own profile, so that the library is not built once more.
    cargo.args(["--profile", if profile.ends_with("release") { "release" } else { "test" }]);
    assert!(cargo.status().unwrap().success(), "{what:?} does not build");
}

/// What the example printed last.
pub fn last_line(example: &str) -> String {
    last_line_of(built(example))
}

/// What the program printed last.
pub fn last_line_of(program: PathBuf) -> String {
    let mut command = Command::new(&program);
    let output = watchdog(move || command.output().unwrap());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {}\n{stderr}", program.display(), output.status);
    let stdout = String::from_utf8(output.stdout).unwrap();
    stdout.lines().last().expect("it prints something").to_owned()
}
