//! The command line: flags, their defaults and their limits.

mod refusal;

use crate::address::{self, Endpoint};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Parser, Subcommand};
use std::collections::HashSet;
use std::ffi::OsString;
use std::num::NonZero;
use std::thread;
use std::time::Duration;
use watchbell::net::{Address, Marks};

/// The longest `--drain`: a year, in seconds.
const LONGEST_DRAIN: f64 = 365.0 * 86_400.0;

/// The marks of a connection's output queue, in bytes.
const LOW_WATER: u32 = 65_536;
const HIGH_WATER: u32 = 262_144;

/// Serves TCP and Unix-socket connections by an embedded echo service, with an event loop on
/// eventfd and epoll in each of its worker threads.
#[derive(Debug, Parser)]
#[command(name = "watchbell", bin_name = "watchbell", version, propagate_version = true)]
#[command(arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the embedded echo service: every byte goes back to the client that sent it.
    ///
    /// SIGTERM or SIGINT ends it: it stops accepting, finishes the open connections for up to
    /// --drain seconds, and closes the rest; a second signal closes them at once. The last line on
    /// stdout is the ledger of connections. Exit status: 0 when the ledger balances, 1 when it does
    /// not or a worker or listener failed, 2 for bad input or when the server could not start.
    #[command(after_help = EXAMPLE, display_name = "watchbell")]
    Serve(Serve),
}

const EXAMPLE: &str = "Example:
  watchbell serve --listen 127.0.0.1:7007 --listen unix:/tmp/echo.sock --workers 2";

#[derive(Args, Debug)]
struct Serve {
    /// Where to accept connections: host:port, [v6]:port or unix:PATH; may be given several times.
    ///
    /// Port 0 takes a free port; the first line on stderr names it. A host name stands for every
    /// address that it resolves to.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7007")]
    listen: Vec<OsString>,

    /// Worker threads, 1 to 1024, each with an event loop of its own [default: the number of CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole(1, 1024))]
    workers: Option<u32>,

    /// How many bytes one connection may move in its turn before the others get theirs, 1 to
    /// 1073741824
    #[arg(long, value_name = "BYTES", default_value = "65536", allow_negative_numbers = true)]
    #[arg(value_parser = whole(1, 1 << 30))]
    budget: u32,

    /// How many connections may wait to be accepted, a listener, 1 to 1048576; the kernel caps it
    /// at its somaxconn
    #[arg(long, value_name = "N", default_value = "1024", allow_negative_numbers = true)]
    #[arg(value_parser = whole(1, 1 << 20))]
    backlog: u32,

    /// Bytes that wait for a slow client before the server stops reading from it, 1 to 1073741824;
    /// below 65537 it needs a --low-water of its own [default: 262144]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    #[arg(value_parser = whole(1, 1 << 30))]
    high_water: Option<u32>,

    /// Bytes that still wait for it when the server starts reading again; less than --high-water
    /// [default: 65536]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    #[arg(value_parser = whole(0, 1 << 30))]
    low_water: Option<u32>,

    /// How long open connections may take to finish after a signal, in seconds up to 31536000; 0.5
    /// is half of one
    #[arg(long, value_name = "SECS", default_value = "10", allow_negative_numbers = true)]
    #[arg(value_parser = seconds)]
    drain: Duration,
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// To print a text on stdout: the help or the version.
    Print(String),
    /// To serve.
    Serve(Settings),
}

/// What `watchbell serve` runs with. Every value is within its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where to accept connections; no address twice.
    pub listen: Vec<Endpoint>,
    /// How many workers.
    pub workers: NonZero<usize>,
    /// How many bytes one connection may move in a turn; at least one.
    pub budget: usize,
    /// How many connections may wait to be accepted, a listener.
    pub backlog: u32,
    /// The bounds of a connection's output queue.
    pub marks: Marks,
    /// How long open connections may take to finish after a signal.
    pub drain: Duration,
}

/// Reads the arguments of a process, the program's name first. Host names are resolved here;
/// nothing is opened.
///
/// # Errors
///
/// Any argument that is unknown, not of its form or not within its limits, and marks or addresses
/// that contradict each other. The message says which, in one line.
pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Request> {
    match Cli::try_parse_from(arguments) {
        Ok(Cli { command: Command::Serve(serve) }) => settings(serve).map(Request::Serve),
        Err(error) => refusal::of(&error),
    }
}

fn settings(serve: Serve) -> Result<Settings> {
    let marks = marks(serve.low_water, serve.high_water)?;
    Ok(Settings {
        listen: endpoints(&serve.listen)?,
        workers: serve.workers.and_then(|n| NonZero::new(n as usize)).unwrap_or_else(cpus),
        budget: serve.budget as usize,
        backlog: serve.backlog,
        marks,
        drain: serve.drain,
    })
}

/// The marks; where they contradict each other, the flag that was given is the one to name.
fn marks(given_low: Option<u32>, given_high: Option<u32>) -> Result<Marks> {
    let low = given_low.unwrap_or(LOW_WATER);
    let high = given_high.unwrap_or(HIGH_WATER);
    Marks::new(low as usize, high as usize).map_err(|_| match (given_low, given_high) {
        (Some(_), None) => {
            anyhow!("--low-water {low} is not below --high-water, which is {high} by default")
        }
        (None, Some(_)) => {
            anyhow!("--high-water {high} is not above --low-water, which is {low} by default")
        }
        _ => anyhow!("--high-water {high} is not above --low-water {low}: reading would flutter"),
    })
}

/// The number of CPUs that this process may use, and 1 where the system does not tell.
fn cpus() -> NonZero<usize> {
    let most = NonZero::new(1024).unwrap_or(NonZero::<usize>::MIN);
    thread::available_parallelism().map_or(NonZero::<usize>::MIN, |cpus| cpus.min(most))
}

/// Every `--listen`, resolved; an address that comes up twice is refused. Port 0 is no address yet:
/// each one gets a port of its own.
fn endpoints(texts: &[OsString]) -> Result<Vec<Endpoint>> {
    let mut seen = HashSet::new();
    let mut endpoints = Vec::with_capacity(texts.len());
    for text in texts {
        let name = text.to_string_lossy();
        let endpoint =
            address::parse(text).with_context(|| format!("cannot listen on '{name}'"))?;
        for address in &endpoint.addresses {
            let is_fixed = !matches!(address, Address::Inet(inet) if inet.port() == 0);
            if is_fixed && !seen.insert(address.clone()) {
                bail!("cannot listen on '{name}': {address} is given twice");
            }
        }
        endpoints.push(endpoint);
    }
    Ok(endpoints)
}

/// Reads a whole number from `low` to `high`.
fn whole(low: u32, high: u32) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync {
    move |text| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("a whole number is needed, without a suffix".to_owned());
        }
        // One that is too long to be read is out of the limits as well.
        let number = text.parse().ok().filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| format!("{text} is not in {low}..={high}"))
    }
}

/// A number of seconds, with decimals.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    if (0.0..=LONGEST_DRAIN).contains(&seconds) {
        Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
    } else {
        Err(format!("{text} is not in 0..={LONGEST_DRAIN} seconds"))
    }
}

#[cfg(test)]
mod tests;
