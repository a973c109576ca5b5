//! clap's refusals, in one line each.

use super::Request;
use anyhow::{Result, anyhow};
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Help and version are no errors; everything else is, in one line of clap's several.
pub(super) fn of(error: &clap::Error) -> Result<Request> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Ok(Request::Print(error.render().to_string()))
        }
        ErrorKind::MissingSubcommand => {
            Err(anyhow!("what to do is missing: try 'watchbell serve' or 'watchbell --help'"))
        }
        _ => {
            let text = error.render().to_string();
            let (sentence, hint) = (first_paragraph(&text), hint(error, &text));
            Err(hint.map_or_else(|| anyhow!("{sentence}"), |hint| anyhow!("{sentence}; {hint}")))
        }
    }
}

/// The sentence that says what is wrong, without the usage and the hints after it.
fn first_paragraph(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    in_one_line(paragraph.strip_prefix("error: ").unwrap_or(paragraph))
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where to look: at the flag that was meant, or at the help.
fn hint(error: &clap::Error, text: &str) -> Option<String> {
    let given = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(given))) => given,
        (ErrorKind::InvalidSubcommand, _) => return Some("see 'watchbell --help'".to_owned()),
        _ => return None,
    };
    if !given.starts_with('-') && given.contains(':') {
        return Some(format!("an address is given by --listen {given}"));
    }
    let tip = text.split("\n\n").find_map(|it| it.trim_start().strip_prefix("tip: "));
    Some(tip.map_or_else(|| "see 'watchbell serve --help'".to_owned(), in_one_line))
}
