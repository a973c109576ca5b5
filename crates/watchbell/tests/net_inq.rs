//! What the kernel says is left, against what `FIONREAD` says, over random traffic.

mod support;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::os::fd::{AsFd, OwnedFd};
use support::sockets::{tcp_pair, unix_pair};
use watchbell::kernel::Linux;
use watchbell::net::{Received, Stream};

/// Sends of these lengths, each followed by reads into buffers of those.
fn traffic() -> impl Strategy<Value = Vec<(usize, Vec<usize>)>> {
    let reads = prop::collection::vec(1_usize..3000, 0..4);
    prop::collection::vec((1_usize..5000, reads), 1..12)
}

/// Data that is on its way has arrived once the queue is as long as everything unread.
fn wait_for(stream: &Stream, unread: usize) {
    while rustix::io::ioctl_fionread(stream).expect("a socket") < unread as u64 {
        std::thread::yield_now();
    }
}

fn case_left_is_fionread(pair: fn() -> (Stream, OwnedFd)) {
    let mut runner =
        TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    let body = |traffic: Vec<(usize, Vec<usize>)>| {
        let (stream, peer) = pair();
        let mut unread = 0;
        for (sent, reads) in traffic {
            let taken = rustix::io::write(&peer, &vec![1; sent]).expect("there is room");
            unread += taken;
            wait_for(&stream, unread);
            for length in reads {
                if unread == 0 {
                    break;
                }
                let Received { bytes, left } = stream.recv(&mut vec![0; length]).expect("data");
                unread -= bytes;
                let queued = rustix::io::ioctl_fionread(&stream).expect("a socket");
                prop_assert_eq!(queued, unread as u64);
                // A kernel that does not know the option says nothing.
                prop_assert!(left.is_none_or(|left| left == unread), "{left:?}, not {unread}");
            }
        }
        Ok(())
    };
    runner.run(&traffic(), body).expect("the two agree");
}

#[test]
fn case_tcp_inq_is_fionread() {
    case_left_is_fionread(|| {
        let (stream, peer) = tcp_pair(Linux);
        (stream, peer.into())
    });
}

#[test]
fn case_so_inq_is_fionread() {
    case_left_is_fionread(|| {
        let (stream, peer) = unix_pair(Linux);
        (stream, peer.into())
    });
}

#[test]
fn case_tcp_inq_is_told_by_every_kernel_that_we_support() {
    let (stream, peer) = tcp_pair(Linux);
    rustix::io::write(peer.as_fd(), b"12345").expect("there is room");
    wait_for(&stream, 5);
    let received = stream.recv(&mut [0; 2]).expect("data");
    assert_eq!(received, Received { bytes: 2, left: Some(3) });
}
