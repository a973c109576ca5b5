//! Keeps `docs/contract.md` in step: each rule has a row, and what the row names is there.

#[path = "support/sources.rs"]
mod sources;

use sources::{Source, is_word, words};
use std::fs;

const DOCUMENT: &str = "docs/contract.md";
const LIBRARY: &str = "crates/watchbell/src";

/// How many rules each part has.
const PARTS: [(char, usize); 4] = [('C', 19), ('D', 11), ('E', 14), ('X', 11)];

/// What the mechanism's column says of a rule that is not built.
const NOT_BUILT: &str = "not yet built";

/// One rule of the document.
#[derive(Debug)]
struct Row {
    rule: String,
    /// Paths into the library: `module::Item` or `module::Item::member`.
    mechanism: Vec<String>,
    is_built: bool,
    /// Names of tests; one that ends with a star stands for all that begin so.
    tests: Vec<String>,
}

fn rules() -> Vec<String> {
    let part = |(part, count)| (1..=count).map(move |number| format!("{part}{number:02}"));
    PARTS.into_iter().flat_map(part).collect()
}

/// The rule at the head of a name or of a cell: `c03_a_write` and `**C03** A write` are of `C03`.
fn rule_of(text: &str) -> Option<String> {
    let word = text.split(|it: char| !it.is_ascii_alphanumeric()).find(|word| !word.is_empty())?;
    let (part, number) = word.split_at_checked(1)?;
    let is_rule = "CDEX".contains(&part.to_uppercase())
        && number.len() == 2
        && number.bytes().all(|it| it.is_ascii_digit());
    is_rule.then(|| word.to_uppercase())
}

/// The rows of all tables whose first cell begins with a rule.
fn rows(document: &str) -> Result<Vec<Row>, String> {
    let lines = document.lines().filter_map(|line| line.strip_prefix('|'));
    lines.filter_map(|line| Some(row(rule_of(line)?, line))).collect()
}

/// A row: rule, what Linux does, mechanism, tests, doctor rule, and nothing behind the last bar.
fn row(rule: String, line: &str) -> Result<Row, String> {
    let cells: Vec<&str> = line.split('|').collect();
    let [_, _, mechanism, tests, _, ""] = cells[..] else {
        return Err(format!("{rule}: a row has five cells, and this one {}", cells.len() - 1));
    };
    let paths = quoted(mechanism).filter(|name| name.contains("::"));
    Ok(Row {
        rule,
        mechanism: paths.map(str::to_owned).collect(),
        is_built: !mechanism.contains(NOT_BUILT),
        tests: quoted(tests).map(str::to_owned).collect(),
    })
}

/// What stands in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names of the tests in some code: functions marked `#[test]`, and the names that a macro
/// makes tests of, one a line.
fn tests_in(code: &str) -> Vec<&str> {
    let (mut is_marked, mut in_macro, mut names) = (false, false, Vec::new());
    for line in code.lines() {
        let text = line.trim();
        if text == "#[test]" {
            is_marked = true;
        } else if let Some((_, rest)) = line.split_once("fn ") {
            let name = rest.split(|it| !is_word(it)).next().filter(|name| !name.is_empty());
            names.extend(name.filter(|_| is_marked));
            is_marked = false;
        } else if line.starts_with(is_word) && text.ends_with("! {") {
            in_macro = true;
        } else if line.starts_with('}') {
            in_macro = false;
        } else if in_macro && !text.is_empty() && text.chars().all(is_word) {
            names.push(text);
        }
    }
    names
}

/// Whether `listed`, the name of a test or a beginning with a star, covers the test `name`.
fn covers(listed: &str, name: &str) -> bool {
    listed.strip_suffix('*').map_or(listed == name, |beginning| name.starts_with(beginning))
}

fn each_rule_has_one_row(rows: &[Row]) -> Vec<String> {
    let count = |rule: &str| rows.iter().filter(|row| row.rule == rule).count();
    let known = rules();
    let wrong = known.iter().map(|rule| (rule, count(rule))).filter(|(_, count)| *count != 1);
    let wrong = wrong.map(|(rule, count)| format!("{rule} has {count} rows"));
    let unknown = rows.iter().filter(|row| !known.contains(&row.rule));
    wrong.chain(unknown.map(|row| format!("{} is no rule", row.rule))).collect()
}

fn named_tests_exist(rows: &[Row], tests: &[&str]) -> Vec<String> {
    let named = rows.iter().flat_map(|row| row.tests.iter().map(move |listed| (row, listed)));
    let missing = named.filter(|(_, listed)| !tests.iter().any(|name| covers(listed, name)));
    missing.map(|(row, listed)| format!("{}: no test `{listed}`", row.rule)).collect()
}

fn tests_are_named(rows: &[Row], tests: &[&str]) -> Vec<String> {
    let is_named = |rule: &str, name: &str| {
        let mut own = rows.iter().filter(|row| row.rule == rule);
        own.any(|row| row.tests.iter().any(|listed| covers(listed, name)))
    };
    let of_rules = tests.iter().filter_map(|name| Some((rule_of(name)?, name)));
    let unnamed = of_rules.filter(|(rule, name)| !is_named(rule, name));
    unnamed.map(|(rule, name)| format!("{rule}: the row does not name `{name}`")).collect()
}

