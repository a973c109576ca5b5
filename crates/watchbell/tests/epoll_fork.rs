//! A forked child shares its parent's interest lists, and must not touch them.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/door.rs"]
mod door;
#[path = "support/fork.rs"]
mod fork;

use door::Bell;
use fork::in_child;
use std::time::Duration;
use watchbell::Error;
use watchbell::epoll::{Epoll, Events, ExclusiveInterest, Interest, Leases, OnBlocking, Trigger};
use watchbell::kernel::{Call, Counting, EventfdFlags, Kernel, Linux};

const READABLE: Interest = Interest::READABLE;

/// What a child returns that has found all as it should be.
const WELL: i32 = 7;

fn is_forked<T>(outcome: Result<T, impl Into<Error>>) -> bool {
    matches!(outcome.err().map(Into::into), Some(Error::Forked))
}

/// How many calls were made that use or change an interest list.
fn touches(kernel: &Counting<Linux>) -> u64 {
    let calls = [Call::EpollAdd, Call::EpollModify, Call::EpollDelete, Call::EpollWait];
    calls.iter().map(|&call| kernel.calls(call)).sum()
}

#[test]
fn c13_an_instance_refuses_in_a_forked_child() {
    let kernel = Counting::new(Linux);
    let epoll = Epoll::on(kernel.clone()).unwrap();
    let level = epoll.level(Bell::new(&kernel, 1), READABLE).unwrap();
    let blocking = Bell::with_flags(&kernel, 0, EventfdFlags::empty());
    kernel.reset();
    let code = in_child(|| {
        let bell = Bell::new(&kernel, 0);
        assert!(is_forked(epoll.level(bell.clone(), READABLE)));
        assert!(is_forked(epoll.edge(bell.clone(), READABLE, OnBlocking::Refuse)));
        let exclusive = epoll.exclusive(bell, ExclusiveInterest::Readable, Trigger::Level);
        assert!(is_forked(exclusive));
        assert!(is_forked(level.modify(Interest::NONE)));
        let mut events = Events::with_capacity(1);
        assert!(is_forked(epoll.wait(&mut events, Some(Duration::ZERO))));

        let set = OnBlocking::SetNonblocking;
        assert!(is_forked(epoll.edge(blocking.clone(), READABLE, set)));
        let trigger = Trigger::Edge(set);
        let edge = epoll.exclusive(blocking.clone(), ExclusiveInterest::Readable, trigger);
        assert!(is_forked(edge));
        assert_eq!(touches(&kernel), 0);
        WELL
    });
    assert_eq!(code, WELL);
    assert!(!kernel.is_nonblocking(blocking.fd()).unwrap(), "the open file is shared");
    let mut events = Events::with_capacity(1);
    epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert_eq!(events.iter().next().unwrap().token, level.token(), "nothing was modified");
}

#[test]
fn c13_a_registration_dropped_in_a_forked_child_stays_the_parents() {
    let kernel = Counting::new(Linux);
    let epoll = Epoll::on(kernel.clone()).unwrap();
    let level = epoll.level(Bell::new(&kernel, 1), READABLE).unwrap();
    let edge = epoll.edge(Bell::new(&kernel, 1), READABLE, OnBlocking::Refuse).unwrap();
    let tokens = [level.token(), edge.token()];
    let (mut epoll, mut level, mut edge) = (Some(epoll), Some(level), Some(edge));
    kernel.reset();
    let code = in_child(|| {
        drop(level.take());
        let source = edge.take().unwrap().into_inner();
        assert_eq!(epoll.as_ref().unwrap().ghosts(), 0);
        drop((source, epoll.take()));
        assert_eq!(touches(&kernel), 0);
        WELL
    });
    assert_eq!(code, WELL);
    let epoll = epoll.unwrap();
    let mut events = Events::with_capacity(4);
    epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert_eq!(events.iter().map(|event| event.token).collect::<Vec<_>>(), tokens);
    drop((level, edge));
    epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert_eq!((events.len(), epoll.ghosts()), (0, 0));
}

#[test]
fn c13_leases_refuse_in_a_forked_child() {
    let kernel = Counting::new(Linux);
    let leases = Leases::on(kernel.clone()).unwrap();
    let resting = leases.add(Bell::new(&kernel, 1), READABLE).unwrap();
    let mut lease = leases.wait(None).unwrap();
    lease.as_ref().unwrap().get_ref().read();
    kernel.reset();
    let code = in_child(|| {
        assert!(is_forked(leases.add(Bell::new(&kernel, 0), READABLE)));
        assert!(is_forked(leases.wait(Some(Duration::ZERO))));
        assert!(is_forked(leases.take(resting)));
        let refused = lease.take().unwrap().rearm().unwrap_err();
        assert!(matches!(refused.error, Error::Forked));

        // The child's own set is in order, and still cannot take the parent's source over.
        let own = Leases::on(kernel.clone()).unwrap();
        let refused = refused.source.transfer(&own).unwrap_err();
        assert!(matches!(refused.error, Error::Forked));
        assert_eq!(touches(&kernel), 0);
        drop(refused);
        assert_eq!(touches(&kernel), 0, "nor does dropping it touch the list");
        WELL
    });
    assert_eq!(code, WELL);
    assert_eq!((leases.out(), leases.undecided()), (1, 0));
    let lease = lease.unwrap();
    lease.get_ref().write(1);
    lease.rearm().unwrap();
    drop(leases.wait(None).unwrap().unwrap().close());
}

#[test]
fn c13_leases_dropped_in_a_forked_child_stay_the_parents() {
    let kernel = Counting::new(Linux);
    let leases = Leases::on(kernel.clone()).unwrap();
    leases.on_undecided(|event| panic!("the child's copy is no lease: {event:?}"));
    leases.add(Bell::new(&kernel, 1), READABLE).unwrap();
    let mut lease = leases.wait(None).unwrap();
    let bell = Bell::new(&kernel, 0);
    leases.add(bell.clone(), READABLE).unwrap();
    let mut leases = Some(leases);
    kernel.reset();
    let code = in_child(|| {
        drop(leases.take());
        drop(lease.take());
        assert_eq!(touches(&kernel), 0);
        WELL
    });
    assert_eq!(code, WELL);
    let leases = leases.unwrap();
    bell.write(1);
    let other = leases.wait(Some(Duration::ZERO)).unwrap().expect("it rests in the list still");
    lease.unwrap().rearm().unwrap();
    drop(other.close());
    assert_eq!((leases.out(), leases.undecided(), leases.ghosts()), (0, 0, 0));
}

#[test]
fn c13_a_child_may_have_instances_of_its_own() {
    let bell = Bell::new(&Linux, 1);
    let code = in_child(|| {
        let epoll = Epoll::new().unwrap();
        let level = epoll.level(bell.clone(), READABLE).unwrap();
        let mut events = Events::with_capacity(1);
        epoll.wait(&mut events, None).unwrap();
        assert_eq!(events.iter().next().unwrap().token, level.token());
        WELL
    });
    assert_eq!(code, WELL);
    assert_eq!(bell.read(), 1, "one object, shared with the child");
}
