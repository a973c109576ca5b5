//! The real binary under test: started, watched, signalled and ended.
//!
//! Nothing here waits without an end: [`PATIENCE`] bounds every wait, so that a server that hangs
//! fails its test instead of stopping the suite. It is no measure of speed.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used)]

pub mod client;
pub mod proc;
pub mod random;

use client::Target;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// Looks again and again until `done` says so.
#[track_caller]
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The binary that this package builds.
pub fn watchbell() -> Command {
    Command::new(env!("CARGO_BIN_EXE_watchbell"))
}

/// A running server. Dropping it kills it.
pub struct Server {
    child: Child,
    stderr: Option<JoinHandle<Vec<String>>>,
    stdout: Option<JoinHandle<String>>,
    /// Where it listens, in the order of its first line.
    pub targets: Vec<Target>,
    /// The number of workers in its first line.
    pub workers: usize,
}

/// What an ended process left.
#[derive(Debug)]
pub struct Ended {
    /// The exit status; `None` when a signal killed it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: Vec<String>,
}

/// What an ended server left.
#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub ledger: Ledger,
    pub workers: Vec<Worker>,
    pub stderr: Vec<String>,
}

/// The last line on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    pub accepted: u64,
    pub processed: u64,
    pub returned: u64,
    pub owned: u64,
}

/// A worker's line on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    pub wakes: u64,
    pub accepts: u64,
    pub empty: u64,
    pub connections: u64,
}

impl Server {
    /// Starts `watchbell serve` with `arguments` and returns once it listens.
    #[track_caller]
    pub fn start<S: AsRef<OsStr>>(arguments: &[S]) -> Server {
        let mut command = watchbell();
        command.arg("serve").args(arguments);
        Server::spawn(command)
    }

    /// Starts any program that prints the same lines.
    #[track_caller]
    pub fn spawn(mut command: Command) -> Server {
        let mut child = pipes(&mut command).spawn().expect("the program starts");
        let stdout = child.stdout.take().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (first, heard) = mpsc::channel();
        let mut server = Server {
            child,
            stderr: Some(thread::spawn(move || lines(stderr, |line| _ = first.send(line)))),
            stdout: Some(thread::spawn(move || text(stdout))),
            targets: Vec::new(),
            workers: 0,
        };
        let line = heard.recv_timeout(PATIENCE).expect("the server says something on stderr");
        let Some((targets, workers)) = parse_listening(&line) else {
            panic!("the server did not start: {line}")
        };
        (server.targets, server.workers) = (targets, workers);
        server
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the server is alive");
    }

    /// Whether the process is still there.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the end of a server that was signalled.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        let ended = self.end();
        let ledger = ended.stdout.lines().last().and_then(parse_ledger);
        let Some(ledger) = ledger else { panic!("no ledger at the end: {ended:?}") };
        let workers: Vec<Worker> =
            ended.stderr.iter().filter_map(|line| parse_worker(line)).collect();
        assert_eq!(workers.len(), self.workers, "a line a worker: {ended:?}");
        Finished { code: ended.code, ledger, workers, stderr: ended.stderr }
    }

    /// Stops a server that has nothing left to do, with everything in order.
    #[track_caller]
    pub fn stop(self) -> Finished {
        self.signal(Signal::TERM);
        let finished = self.finish();
        finished.assert_balanced();
        finished
    }

    #[track_caller]
    fn end(&mut self) -> Ended {
        let code = wait(&mut self.child);
        Ended {
            code,
            stdout: self.stdout.take().unwrap().join().unwrap(),
            stderr: self.stderr.take().unwrap().join().unwrap(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// D11's own words, and the exit status that goes with them.
    #[track_caller]
    pub fn assert_balanced(&self) {
        let Ledger { accepted, processed, returned, owned } = self.ledger;
        assert_eq!(accepted, processed + returned + owned, "{self:?}");
        assert_eq!(owned, 0, "an ended server holds nothing: {self:?}");
        assert_eq!(self.code, Some(0), "{self:?}");
        let accepts: u64 = self.workers.iter().map(|worker| worker.accepts).sum();
        assert_eq!(accepts, accepted, "the workers accepted what the ledger says: {self:?}");
    }
}

/// Runs the command to its end, which has to come by itself.
#[track_caller]
pub fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Ended {
    let mut command = watchbell();
    command.args(arguments);
    let mut child = pipes(&mut command).spawn().expect("the program starts");
    let stdout = child.stdout.take().unwrap();
    let stderr = child.stderr.take().unwrap();
    let stdout = thread::spawn(move || text(stdout));
    let stderr = thread::spawn(move || lines(stderr, |_| ()));
    let code = wait(&mut child);
    Ended { code, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn pipes(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// Waits for the end of `child` and kills it when there is none; its exit status.
#[track_caller]
pub fn wait(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process does not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Reads every line, shows each to `see`, and keeps them.
fn lines(pipe: impl Read, mut see: impl FnMut(String)) -> Vec<String> {
    let keep = |line: String| {
        see(line.clone());
        line
    };
    BufReader::new(pipe).lines().map_while(Result::ok).map(keep).collect()
}

fn text(mut pipe: impl Read) -> String {
    let mut text = String::new();
    let _ = pipe.read_to_string(&mut text);
    text
}

/// `listening on ADDR, ADDR, N workers, service NAME`.
fn parse_listening(line: &str) -> Option<(Vec<Target>, usize)> {
    let mut parts: Vec<&str> = line.strip_prefix("listening on ")?.split(", ").collect();
    parts.pop()?.strip_prefix("service ")?;
    let (count, noun) = parts.pop()?.split_once(' ')?;
    let workers = count.parse().ok()?;
    (noun == if workers == 1 { "worker" } else { "workers" }).then_some(())?;
    let targets = parts.into_iter().map(Target::parse).collect::<Option<Vec<_>>>()?;
    Some((targets, workers))
}

fn parse_ledger(line: &str) -> Option<Ledger> {
    let [accepted, processed, returned, owned] =
        numbers(line, ["accepted", "processed", "returned", "owned"])?;
    Some(Ledger { accepted, processed, returned, owned })
}

fn parse_worker(line: &str) -> Option<Worker> {
    let (_, counts) = line.strip_prefix("worker ")?.split_once(": ")?;
    let [wakes, accepts, empty, connections] =
        numbers(counts, ["wakes", "accepts", "empty", "connections"])?;
    Some(Worker { wakes, accepts, empty, connections })
}

/// The numbers of `a=1 b=2`, where the line holds these names in this order and nothing else.
fn numbers<const N: usize>(line: &str, names: [&str; N]) -> Option<[u64; N]> {
    let mut values = [0; N];
    let mut words = line.split(' ');
    for (name, value) in names.into_iter().zip(&mut values) {
        *value = words.next()?.strip_prefix(name)?.strip_prefix('=')?.parse().ok()?;
    }
    words.next().is_none().then_some(values)
}

/// A directory of one test's own, for its sockets; removed at the end.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("wb-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("the name is not taken");
        Directory(path)
    }

    pub fn path(&self) -> PathBuf {
        self.0.join("s")
    }

    /// The path of the socket as a `--listen` argument.
    pub fn listen(&self) -> String {
        format!("unix:{}", self.path().display())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