fn built_rules_have_mechanism_and_test(rows: &[Row]) -> Vec<String> {
    let built = rows.iter().filter(|row| row.is_built);
    let bare = built.filter(|row| row.mechanism.is_empty() || row.tests.is_empty());
    bare.map(|row| {
        let missing = if row.mechanism.is_empty() { "mechanism" } else { "test" };
        format!("{}: neither a {missing} nor \"{NOT_BUILT}\"", row.rule)
    })
    .collect()
}

fn mechanisms_exist(rows: &[Row], library: &[Source]) -> Vec<String> {
    let named = rows.iter().flat_map(|row| row.mechanism.iter().map(move |path| (row, path)));
    let missing = named.filter(|(_, path)| !is_public(path, library));
    missing.map(|(row, path)| format!("{}: no `{path}` in the library", row.rule)).collect()
}

/// Whether a path leads to something that users of the library can name.
fn is_public(path: &str, library: &[Source]) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    let at_root = path.starts_with(|it: char| it.is_uppercase());
    let (module, item, member) = match parts[..] {
        [item, member] if at_root => ("lib", item, Some(member)),
        [module, item] => (module, item, None),
        [module, item, member] => (module, item, Some(member)),
        _ => return false,
    };
    let homes = [format!("{LIBRARY}/{module}/mod.rs"), format!("{LIBRARY}/{module}.rs")];
    library.iter().any(|source| homes.contains(&source.path) && offers(&source.code(), item))
        && member.is_none_or(|member| has_member(item, member, library))
}

/// Whether a module's own file defines the item publicly or exports it.
fn offers(code: &str, item: &str) -> bool {
    let kinds = ["struct", "enum", "trait", "fn", "type", "const"];
    let exports = code.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    kinds.iter().any(|kind| follow(code, &["pub", kind, item]))
        || exports.into_iter().any(|export| words(export).any(|word| word == item))
}

/// Whether a type or trait has the function or variant, wherever in the library it is given to it.
fn has_member(item: &str, member: &str, library: &[Source]) -> bool {
    let is_variant = |line: &str| {
        let rest = line.trim().strip_prefix(member);
        rest.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with([',', '(', '{']))
    };
    library.iter().any(|source| {
        let code = source.code();
        blocks_of(item, &code).iter().any(|block| {
            follow(block, &["pub", "fn", member])
                || follow(block, &["pub", "const", "fn", member])
                || follow(block, &["trait", item]) && follow(block, &["fn", member])
                || follow(block, &["enum", item]) && block.lines().any(is_variant)
        })
    })
}

/// The top-level blocks that define an item or implement something for it. Where a macro does that,
/// `name!(Item ..)`, the macro may be anywhere in the file.
fn blocks_of<'code>(item: &str, code: &'code str) -> Vec<&'code str> {
    let is_head = |line: &str| {
        let is_block = ["impl", "pub enum", "pub struct", "pub trait"];
        is_block.iter().any(|head| line.starts_with(head)) && words(line).any(|word| word == item)
    };
    let is_macro = |line: &str| {
        line.starts_with(char::is_lowercase)
            && line.split_once("!(").is_some_and(|(_, of)| words(of).next() == Some(item))
    };
    if code.lines().any(is_macro) {
        return vec![code];
    }
    code.split_inclusive("\n}\n").filter(|block| block.lines().any(is_head)).collect()
}

/// Whether the words stand one behind the other in the code.
fn follow(code: &str, sequence: &[&str]) -> bool {
    let words: Vec<&str> = words(code).collect();
    words.windows(sequence.len()).any(|window| window == sequence)
}

#[test]
fn the_document_is_in_step_with_the_sources() {
    let Some(root) = sources::root() else { return };
    let document = fs::read_to_string(root.join(DOCUMENT)).expect("the document is there");
    let rows = rows(&document).unwrap_or_else(|error| panic!("{DOCUMENT}: {error}"));
    let (library, others): (Vec<_>, Vec<_>) =
        sources::sources(&root).into_iter().partition(|source| source.path.starts_with(LIBRARY));
    let codes: Vec<String> = library.iter().chain(&others).map(Source::code).collect();
    let tests: Vec<&str> = codes.iter().flat_map(|code| tests_in(code)).collect();

    let found = [
        each_rule_has_one_row(&rows),
        built_rules_have_mechanism_and_test(&rows),
        mechanisms_exist(&rows, &library),
        named_tests_exist(&rows, &tests),
        tests_are_named(&rows, &tests),
    ]
    .concat();
    assert!(found.is_empty(), "{DOCUMENT} is out of step:\n{}", found.join("\n"));
}

/// Each check on made-up documents and sources that break it, beside twins that do not.
mod a_check_can_fail {
    use super::*;

    fn one_row(mechanism: &str, tests: &str) -> Vec<Row> {
        let line = format!("| **C03** A write of | does | {mechanism} | {tests} | - |");
        rows(&line).expect("the row is well formed")
    }

