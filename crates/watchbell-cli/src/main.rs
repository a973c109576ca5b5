//! The command `watchbell`.

use std::process::ExitCode;

fn main() -> ExitCode {
    watchbell_cli::run(std::env::args_os()).into()
}
