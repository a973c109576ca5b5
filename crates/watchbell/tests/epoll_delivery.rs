//! What Linux tells about a descriptor, and when: level-triggered, edge-triggered, modified.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/door.rs"]
mod door;

use door::{Bell, Door, refusal};
use rustix::io::Errno;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use watchbell::kernel::{EventFlags, Linux};

const IN: EventFlags = EventFlags::IN;
const OUT: EventFlags = EventFlags::OUT;
const ET: EventFlags = EventFlags::ET;
const RDHUP: EventFlags = EventFlags::RDHUP;

mod bodies {
    use super::*;
    use std::time::Duration;
    use watchbell::kernel::Kernel;

    pub fn case_s120_a_level_is_told_until_it_is_gone<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), IN, 1).unwrap();
        assert_eq!(door.ready(), "[]");
        bell.write(1);
        assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[1:IN]"]);
        bell.read();
        assert_eq!(door.ready(), "[]");
    }

    pub fn case_s121_readiness_follows_the_count<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), IN | OUT, 1).unwrap();
        assert_eq!(door.ready(), "[1:OUT]");
        for _ in 1..=2 {
            bell.write(1);
            assert_eq!(door.ready(), "[1:IN|OUT]");
        }
        assert_eq!(bell.read(), 2);
        assert_eq!(door.ready(), "[1:OUT]");
        bell.write(u64::MAX - 2);
        assert_eq!(door.ready(), "[1:IN|OUT]");
        bell.write(1);
        assert_eq!(door.ready(), "[1:IN]");
        bell.read();
        assert_eq!(door.ready(), "[1:OUT]");
    }

    pub fn case_s122_every_write_is_a_new_edge<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), IN | ET, 1).unwrap();
        for _ in 0..2 {
            bell.write(1);
            assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
        }
        assert_eq!(bell.read(), 2);
    }

    pub fn case_s124_edges_merge_and_readiness_is_tested_at_the_wait<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), IN | ET, 1).unwrap();
        bell.write(1);
        bell.write(1);
        assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
        bell.write(1);
        bell.read();
        assert_eq!(door.ready(), "[]");
        bell.write(1);
        bell.read();
        bell.write(1);
        assert_eq!(door.ready(), "[1:IN]");
    }

    pub fn case_s126_a_successful_read_is_an_output_edge<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), IN | OUT | ET, 1).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[1:OUT]", "[]"]);
        bell.write(1);
        assert_eq!([door.ready(), door.ready()], ["[1:IN|OUT]", "[]"]);
        bell.read();
        assert_eq!([door.ready(), door.ready()], ["[1:OUT]", "[]"]);
        bell.write(u64::MAX - 1);
        assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
        assert_eq!(refusal(bell.try_write(1)), Errno::AGAIN);
        assert_eq!(door.ready(), "[]");
        bell.read();
        assert_eq!(door.ready(), "[1:OUT]");
        assert_eq!(refusal(bell.try_read()), Errno::AGAIN);
        assert_eq!(door.ready(), "[]");
    }

    pub fn case_s140_modify_looks_again<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 1));
        door.add(bell.fd(), IN | ET, 1).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
        door.modify(bell.fd(), IN | ET, 1).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
        bell.read();
        door.modify(bell.fd(), IN | ET, 1).unwrap();
        assert_eq!(door.ready(), "[]");
    }

    pub fn case_s141_modify_changes_the_trigger<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 1));
        door.add(bell.fd(), IN | ET, 1).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
        door.modify(bell.fd(), IN, 2).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[2:IN]", "[2:IN]"]);
        door.modify(bell.fd(), IN | ET, 3).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[3:IN]", "[]"]);
    }

    pub fn case_s142_modify_applies_to_an_event_that_waits<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 1));
        door.add(bell.fd(), IN, 1).unwrap();
        door.modify(bell.fd(), IN, 2).unwrap();
        assert_eq!(door.ready(), "[2:IN]");
        door.modify(bell.fd(), EventFlags::empty(), 3).unwrap();
        assert_eq!(door.ready(), "[]");
        door.modify(bell.fd(), OUT, 4).unwrap();
        assert_eq!(door.ready(), "[4:OUT]");
        door.modify(bell.fd(), IN | OUT, 5).unwrap();
        assert_eq!(door.ready(), "[5:IN|OUT]");
        door.delete(bell.fd()).unwrap();
        assert_eq!(door.ready(), "[]");
        door.add(bell.fd(), IN | ET, 6).unwrap();
        assert_eq!(door.ready(), "[6:IN]");
    }

    pub fn case_s143_interest_that_comes_late_is_told_what_is_there<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), EventFlags::empty(), 1).unwrap();
        bell.write(1);
        assert_eq!(door.ready(), "[]");
        door.modify(bell.fd(), IN | ET, 2).unwrap();
        assert_eq!([door.ready(), door.ready()], ["[2:IN]", "[]"]);
        bell.write(1);
        assert_eq!(door.ready(), "[2:IN]");
    }

    pub fn case_x021_units_left_in_a_semaphore_make_no_edge<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::semaphore(&kernel, 0));
        door.add(bell.fd(), IN | ET, 1).unwrap();
        bell.write(3);
        assert_eq!(door.ready(), "[1:IN]");
        assert_eq!((bell.read(), bell.read()), (1, 1));
        assert_eq!(door.ready(), "[]");
        assert_eq!(bell.read(), 1);
        assert_eq!(door.ready(), "[]");
        bell.write(1);
        assert_eq!(door.ready(), "[1:IN]");
    }

    pub fn case_y011_a_write_of_zero_reaches_every_registration<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        let duplicate = bell.duplicate();
        door.add(bell.fd(), IN | OUT | ET, 1).unwrap();
        door.add(duplicate.fd(), IN | OUT | ET, 2).unwrap();
        assert_eq!(door.ready(), "[1:OUT, 2:OUT]");
        bell.write(0);
        assert_eq!([door.ready(), door.ready()], ["[2:OUT, 1:OUT]", "[]"]);
    }

    pub fn case_x002_a_stale_event_does_not_end_a_wait<K: Kernel>(kernel: K) {
        let (door, bell) = (Door::new(kernel.clone()), Bell::new(&kernel, 0));
        door.add(bell.fd(), IN, 1).unwrap();
        bell.write(1);
        assert_eq!(door.ready(), "[1:IN]");
        bell.read();
        let (start, asked) = (kernel.now(), Duration::from_millis(80));
        assert_eq!(door.wait(Some(asked)).unwrap(), "[]");
        assert!(kernel.now() - start >= asked);
    }
}

