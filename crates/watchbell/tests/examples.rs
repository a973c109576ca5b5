//! Each example runs, ends well, and says at the end what it is meant to show.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::watchdog;

/// `cargo test` builds the examples beside the test programs, in `target/PROFILE/examples`. Asked
/// for some test programs only it does not, and then this does.
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

#[test]
fn echo() {
    watchdog(|| {
        let mut command = Command::new(built("echo"));
        let mut server = command.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let first = lines.next().expect("it says where it listens").unwrap();
        let address = first.strip_prefix("listening on ").unwrap();

        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"ahoy").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "ahoy");

        kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
        let last = lines.next().expect("it says what came of it").unwrap();
        assert_eq!(last, "accepted=1 processed=1 returned=0 owned=0");
        assert!(server.wait().unwrap().success());
    });
}