    #[test]
    fn rows_are_read_as_they_are_written() {
        let rows = one_row("`eventfd::Counter::add`, `add` never `EINVAL`", "`c03_a`, `c03_b_*`");
        assert_eq!(rows[0].rule, "C03");
        assert_eq!(rows[0].mechanism, ["eventfd::Counter::add"]);
        assert_eq!(rows[0].tests, ["c03_a", "c03_b_*"]);
        assert!(rows[0].is_built && !one_row(NOT_BUILT, "-")[0].is_built);
        assert!(super::rows("| C03 | does | `a::B` |").is_err());
        assert!(
            super::rows("| rule | test |\n| --- | --- |\nC03 is text\n")
                .is_ok_and(|it| it.is_empty())
        );
    }

    #[test]
    fn a_rule_without_a_row_or_with_two() {
        let table = |rules: &[String]| -> Vec<Row> {
            let lines = rules.iter().map(|rule| format!("| {rule} | | | | - |\n"));
            rows(&lines.collect::<String>()).expect("the rows are well formed")
        };
        let mut rules = rules();
        assert_eq!(rules.len(), 55);
        assert!(each_rule_has_one_row(&table(&rules)).is_empty());
        rules[54] = "C01".to_owned();
        assert_eq!(each_rule_has_one_row(&table(&rules)), ["C01 has 2 rows", "X11 has 0 rows"]);
        rules[54] = "X11".to_owned();
        rules.push("X12".to_owned());
        assert_eq!(each_rule_has_one_row(&table(&rules)), ["X12 is no rule"]);
    }

    #[test]
    fn a_named_test_that_is_not_there() {
        let rows = one_row("", "`c03_here`, `c03_gone`, `c03_h*`, `c03_g*`");
        let missing = ["C03: no test `c03_gone`", "C03: no test `c03_g*`"];
        assert_eq!(named_tests_exist(&rows, &["c03_here"]), missing);
    }

    #[test]
    fn a_test_that_no_row_names() {
        let rows = one_row("", "`c03_named`, `c03_many_*`");
        let tests = ["c03_named", "c03_many_more", "case_e036_of_no_rule", "c03_new", "c04_other"];
        let unnamed =
            ["C03: the row does not name `c03_new`", "C04: the row does not name `c04_other`"];
        assert_eq!(tests_are_named(&rows, &tests), unnamed);
    }

    #[test]
    fn a_built_rule_without_mechanism_or_test() {
        let found =
            |mechanism, tests| built_rules_have_mechanism_and_test(&one_row(mechanism, tests));
        assert!(found("`eventfd::Counter`", "`c03_a`").is_empty());
        assert!(found(NOT_BUILT, "-").is_empty());
        assert_eq!(found("`eventfd::Counter`", "-"), ["C03: neither a test nor \"not yet built\""]);
        assert_eq!(found("", "`c03_a`"), ["C03: neither a mechanism nor \"not yet built\""]);
    }

    #[test]
    fn a_mechanism_that_is_not_there() {
        let library = [
            Source::new("crates/watchbell/src/lib.rs", "mod error;\npub use error::{Error};\n"),
            Source::new("crates/watchbell/src/error.rs", "pub enum Error {\n    Forked {},\n}\n"),
            Source::new("crates/watchbell/src/bell/mod.rs", "pub use a::Bell;\nuse a::Rope;\n"),
            Source::new(
                "crates/watchbell/src/bell/a.rs",
                "impl Rope {\n    pub fn pull() {}\n}\n\
                 impl<K> Bell<K> {\n    pub fn ring() {}\n    fn own() {}\n}\n",
            ),
            Source::new("crates/watchbell/src/bell/b.rs", "pub fn made() {}\nmake!(Bell<K>);\n"),
        ];
        for path in ["Error::Forked", "bell::Bell", "bell::Bell::ring", "bell::Bell::made"] {
            assert!(is_public(path, &library), "{path}");
        }
        let missing = ["Error::Other", "bell::Rope", "bell::Gone", "a::Bell"];
        for path in missing.into_iter().chain(["bell::Bell::pull", "bell::Bell::own"]) {
            assert!(!is_public(path, &library), "{path}");
        }
        let rows = one_row("`bell::Bell`, `bell::Gone`", "");
        assert_eq!(mechanisms_exist(&rows, &library), ["C03: no `bell::Gone` in the library"]);
    }

    #[test]
    fn tests_are_found_by_their_mark_or_in_a_macro() {
        let code = "#[test]\n#[cfg(unix)]\nfn c01_marked() {}\nfn c01_body() {}\n\
                    mod it {\n    c01_no_macro\n}\nmake_tests! {\n    c01_made\n}\nc01_outside\n";
        assert_eq!(tests_in(code), ["c01_marked", "c01_made"]);
        let makes = "macro_rules! make {\n    () => {\n#[test]\n        fn $name() {}\n    };\n}\n\
                     fn c01_helper() {}\n";
        assert!(tests_in(makes).is_empty());
    }
}
