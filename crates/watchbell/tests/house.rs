//! The rules of the house, held by a test each: what a reader may rely on in every file.
#![allow(clippy::unwrap_used)]

#[path = "support/sources.rs"]
mod sources;

use sources::{Source, is_word, words};

const LONGEST_FILE: usize = 500;
const LONGEST_LINE: usize = 100;

/// The only files with `unsafe` in them, and why: a control message that rustix does not have, a
/// page that is wiped at a fork, the wait of old kernels, the doorbell's ring, and in tests
/// fork(2), a model of that ring's cells, and what no safe call does: an address without an end,
/// and numbers that are closed.
const UNSAFE: [&str; 8] = [
    "crates/watchbell/src/kernel/inq.rs",
    "crates/watchbell/src/kernel/fork.rs",
    "crates/watchbell/src/kernel/old_wait.rs",
    "crates/watchbell/src/doorbell/ring.rs",
    "crates/watchbell/tests/support/fork.rs",
    "crates/watchbell/tests/support/doorbell_models.rs",
    "crates/watchbell/tests/support/long_path.rs",
    "crates/watchbell-model/tests/compare/raw.rs",
];

const LIBRARY: &str = "crates/watchbell/src/";

/// The modules of the library. Each may use those before it, and none after it.
const ORDER: [&str; 10] = [
    "error",
    "ledger",
    "sync",
    "kernel",
    "epoll",
    "eventfd",
    "doorbell",
    "event_loop",
    "net",
    "workers",
];

/// Checks every source of the repository that `applies` chooses.
fn check(applies: impl Fn(&str) -> bool, rule: impl Fn(&Source) -> Vec<String>) {
    let Some(root) = sources::root() else { return };
    let sources = sources::sources(&root);
    let chosen: Vec<&Source> = sources.iter().filter(|source| applies(&source.path)).collect();
    assert!(!chosen.is_empty(), "the rule applies to no file");
    let found: Vec<String> = chosen.into_iter().flat_map(rule).collect();
    assert!(found.is_empty(), "{} against the rule:\n{}", found.len(), found.join("\n"));
}

fn is_any(_: &str) -> bool {
    true
}

fn is_shipped(path: &str) -> bool {
    path.split('/').nth(2) == Some("src") && !is_test_module(path)
}

fn is_library(path: &str) -> bool {
    path.starts_with(LIBRARY) && !is_test_module(path)
}

/// A module's unit tests in a file of their own, which its parent declares `#[cfg(test)]`.
fn is_test_module(path: &str) -> bool {
    path.ends_with("/tests.rs")
}

/// The lines of `text` that `is_bad`, as `path:line: text`.
fn lines(source: &Source, text: &str, is_bad: impl Fn(&str) -> bool) -> Vec<String> {
    let bad = text.lines().enumerate().filter(|(_, line)| is_bad(line));
    bad.map(|(index, line)| format!("{}:{}: {}", source.path, index + 1, line.trim())).collect()
}

fn too_long(source: &Source) -> Vec<String> {
    let count = source.text.lines().count();
    let excess = (count > LONGEST_FILE).then(|| format!("{}: {count} lines", source.path));
    excess.into_iter().collect()
}

/// Links and rows of tables cannot be broken.
fn too_wide(source: &Source) -> Vec<String> {
    let is_table = |line: &str| line.trim_start_matches(['/', '!', ' ']).starts_with('|');
    lines(source, &source.text, |line| {
        line.chars().count() > LONGEST_LINE && !line.contains("://") && !is_table(line)
    })
}

fn unsafe_code(source: &Source) -> Vec<String> {
    lines(source, &source.code(), |line| {
        words(line).any(|word| word == "unsafe")
            || line.contains("allow(unsafe_code")
            || line.contains("expect(unsafe_code")
    })
}

