//! What is refused before anything is opened, and the files and addresses of a server.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::process::Signal;
use std::fs;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use support::client::Target;
use support::{Directory, Server, run, watchbell};

/// One clear line on stderr, exit status 2, nothing on stdout; the line.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
    assert_eq!(ended.stdout, "", "{arguments:?}");
    let [line] = &ended.stderr[..] else { panic!("{arguments:?}: not one line: {ended:?}") };
    assert!(line.starts_with("watchbell: "), "{arguments:?}: {line}");
    line.clone()
}

#[test]
fn bad_input_is_one_line_and_exit_2() {
    for arguments in [
        &[][..],
        &["sing"],
        &["serve", "now"],
        &["serve", "--sing"],
        &["serve", "--workers"],
        &["serve", "--workers", "0"],
        &["serve", "--workers", "1025"],
        &["serve", "--workers", "-1"],
        &["serve", "--workers", "two"],
        &["serve", "--workers", "2", "--workers", "2"],
        &["serve", "--budget", "0"],
        &["serve", "--budget", "99999999999999999999"],
        &["serve", "--backlog", "0"],
        &["serve", "--high-water", "0"],
        &["serve", "--high-water", "1000", "--low-water", "1001"],
        &["serve", "--high-water", "1000"],
        &["serve", "--drain", "-0.5"],
        &["serve", "--drain", "nan"],
        &["serve", "--drain", "1e300"],
        &["serve", "--listen", ""],
        &["serve", "--listen", "127.0.0.1"],
        &["serve", "--listen", "127.0.0.1:65536"],
        &["serve", "--listen", "::1:7007"],
        &["serve", "--listen", "unix:"],
        &["serve", "--listen", "no such host:7007"],
        &["serve", "--listen", "a\n\nb:1"],
    ] {
        refused(arguments);
    }
}

#[test]
fn the_line_names_the_flag_and_the_value() {
    let line = refused(&["serve", "--workers", "0"]);
    assert!(line.contains("--workers") && line.contains('0'), "{line}");
    let line = refused(&["serve", "--high-water", "1000", "--low-water", "1001"]);
    assert!(line.contains("--high-water 1000") && line.contains("--low-water 1001"), "{line}");
    let line = refused(&["serve", "--listen", "127.0.0.1"]);
    assert!(line.contains("'127.0.0.1'") && line.contains("no port"), "{line}");
}

#[test]
fn an_unusable_address_is_refused() {
    // TEST-NET-1 of RFC 5737 belongs to no machine.
    let line = refused(&["serve", "--listen", "192.0.2.1:0"]);
    assert!(line.contains("192.0.2.1:0"), "{line}");
    let line = refused(&["serve", "--listen", "unix:/no/such/directory/s"]);
    assert!(line.contains("unix:/no/such/directory/s"), "{line}");
    let long = format!("unix:/tmp/{}", "x".repeat(200));
    assert!(refused(&["serve", "--listen", &long]).contains("107"));
    let line = refused(&["serve", "--listen", "127.0.0.1:9", "--listen", "127.0.0.1:9"]);
    assert!(line.contains("127.0.0.1:9 is given twice"), "{line}");
}

#[test]
fn a_missing_directory_is_named() {
    let line = refused(&["serve", "--listen", "unix:/no/such/directory/s"]);
    assert!(line.ends_with("the directory /no/such/directory is missing"), "{line}");
}

#[test]
fn two_addresses_of_its_own_that_clash_are_no_stranger_s() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    drop(other);
    let (every, one) = (format!("0.0.0.0:{port}"), format!("127.0.0.1:{port}"));
    let line = refused(&["serve", "--listen", &every, "--listen", &one]);
    assert!(line.contains(&format!("{every} is given as well")), "{line}");
    if TcpListener::bind("[::]:0").is_ok() {
        let line = refused(&["serve", "--listen", &every, "--listen", &format!("[::]:{port}")]);
        assert!(line.ends_with("those of IPv4 too"), "{line}");
    }
    let directory = Directory::new();
    let path = directory.path();
    let twin = format!("unix:{}/./s", path.parent().unwrap().display());
    let first = directory.listen();
    fs::create_dir(path.with_file_name("d")).unwrap();
    let longer = format!("unix:{}/d/../s", path.parent().unwrap().display());
    for other in [&twin, &longer] {
        let line = refused(&["serve", "--listen", &first, "--listen", other]);
        assert!(line.contains("is given twice"), "{line}");
    }
}

/// The line of a server that `limit`, a shell's ulimit, keeps from starting.
fn refused_within(limit: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]);
    command.arg(watchbell().get_program()).args(["serve", "--listen", "127.0.0.1:0"]);
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_limit_that_is_too_low_is_named() {
    let line = refused_within("-n 8", &["--workers", "1"]);
    assert!(line.contains("1 worker needs about 13 descriptors"), "{line}");
    let line = refused_within("-n 64", &["--workers", "1024"]);
    assert!(line.contains("about 3082 descriptors"), "{line}");
    assert!(line.contains("(ulimit -n) is 64"), "{line}");
}

