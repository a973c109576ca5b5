//! The command line, read and refused.
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
    assert_eq!(settings.listen[0].addresses, [Address::Inet("127.0.0.1:7007".parse().unwrap())]);
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
    for line in ["watchbell --version", "watchbell -V", "watchbell serve -V"] {
        let version = parse(line);
        assert!(
            matches!(version, Ok(Request::Print(text)) if text == "watchbell 0.1.0\n"),
            "{line}"
        );
    }
}

#[test]
fn a_number_is_a_whole_number_within_its_limits() {
    for (flag, text) in
        [("workers", "1e3"), ("workers", "auto"), ("budget", "64k"), ("backlog", "")]
    {
        let message = refusal(&format!("watchbell serve --{flag} {text}"));
        assert!(message.contains("a whole number is needed, without a suffix"), "{message}");
    }
    for text in ["1025", "18446744073709551616", "0", "-1"] {
        let message = refusal(&format!("watchbell serve --workers {text}"));
        assert!(message.contains(&format!("{text} is not in 1..=1024")), "{message}");
    }
}

#[test]
fn marks_that_contradict_each_other_are_named_as_they_were_given() {
    let message = refusal("watchbell serve --low-water 300000");
    assert!(message.starts_with("--low-water 300000 is not below --high-water"), "{message}");
    assert!(message.contains("262144 by default"), "{message}");
    let message = refusal("watchbell serve --high-water 1000");
    assert!(message.starts_with("--high-water 1000 is not above --low-water"), "{message}");
    assert!(message.contains("65536 by default"), "{message}");
    let message = refusal("watchbell serve --high-water 1000 --low-water 1001");
    assert!(message.starts_with("--high-water 1000 is not above --low-water 1001"), "{message}");
}

#[test]
fn a_refusal_says_where_to_look() {
    let message = refusal("watchbell serve --liste x");
    assert!(message.contains("'--liste'") && message.contains("'--listen'"), "{message}");
    let message = refusal("watchbell serve 127.0.0.1:0");
    assert!(message.ends_with("an address is given by --listen 127.0.0.1:0"), "{message}");
    let message = refusal("watchbell serve now");
    assert!(message.ends_with("see 'watchbell serve --help'"), "{message}");
    let message = refusal("watchbell sing");
    assert!(message.ends_with("see 'watchbell --help'"), "{message}");
}

#[test]
fn the_help_names_the_limits_of_every_flag_and_an_example() {
    let Request::Print(help) = parse("watchbell serve --help").unwrap() else { panic!("no text") };
    for word in ["1024", "1073741824", "1048576", "31536000", "Example", "watchbell serve --listen"]
    {
        assert!(help.contains(word), "{word} is missing in: {help}");
    }
    let Request::Print(help) = parse("watchbell --help").unwrap() else { panic!("no text") };
    assert!(help.contains("echo"), "{help}");
}