fn threads_of_std(source: &Source) -> Vec<String> {
    lines(source, &source.shipped_code(), |line| {
        ["std::sync", "std::thread", "core::sync"].iter().any(|path| line.contains(path))
    })
}

/// The error numbers are words, not calls.
fn system_calls(source: &Source) -> Vec<String> {
    lines(source, &source.shipped_code(), |line| {
        let rest = line.replace("rustix::io::Errno", "");
        words(&rest).any(|word| ["rustix", "libc", "signal_hook"].contains(&word))
    })
}

/// The module of the library that a path belongs to.
fn module_of(path: &str) -> &str {
    let inside = path.strip_prefix(LIBRARY).unwrap_or(path);
    inside.split(['/', '.']).next().unwrap_or(inside)
}

/// The modules that some code names by `crate::`. What stands at the crate's root is of `error`.
fn imports(code: &str) -> Vec<&str> {
    let mut modules = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|it| it == '$' || is_word(it)) {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => modules.extend(words(rest).next()),
            Some(group) => modules.extend(heads(group)),
        }
    }
    let at_root = |name: &&str| name.starts_with(|it: char| it.is_uppercase());
    modules.into_iter().map(|name| if at_root(&name) { "error" } else { name }).collect()
}

/// The first names of the members of a group of imports, whose opening brace is behind us.
fn heads(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut heads) = (0, 0, Vec::new());
    for (at, it) in group.char_indices() {
        match it {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                heads.extend(words(&group[start..at]).next());
                start = at + 1;
                if it == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads
}

fn against_the_order(source: &Source) -> Vec<String> {
    let module = module_of(&source.path);
    if module == "lib" {
        return Vec::new();
    }
    let place = |name: &str| ORDER.iter().position(|it| *it == name);
    let Some(own) = place(module) else {
        return vec![format!("{}: `{module}` has no place in the order", source.path)];
    };
    let code = source.shipped_code();
    let wrong = imports(&code).into_iter().filter(|name| place(name).is_none_or(|it| it > own));
    wrong.map(|name| format!("{}: `{module}` uses `{name}`", source.path)).collect()
}

fn without_introduction(source: &Source) -> Vec<String> {
    let has_one = source.text.starts_with("//! ");
    if has_one { Vec::new() } else { vec![format!("{}: no `//!` at its head", source.path)] }
}

fn unfinished(source: &Source) -> Vec<String> {
    lines(source, &source.without_literals(), |line| {
        ["TODO", "FIXME", "todo!", "unimplemented!", "#[ignore"].iter().any(|it| line.contains(it))
    })
}

fn unwraps(source: &Source) -> Vec<String> {
    lines(source, &source.shipped_code(), |line| line.contains(".unwrap()"))
}

#[test]
fn no_shipped_file_is_longer_than_one_sitting() {
    check(is_shipped, too_long);
}

#[test]
fn no_line_is_wider_than_the_page() {
    check(is_any, too_wide);
}

#[test]
fn unsafe_is_where_it_is_said_to_be() {
    check(|path| !UNSAFE.contains(&path), unsafe_code);
}

#[test]
fn threads_and_locks_come_from_one_place() {
    check(|path| is_library(path) && module_of(path) != "sync", threads_of_std);
}

#[test]
fn nothing_above_the_kernel_makes_a_system_call() {
    const SIGNALS: &str = "crates/watchbell/src/event_loop/sources/signals.rs";
    let is_exempt = |path: &str| module_of(path) == "kernel" || path == SIGNALS;
    check(|path| is_library(path) && !is_exempt(path), system_calls);
}

#[test]
fn modules_use_only_those_before_them() {
    check(is_library, against_the_order);
}

#[test]
fn every_shipped_file_says_what_it_is() {
    check(is_shipped, without_introduction);
}

#[test]
fn nothing_is_left_for_later() {
    check(is_any, unfinished);
}

#[test]
fn nothing_shipped_unwraps() {
    check(is_shipped, unwraps);
}

/// Each rule on made-up sources that break it, beside twins that do not.
mod a_rule_can_fail {
    use super::*;

    fn count(rule: impl Fn(&Source) -> Vec<String>, text: &str) -> usize {
        rule(&Source::new("crates/watchbell/src/epoll/mod.rs", text)).len()
    }

    #[test]
    fn length_and_width() {
        assert_eq!(count(too_long, &"\n".repeat(LONGEST_FILE)), 0);
        assert_eq!(count(too_long, &"\n".repeat(LONGEST_FILE + 1)), 1);
        let wide = "é".repeat(LONGEST_LINE);
        assert_eq!(count(too_wide, &wide), 0);
        assert_eq!(count(too_wide, &format!("{wide}x")), 1);
        assert_eq!(count(too_wide, &format!("/// https://{wide}")), 0);
        assert_eq!(count(too_wide, &format!("//! | {wide} |")), 0);
    }

    #[test]
    fn unsafe_and_its_permission() {
        assert_eq!(count(unsafe_code, "let it = unsafe { read() };"), 1);
        assert_eq!(count(unsafe_code, "#![allow(unsafe_code)]"), 1);
        assert_eq!(count(unsafe_code, "#![deny(unsafe_code)] // unsafe\n\"unsafe\""), 0);
    }

    #[test]
    fn threads_and_system_calls() {
        assert_eq!(count(threads_of_std, "use std::sync::Arc;\nstd::thread::yield_now();"), 2);
        assert_eq!(count(threads_of_std, "use crate::sync::Arc; // not std::sync"), 0);
        assert_eq!(count(system_calls, "rustix::io::read(fd, buf);\nlibc::fork();"), 2);
        assert_eq!(count(system_calls, "use rustix::io::Errno;\n/// rustix::io::read"), 0);
    }

    #[test]
    fn directions() {
        assert_eq!(
            imports("use crate::{Error, sync::{Arc, lock}, net};"),
            ["error", "sync", "net"]
        );
        assert_eq!(imports("pub(crate) fn of(it: crate::epoll::Token) {}"), ["epoll"]);
        assert_eq!(count(against_the_order, "use crate::kernel::Kernel;"), 0);
        assert_eq!(count(against_the_order, "use crate::eventfd::Counter;"), 1);
        assert_eq!(count(against_the_order, "use crate::unheard_of::Thing;"), 1);
        let stray = Source::new("crates/watchbell/src/stray.rs", "");
        assert_eq!(against_the_order(&stray).len(), 1);
    }

    #[test]
    fn introductions_and_leftovers() {
        assert_eq!(count(without_introduction, "//! What it is.\n"), 0);
        assert_eq!(count(without_introduction, "use std::fmt;\n"), 1);
        assert_eq!(count(unfinished, "// TODO: the rest\ntodo!()\n#[ignore = \"slow\"]"), 3);
        assert_eq!(count(unfinished, "let word = \"TODO\";"), 0);
    }

    #[test]
    fn unwraps_outside_tests() {
        assert_eq!(count(unwraps, "fn f() {\n    it.unwrap();\n}"), 1);
        assert_eq!(count(unwraps, "/// it.unwrap();\nfn f() {}"), 0);
        let module = "#[cfg(test)]\nmod tests {\n    fn f() {\n        it.unwrap();\n    }\n}\n";
        assert_eq!(count(unwraps, module), 0);
        assert_eq!(count(unwraps, &format!("{module}fn f() {{\n    it.unwrap();\n}}")), 1);
    }

    #[test]
    fn code_is_told_from_comments_and_literals() {
        let code = |text: &str| Source::new("it.rs", text).code();
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("('d', '\\'', 'x)"), "(   ,     , 'x)");
        assert_eq!(code("(\"a\\\"b\")"), "(      )");
        assert_eq!(code("r#\"b\"c\"# for<'a> /* b */ r#type"), "         for<'a>         r#type");
    }
}
