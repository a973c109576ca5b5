//! The sources of this repository as text: which files there are, and what in them is code.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};

/// A source file, named by its path from the root of the repository.
pub struct Source {
    pub path: String,
    pub text: String,
}

/// What a stretch of source text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Code,
    Comment,
    Literal,
}

/// The root of the repository. `None` in a packaged crate, which has neither the documents nor the
/// other crates beside it.
pub fn root() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_there = root.join("docs").is_dir() && root.join("crates/watchbell/src").is_dir();
    if !is_there {
        eprintln!("skipped: a packaged crate has no docs folder and no workspace beside it");
    }
    is_there.then_some(root)
}

/// Every Rust file of the crates, in the order of their paths.
pub fn sources(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root.join("crates"), "crates", &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(folder: &Path, path: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let entry = entry.expect("the folder can be listed");
        let name = entry.file_name().into_string().expect("the name is UTF-8");
        let path = format!("{path}/{name}");
        if entry.file_type().expect("the entry has a type").is_dir() {
            collect(&entry.path(), &path, found);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).expect("the file is text");
            found.push(Source { path, text });
        }
    }
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    /// The code alone. Everything else is blank, so that lines and columns stay.
    pub fn code(&self) -> String {
        self.keep(&[Kind::Code])
    }

    /// Code and comments, without what literals say.
    pub fn without_literals(&self) -> String {
        self.keep(&[Kind::Code, Kind::Comment])
    }

    /// The code without items that are `#[cfg(test)]`.
    pub fn shipped_code(&self) -> String {
        let mut shipped = String::new();
        let mut test_item: Option<usize> = None;
        for line in self.code().lines() {
            let indent = line.len() - line.trim_start().len();
            if let Some(start) = test_item {
                if indent == start && line.trim_end().ends_with(['}', ';']) {
                    test_item = None;
                }
            } else if line.trim_start().starts_with("#[cfg(test)]") {
                test_item = Some(indent);
            } else {
                shipped.push_str(line);
            }
            shipped.push('\n');
        }
        shipped
    }

    fn keep(&self, kinds: &[Kind]) -> String {
        let mut kept = String::with_capacity(self.text.len());
        for (kind, piece) in pieces(&self.text) {
            if kinds.contains(&kind) {
                kept.push_str(piece);
            } else {
                kept.extend(piece.chars().map(|it| if it == '\n' { it } else { ' ' }));
            }
        }
        kept
    }
}

/// Cuts source text into code, comments and literals.
pub fn pieces(text: &str) -> Vec<(Kind, &str)> {
    let mut pieces = Vec::new();
    let (mut start, mut at, mut in_word) = (0, 0, false);
    while let Some(first) = text[at..].chars().next() {
        if let Some((kind, length)) = comment_or_literal(&text[at..], in_word) {
            pieces.push((Kind::Code, &text[start..at]));
            pieces.push((kind, &text[at..at + length]));
            at += length;
            start = at;
            in_word = false;
        } else {
            at += first.len_utf8();
            in_word = is_word(first);
        }
    }
    pieces.push((Kind::Code, &text[start..]));
    pieces.retain(|(_, piece)| !piece.is_empty());
    pieces
}

/// What `rest` begins with, if that is no code, and its length.
fn comment_or_literal(rest: &str, in_word: bool) -> Option<(Kind, usize)> {
    let to_end_of = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
    match rest.as_bytes() {
        [b'/', b'/', ..] => Some((Kind::Comment, rest.find('\n').unwrap_or(rest.len()))),
        [b'/', b'*', ..] => Some((Kind::Comment, to_end_of("*/"))),
        [b'"', ..] => Some((Kind::Literal, quoted(rest, '"'))),
        [b'\'', b'\\', ..] => Some((Kind::Literal, quoted(rest, '\''))),
        // Anything else after a single quote is a lifetime, unless the quote closes at once.
        [b'\'', ..] => {
            let (closing, _) = rest.char_indices().nth(2).filter(|&(_, it)| it == '\'')?;
            Some((Kind::Literal, closing + 1))
        }
        [b'r', ..] if !in_word => {
            let hashes = rest[1..].find(|it| it != '#')?;
            let body = rest[1 + hashes..].strip_prefix('"')?;
            let end = format!("\"{}", "#".repeat(hashes));
            let length = body.find(&end).map_or(body.len(), |at| at + end.len());
            Some((Kind::Literal, 1 + hashes + 1 + length))
        }
        _ => None,
    }
}

/// The length of the quoted literal that `rest` begins with.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, it) in rest.char_indices().skip(1) {
        if it == quote && !escaped {
            return at + 1;
        }
        escaped = it == '\\' && !escaped;
    }
    rest.len()
}

/// The identifiers, keywords and numbers of some code, in order.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|it| !is_word(it)).filter(|word| !word.is_empty())
}

pub fn is_word(it: char) -> bool {
    it == '_' || it.is_alphanumeric()
}
