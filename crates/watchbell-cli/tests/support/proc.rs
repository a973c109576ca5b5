//! What proc(5) tells about a process.

use std::fs;

/// How many descriptors the process has open.
pub fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("the process is alive").count()
}

/// The processor time that the process has used, in clock ticks (100 a second).
pub fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process is alive");
    // utime and stime are fields 14 and 15; the name, field 2, may hold spaces.
    let after_name = stat.rsplit(") ").next().expect("the name ends with a parenthesis");
    let field = |number: usize| {
        let text = after_name.split(' ').nth(number - 3).expect("the field is there");
        text.parse::<u64>().expect("a number")
    };
    field(14) + field(15)
}

/// Whether every thread of the process has come to a halt after SIGSTOP.
pub fn is_stopped(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the process is alive");
    tasks.into_iter().all(|task| {
        let path = task.expect("the process is alive").path().join("stat");
        let stat = fs::read_to_string(path).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    })
}

/// Whether anyone listens at the IPv4 port: a line of /proc/net/tcp in state 0A.
pub fn is_listening(port: u16) -> bool {
    let table = fs::read_to_string("/proc/net/tcp").expect("proc is mounted");
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1].ends_with(&format!(":{port:04X}")) && fields[3] == "0A"
    })
}

/// The largest value of a setting of three, such as `net/ipv4/tcp_rmem`, in bytes.
pub fn largest(setting: &str) -> usize {
    let text = fs::read_to_string(format!("/proc/sys/{setting}")).expect("the setting is there");
    text.split_whitespace().last().and_then(|word| word.parse().ok()).expect("a number")
}
