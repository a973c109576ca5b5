//! Clients that misbehave, and a system that runs short.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use rustix::process::{Resource, getrlimit};
use std::io::{self, Read, Write};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use support::client::{Client, Target};
use support::random::Random;
use support::{Directory, PATIENCE, Server, proc, wait_until, watchbell};

/// Whether `flags` are there within `time`.
fn is_ready(client: &Client, flags: PollFlags, time: Duration) -> bool {
    let mut fds = [PollFd::new(client, flags)];
    poll(&mut fds, Some(&Timespec::try_from(time).unwrap())).unwrap() > 0
}

/// The moments at which a client goes away.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Connected,
    MidWrite,
    EchoUnread,
    EchoRead,
    HalfClosed,
    HalfClosedWithEchoUnread,
}

const STAGES: [Stage; 6] = [
    Stage::Connected,
    Stage::MidWrite,
    Stage::EchoUnread,
    Stage::EchoRead,
    Stage::HalfClosed,
    Stage::HalfClosedWithEchoUnread,
];

/// Connects and brings the connection to the stage.
fn bring_to(stage: Stage, target: &Target, bytes: &[u8]) -> Client {
    let mut client = target.connect();
    match stage {
        Stage::Connected => {}
        Stage::MidWrite => client.write_all(bytes).unwrap(),
        Stage::EchoUnread => {
            client.write_all(bytes).unwrap();
            assert!(is_ready(&client, PollFlags::IN, PATIENCE), "the echo comes");
        }
        Stage::EchoRead => client.exchange(bytes),
        Stage::HalfClosed => client.half_close(),
        Stage::HalfClosedWithEchoUnread => {
            client.write_all(bytes).unwrap();
            client.half_close();
            assert!(is_ready(&client, PollFlags::IN, PATIENCE), "the echo comes");
        }
    }
    client
}

#[test]
fn e04_a_reset_at_any_moment_closes_that_connection_alone() {
    let directory = Directory::new();
    let listen = directory.listen();
    let arguments = ["--listen", "127.0.0.1:0", "--listen", &listen, "--workers", "2"];
    let server = Server::start(&arguments);
    let baseline = proc::descriptors(server.pid());
    let mut random = Random::new(4);
    let mut bystanders: Vec<Client> =
        (0..8).map(|index| server.targets[index % 2].connect()).collect();
    bystanders.iter_mut().for_each(|bystander| bystander.exchange(b"before"));
    for _ in 0..20 {
        for stage in STAGES {
            for target in &server.targets {
                let size = random.size(1, 50_000);
                bring_to(stage, target, &random.bytes(size)).reset();
            }
            let bytes = random.bytes(100);
            bystanders.iter_mut().for_each(|bystander| bystander.exchange(&bytes));
        }
    }
    let held = baseline + bystanders.len();
    wait_until("the reset connections are closed", || proc::descriptors(server.pid()) == held);
    bystanders.iter_mut().for_each(|bystander| bystander.exchange(b"after"));
    drop(bystanders);
    let finished = server.stop();
    assert_eq!(finished.ledger.returned, 0, "each ended by itself: {finished:?}");
}

#[test]
fn e04_a_reset_that_meets_the_server_writing_closes_that_connection_alone() {
    let server = Server::start(&["--listen", "127.0.0.1:0", "--workers", "1"]);
    let target = &server.targets[0];
    let mut bystander = target.connect();
    for seed in 0..20 {
        // Nobody reads the echo, so that the server comes to wait for room to write.
        let mut client = target.connect_small(4096).unwrap();
        client.set_nonblocking(true);
        let bytes = Random::quiet(seed).bytes(1 << 16);
        while is_ready(&client, PollFlags::OUT, Duration::from_millis(1)) {
            match client.write(&bytes) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        client.reset();
        bystander.exchange(b"still here");
    }
    drop(bystander);
    assert_eq!(server.stop().ledger.accepted, 21);
}

const HIGH_WATER: usize = 65_536;
const LOW_WATER: usize = 16_384;
const BUDGET: usize = 16_384;

/// Writes as much as the server takes from a client that reads nothing; panics past `bound`.
fn fill(client: &mut Client, bytes: &[u8], bound: usize) -> usize {
    let mut sent = 0;
    // Up to its mark the server has to read, however long that takes. Past it a while of quiet says
    // that it has stopped; if it was only slow, it has taken less, which is within the bound.
    let while_quiet = |sent| if sent <= HIGH_WATER { PATIENCE } else { Duration::from_millis(300) };
    while is_ready(client, PollFlags::OUT, while_quiet(sent)) {
        let end = (sent + 16 * 1024).min(bytes.len());
        match client.write(&bytes[sent..end]) {
            Ok(count) => sent += count,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}"),
        }
        assert!(sent <= bound, "the server took {sent} bytes, more than {bound}, and still reads");
    }
    sent
}