on_every_kernel! {
    case_s120_a_level_is_told_until_it_is_gone
    case_s121_readiness_follows_the_count
    case_s122_every_write_is_a_new_edge
    case_s124_edges_merge_and_readiness_is_tested_at_the_wait
    case_s126_a_successful_read_is_an_output_edge
    case_s140_modify_looks_again
    case_s141_modify_changes_the_trigger
    case_s142_modify_applies_to_an_event_that_waits
    case_s143_interest_that_comes_late_is_told_what_is_there
    case_x021_units_left_in_a_semaphore_make_no_edge
    case_y011_a_write_of_zero_reaches_every_registration
    case_x002_a_stale_event_does_not_end_a_wait
}

/// Two bytes come, one is taken, one comes; all are taken. What both kinds of stream tell.
fn partly_read(mut reader: impl Read + AsFd, mut writer: impl Write) {
    let door = Door::new(Linux);
    door.add(reader.as_fd(), IN | ET, 1).unwrap();
    writer.write_all(b"ab").unwrap();
    assert_eq!(door.ready(), "[1:IN]");
    reader.read_exact(&mut [0]).unwrap();
    assert_eq!(door.ready(), "[]");
    writer.write_all(b"c").unwrap();
    assert_eq!([door.ready(), door.ready()], ["[1:IN]", "[]"]);
    reader.read_exact(&mut [0; 2]).unwrap();
    assert_eq!(door.ready(), "[]");
    writer.write_all(b"d").unwrap();
    assert_eq!(door.ready(), "[1:IN]");
}

#[test]
fn case_s131_a_partial_read_of_a_pipe_makes_no_edge() {
    let (reader, writer) = std::io::pipe().unwrap();
    partly_read(reader, writer);
}

#[test]
fn case_s132_a_partial_read_of_a_stream_socket_makes_no_edge() {
    let (reader, writer) = UnixStream::pair().unwrap();
    partly_read(reader, writer);
}

#[test]
fn case_s133_emptying_the_buffer_is_an_output_edge_for_the_writer() {
    let door = Door::new(Linux);
    let (mut reader, mut writer) = UnixStream::pair().unwrap();
    door.add(reader.as_fd(), IN | OUT | ET, 0).unwrap();
    door.add(writer.as_fd(), IN | OUT | ET, 1).unwrap();
    assert_eq!(door.ready(), "[0:OUT, 1:OUT]");
    writer.write_all(&[0; 1024]).unwrap();
    assert_eq!(door.ready(), "[0:IN|OUT]");
    reader.read_exact(&mut [0; 512]).unwrap();
    assert_eq!(door.ready(), "[]");
    reader.read_exact(&mut [0; 512]).unwrap();
    assert_eq!([door.ready(), door.ready()], ["[1:OUT]", "[]"]);
}

#[test]
fn case_s134_the_peers_end_is_told_with_what_came_before() {
    let door = Door::new(Linux);
    let (end, mut peer) = UnixStream::pair().unwrap();
    peer.write_all(b"a").unwrap();
    door.add(end.as_fd(), IN | OUT | RDHUP | ET, 1).unwrap();
    assert_eq!([door.ready(), door.ready()], ["[1:IN|OUT]", "[]"]);
    peer.write_all(b"b").unwrap();
    assert_eq!(door.ready(), "[1:IN|OUT]");
    drop(peer);
    assert_eq!([door.ready(), door.ready()], ["[1:IN|OUT|HUP|RDHUP]", "[]"]);
}

#[test]
fn case_s144_a_new_registration_is_told_what_is_there() {
    let door = Door::new(Linux);
    let (reader, mut writer) = std::io::pipe().unwrap();
    door.add(reader.as_fd(), IN | ET, 1).unwrap();
    writer.write_all(b"a").unwrap();
    assert_eq!(door.ready(), "[1:IN]");
    door.delete(reader.as_fd()).unwrap();
    door.add(reader.as_fd(), IN | ET, 2).unwrap();
    assert_eq!([door.ready(), door.ready()], ["[2:IN]", "[]"]);
}

#[test]
fn case_c034_a_hangup_comes_unasked() {
    let door = Door::new(Linux);
    let (reader, mut writer) = std::io::pipe().unwrap();
    door.add(reader.as_fd(), EventFlags::empty(), 7).unwrap();
    writer.write_all(b"a").unwrap();
    assert_eq!(door.ready(), "[]");
    drop(writer);
    assert_eq!(door.ready(), "[7:HUP]");
}