#[test]
fn a_tcp_address_in_use_is_refused() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let line = refused(&["serve", "--listen", &address]);
    assert!(line.contains(&address) && line.contains("address in use"), "{line}");
}

#[test]
fn nothing_is_left_behind_when_a_later_address_is_refused() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let directory = Directory::new();
    refused(&["serve", "--listen", &directory.listen(), "--listen", &address]);
    assert!(!directory.path().exists());
}

#[test]
fn a_socket_file_in_use_is_refused_and_stays_in_use() {
    let directory = Directory::new();
    let server = Server::start(&["--listen", &directory.listen()]);
    let line = refused(&["serve", "--listen", &directory.listen()]);
    assert!(line.contains("address in use"), "{line}");
    server.targets[0].connect().exchange(b"still here");
    server.stop();
}

#[test]
fn a_stale_socket_file_is_replaced() {
    let directory = Directory::new();
    drop(UnixListener::bind(directory.path()).unwrap());
    let server = Server::start(&["--listen", &directory.listen()]);
    server.targets[0].connect().exchange(b"new");
    server.stop();
}

#[test]
fn the_socket_file_of_a_killed_server_is_replaced() {
    let directory = Directory::new();
    let mut killed = Server::start(&["--listen", &directory.listen()]);
    killed.signal(Signal::KILL);
    support::wait_until("the killed server is gone", || !killed.is_running());
    assert!(directory.path().exists());
    let server = Server::start(&["--listen", &directory.listen()]);
    server.targets[0].connect().exchange(b"new");
    server.stop();
}

#[test]
fn what_is_not_a_socket_is_refused_and_still_there() {
    let directory = Directory::new();
    fs::write(directory.path(), "precious").unwrap();
    let line = refused(&["serve", "--listen", &directory.listen()]);
    assert!(line.contains("not a socket"), "{line}");
    assert_eq!(fs::read(directory.path()).unwrap(), b"precious");
}

#[test]
fn its_own_socket_file_is_gone_at_the_end() {
    let directory = Directory::new();
    let server = Server::start(&["--listen", &directory.listen()]);
    assert!(directory.path().exists());
    server.stop();
    assert!(!directory.path().exists());
}

#[test]
fn a_socket_file_that_is_another_servers_by_now_stays() {
    let directory = Directory::new();
    let server = Server::start(&["--listen", &directory.listen()]);
    fs::remove_file(directory.path()).unwrap();
    let other = UnixListener::bind(directory.path()).unwrap();
    server.stop();
    assert!(directory.path().exists());
    drop(other);
}

#[test]
fn port_0_prints_the_real_port_and_every_address_in_order() {
    let directory = Directory::new();
    let arguments = ["--listen", "127.0.0.1:0", "--listen", &directory.listen(), "--workers", "1"];
    let server = Server::start(&arguments);
    assert_eq!(server.workers, 1);
    assert_eq!(server.targets.len(), 2);
    assert_ne!(server.targets[0].port(), 0);
    assert_eq!(server.targets[1], Target::Unix(directory.path()));
    for target in &server.targets {
        target.connect().exchange(b"here");
    }
    server.stop();
}

#[test]
fn a_host_name_and_an_ipv6_address_are_served() {
    let server = Server::start(&["--listen", "localhost:0"]);
    for target in &server.targets {
        target.connect().exchange(b"by name");
    }
    server.stop();
    if TcpListener::bind("[::1]:0").is_ok() {
        let server = Server::start(&["--listen", "[::1]:0"]);
        server.targets[0].connect().exchange(b"version 6");
        server.stop();
    }
}

#[test]
fn a_path_of_any_bytes_is_served() {
    let directory = Directory::new();
    let path = directory.path().with_file_name(std::ffi::OsStr::from_bytes(b"\xff\n"));
    let mut argument = std::ffi::OsString::from("unix:");
    argument.push(&path);
    let server = Server::start(&["--listen".into(), argument]);
    Target::Unix(path).connect().exchange(b"odd");
    server.stop();
}

#[test]
fn version_and_help_go_to_stdout() {
    let ended = run(&["--version"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "watchbell 0.1.0\n"));
    assert!(ended.stderr.is_empty());
    for arguments in [&["--help"][..], &["serve", "--help"], &["help", "serve"]] {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains("serve") && ended.stderr.is_empty(), "{ended:?}");
    }
    let help = run(&["serve", "--help"]).stdout;
    for word in ["127.0.0.1:7007", "65536", "1024", "262144", "number of CPUs", "seconds"] {
        assert!(help.contains(word), "{word} is missing in: {help}");
    }
}

#[test]
fn a_closed_output_is_no_failure() {
    let (read_end, write_end) = std::io::pipe().unwrap();
    drop(read_end);
    let status = watchbell()
        .arg("--help")
        .stdout(Stdio::from(write_end.try_clone().unwrap()))
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    let status = watchbell().arg("sing").stderr(Stdio::from(write_end)).status().unwrap();
    assert_eq!(status.code(), Some(2));
}