/// E09: a high-water mark on the queue stops reading from the source that fills it, and a low-water
/// mark starts it again.
fn a_reader_that_stops(listen: &str, buffers_of_the_server: usize) {
    let [high, low, budget] = [HIGH_WATER, LOW_WATER, BUDGET].map(|bytes| bytes.to_string());
    let marks = ["--high-water", &high, "--low-water", &low, "--budget", &budget];
    let server = Server::start(&[&["--listen", listen, "--workers", "1"], &marks[..]].concat());
    let target = &server.targets[0];
    let mut client = target.connect_small(16 * 1024).unwrap();
    let own = sockopt::socket_send_buffer_size(&client).unwrap()
        + sockopt::socket_recv_buffer_size(&client).unwrap();
    // The queue, what one turn may add to it before it is looked at, and the sockets on both sides.
    let bound = HIGH_WATER + BUDGET + own + buffers_of_the_server;
    let bytes = Random::new(9).bytes(bound + (1 << 20));
    client.set_nonblocking(true);
    let sent = fill(&mut client, &bytes, bound);
    assert!(sent > HIGH_WATER, "the server reads up to its mark, not only {sent} bytes");
    target.connect().exchange(b"the others are served meanwhile");

    client.set_nonblocking(false);
    let mut writer = client.duplicate();
    thread::scope(|scope| {
        scope.spawn(|| {
            writer.write_all(&bytes[sent..]).unwrap();
            writer.half_close();
        });
        assert!(client.rest() == bytes, "what was held back arrives whole and in order");
    });
    assert_eq!(server.stop().ledger.processed, 2);
}

#[test]
fn e09_a_high_water_mark_stops_reading_from_a_unix_client_that_stops_reading() {
    let directory = Directory::new();
    a_reader_that_stops(&directory.listen(), proc::largest("net/core/wmem_default"));
}

#[test]
fn e09_a_high_water_mark_stops_reading_from_a_tcp_client_that_stops_reading() {
    // The kernel lets the buffers of an accepted socket grow up to these.
    let grown = proc::largest("net/ipv4/tcp_rmem") + proc::largest("net/ipv4/tcp_wmem");
    a_reader_that_stops("127.0.0.1:0", grown);
}

/// A server that may not have more than `limit` descriptors, the hard limit included.
fn server_of_few_descriptors(limit: u32, listen: [&str; 2]) -> Server {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")]);
    command.arg(watchbell().get_program()).arg("serve");
    command.args(["--listen", listen[0], "--listen", listen[1], "--workers", "2"]);
    Server::spawn(command)
}

/// Takes the answers that have come and keeps the clients that have none yet.
fn take_answers(waiting: &mut Vec<Client>, answered: &mut Vec<Client>) {
    let (ready, rest): (Vec<_>, Vec<_>) =
        waiting.drain(..).partition(|client| is_ready(client, PollFlags::IN, Duration::ZERO));
    *waiting = rest;
    for mut client in ready {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("the server answers what it accepted");
        assert_eq!(byte, [b'?']);
        answered.push(client);
    }
}

#[test]
fn e04_without_descriptors_accepting_pauses_and_resumes_and_nothing_spins() {
    assert!(getrlimit(Resource::Nofile).current.is_none_or(|limit| limit > 300));
    let directory = Directory::new();
    let mut server = server_of_few_descriptors(64, ["127.0.0.1:0", &directory.listen()]);
    let mut waiting: Vec<Client> =
        (0..150).map(|index| server.targets[index % 2].connect()).collect();
    waiting.iter_mut().for_each(|client| client.write_all(b"?").unwrap());
    let mut answered = Vec::new();
    let mut quiet_since = Instant::now();
    wait_until("the server has no descriptor left", || {
        let before = answered.len();
        take_answers(&mut waiting, &mut answered);
        if answered.len() > before {
            quiet_since = Instant::now();
        }
        answered.len() >= 20 && quiet_since.elapsed() > Duration::from_millis(500)
    });
    assert!(answered.len() < 64, "no more than the limit allows: {}", answered.len());

    let before = proc::ticks(server.pid());
    thread::sleep(Duration::from_secs(1));
    let used = proc::ticks(server.pid()) - before;
    assert!(used < 50, "{used} of about 100 ticks a second: it spins");

    assert!(server.is_running());
    answered.iter_mut().for_each(|client| client.exchange(b"still served"));
    wait_until("every waiting client is served", || {
        answered.clear();
        take_answers(&mut waiting, &mut answered);
        waiting.is_empty()
    });
    answered.clear();
    let finished = server.stop();
    assert_eq!((finished.ledger.accepted, finished.ledger.processed), (150, 150));
}
