//! Counts the user instructions of a process by single steps, and its system calls by stops at each
//! (ptrace(2)).
#![allow(unsafe_code)]

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::ptr;

/// The user instructions of this program when it is run with these words.
pub fn instructions(words: &[&str]) -> io::Result<u64> {
    traced(words, libc::PTRACE_SINGLESTEP)
}

/// Its system calls, of which each stops it twice.
pub fn calls(words: &[&str]) -> io::Result<u64> {
    Ok(traced(words, libc::PTRACE_SYSCALL)? / 2)
}

fn traced(words: &[&str], request: libc::c_uint) -> io::Result<u64> {
    let mut command = Command::new(env::current_exe()?);
    command.args(words).stdout(Stdio::null());
    // SAFETY: ptrace(2) is async-signal-safe, and the closure does nothing else.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let child = command.spawn()?;
    let pid = child.id() as libc::pid_t;
    let mut stops = 0;
    let mut status = wait(pid)?;
    while !libc::WIFEXITED(status) && !libc::WIFSIGNALED(status) {
        let signal = match libc::WSTOPSIG(status) {
            libc::SIGTRAP => 0,
            other => other,
        };
        // SAFETY: the child is stopped, and is ours to go on.
        let resumed = unsafe { libc::ptrace(request, pid, ptr::null_mut::<u8>(), signal) };
        if resumed == -1 {
            return Err(io::Error::last_os_error());
        }
        status = wait(pid)?;
        stops += 1;
    }
    match libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        true => Ok(stops),
        false => Err(io::Error::other(format!("the subject {words:?} failed"))),
    }
}

fn wait(pid: libc::pid_t) -> io::Result<libc::c_int> {
    let mut status = 0;
    // SAFETY: `status` lives until the call has returned.
    match unsafe { libc::waitpid(pid, &mut status, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(status),
    }
}
