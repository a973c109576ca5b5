//! The command line: flags, their defaults and their limits.

use crate::address::{self, Endpoint};
use anyhow::{Context, Result, anyhow, bail};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, value_parser};
use std::collections::HashSet;
use std::ffi::OsString;
use std::num::NonZero;
use std::thread;
use std::time::Duration;
use watchbell::net::{Address, Marks};

/// The longest `--drain`: a year, in seconds.
const LONGEST_DRAIN: f64 = 365.0 * 86_400.0;

/// A TCP and Unix-socket service dispatcher on eventfd and epoll.
#[derive(Debug, Parser)]
#[command(name = "watchbell", bin_name = "watchbell", version, arg_required_else_help = false)]
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
    /// not, 2 for bad input or when the server could not start.
    Serve(Serve),
}

#[derive(Args, Debug)]
struct Serve {
    /// Where to accept connections: host:port, [v6]:port or unix:PATH; may be given several times.
    ///
    /// Port 0 takes a free port; the first line on stderr names it. A host name stands for every
    /// address that it resolves to.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7007")]
    listen: Vec<OsString>,

    /// Worker threads, each with an event loop of its own [default: the number of CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// How many bytes one connection may move in its turn before the others get theirs
    #[arg(long, value_name = "BYTES", default_value = "65536", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=1 << 30))]
    budget: u32,

    /// How many connections may wait to be accepted, a listener; the kernel caps it at its
    /// somaxconn
    #[arg(long, value_name = "N", default_value = "1024", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=1 << 20))]
    backlog: u32,

    /// Bytes that wait for a slow client before the server stops reading from it
    #[arg(long, value_name = "BYTES", default_value = "262144", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=1 << 30))]
    high_water: u32,

    /// Bytes that still wait for it when the server starts reading again; less than --high-water
    #[arg(long, value_name = "BYTES", default_value = "65536", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(0..=1 << 30))]
    low_water: u32,

    /// How long open connections may take to finish after a signal, in seconds; 0.5 is half of one
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
        Err(error) => refused(&error),
    }
}

/// Help and version are no errors; everything else is, in one line of clap's several.
fn refused(error: &clap::Error) -> Result<Request> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Ok(Request::Print(error.render().to_string()))
        }
        ErrorKind::MissingSubcommand => {
            Err(anyhow!("what to do is missing: try 'watchbell serve' or 'watchbell --help'"))
        }
        _ => Err(anyhow!(first_paragraph(&error.render().to_string()))),
    }
}

/// The sentence that says what is wrong, without the usage and the hints after it.
fn first_paragraph(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let paragraph = paragraph.strip_prefix("error: ").unwrap_or(paragraph);
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn settings(serve: Serve) -> Result<Settings> {
    let (low, high) = (serve.low_water as usize, serve.high_water as usize);
    let marks = Marks::new(low, high).map_err(|_| {
        anyhow!("--high-water {high} is not above --low-water {low}: reading would flutter")
    })?;
    Ok(Settings {
        listen: endpoints(&serve.listen)?,
        workers: serve.workers.and_then(|n| NonZero::new(n.into())).unwrap_or_else(cpus),
        budget: serve.budget as usize,
        backlog: serve.backlog,
        marks,
        drain: serve.drain,
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
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Request> {
        read(line.split(' ').map(OsString::from))
    }

    fn settings_of(line: &str) -> Settings {
        match parse(line).unwrap() {
            Request::Serve(settings) => settings,
            Request::Print(text) => panic!("a text: {text}"),
        }
    }

    fn refusal(line: &str) -> String {
        format!("{:#}", parse(line).expect_err(line))
    }

    #[test]
    fn clap_finds_no_fault_in_the_definition() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_those_that_the_help_names() {
        let settings = settings_of("watchbell serve");
        assert_eq!(settings.listen.len(), 1);
        assert_eq!(
            settings.listen[0].addresses,
            [Address::Inet("127.0.0.1:7007".parse().unwrap())]
        );
        assert_eq!(settings.workers, cpus());
        assert_eq!((settings.budget, settings.backlog), (65536, 1024));
        assert_eq!(settings.marks, Marks::new(65536, 262144).unwrap());
        assert_eq!(settings.drain, Duration::from_secs(10));
    }

    #[test]
    fn every_flag_reaches_the_settings() {
        let settings = settings_of(
            "watchbell serve --listen 127.0.0.1:0 --listen unix:/tmp/s --workers 3 --budget 4096 \
             --backlog 5 --high-water 10 --low-water 9 --drain 0.25",
        );
        assert_eq!(settings.listen.len(), 2);
        assert_eq!((settings.workers.get(), settings.budget, settings.backlog), (3, 4096, 5));
        assert_eq!(settings.marks, Marks::new(9, 10).unwrap());
        assert_eq!(settings.drain, Duration::from_millis(250));
    }

    #[test]
    fn what_is_out_of_its_limits_is_refused_in_one_line() {
        for line in [
            "watchbell",
            "watchbell sing",
            "watchbell serve --sing",
            "watchbell serve --workers",
            "watchbell serve --workers 0",
            "watchbell serve --workers 1025",
            "watchbell serve --workers two",
            "watchbell serve --budget 0",
            "watchbell serve --budget -1",
            "watchbell serve --backlog 0",
            "watchbell serve --high-water 0",
            "watchbell serve --high-water 4294967296",
            "watchbell serve --high-water 1000 --low-water 1001",
            "watchbell serve --high-water 1000 --low-water 1000",
            "watchbell serve --drain -1",
            "watchbell serve --drain nan",
            "watchbell serve --drain inf",
            "watchbell serve --drain soon",
            "watchbell serve --listen",
            "watchbell serve --listen nowhere",
        ] {
            let message = refusal(line);
            assert!(!message.is_empty() && !message.contains('\n'), "{line}: {message:?}");
        }
    }

    #[test]
    fn an_address_given_twice_is_refused_and_port_0_is_not() {
        let message = refusal("watchbell serve --listen 127.0.0.1:9 --listen 127.0.0.1:9");
        assert!(message.contains("127.0.0.1:9 is given twice"), "{message}");
        let message = refusal("watchbell serve --listen unix:/a --listen unix:/a");
        assert!(message.contains("unix:/a is given twice"), "{message}");
        settings_of("watchbell serve --listen 127.0.0.1:0 --listen 127.0.0.1:0");
    }

    #[test]
    fn help_and_version_are_texts() {
        for line in ["watchbell --help", "watchbell help", "watchbell serve --help"] {
            assert!(matches!(parse(line), Ok(Request::Print(text)) if text.contains("Usage")));
        }
        let version = parse("watchbell --version");
        assert!(matches!(version, Ok(Request::Print(text)) if text == "watchbell 0.1.0\n"));
    }
}
