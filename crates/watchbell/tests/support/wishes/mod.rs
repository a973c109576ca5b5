//! One cell of the table of wishes: a source in a state, what is asked of it and by whom, and a
//! specification that says what has to follow.
#![allow(unreachable_pub)]

mod spec;

pub use spec::{Asker, LetGo, Mode, State, Wish};

use spec::Spec;
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use watchbell::epoll::{Interest, Source, Token};
use watchbell::event_loop::{
    Budget, Detached, Direction, EventLoop, Handler, Ready, Registration, Registry, Shared, Turn,
};
use watchbell::eventfd::Counter;
use watchbell::kernel::Linux;
use watchbell::net::{Marks, Output};

const LONG: Duration = Duration::from_secs(3600);

/// A stream in one of the modes.
pub trait Subject: Source<Fd = std::os::fd::OwnedFd> + Sized + 'static {
    fn stream(&self) -> &UnixStream;
}

impl Subject for UnixStream {
    fn stream(&self) -> &UnixStream {
        self
    }
}

impl Subject for Shared<UnixStream> {
    fn stream(&self) -> &UnixStream {
        self
    }
}

/// What all askers and the test share.
struct World<S> {
    spec: RefCell<Spec>,
    plan: RefCell<Vec<(Asker, Wish)>>,
    token: Cell<Option<Token>>,
    queue: RefCell<Option<Output>>,
    writer: Cell<Option<Token>>,
    may_flush: Cell<bool>,
    taken: RefCell<Option<S>>,
    detached: RefCell<Option<Detached<S, Asked<S>>>>,
}

/// The handler of the source.
struct Asked<S>(Rc<World<S>>);

fn roomy() -> Output {
    Output::new(Marks::new(1, 4).unwrap().with_limit(1000))
}

impl<S: Subject> World<S> {
    fn token(&self) -> Token {
        self.token.get().unwrap()
    }

    /// What this asker is to ask, in order.
    fn take(&self, asker: Asker) -> Vec<Wish> {
        self.plan.borrow_mut().extract_if(.., |(who, _)| *who == asker).map(|it| it.1).collect()
    }

    /// Asks by token.
    fn ask(&self, registry: &mut Registry<(), Linux>, wish: Wish) {
        let token = self.token();
        let (exists, is_running) = {
            let spec = self.spec.borrow();
            (spec.exists || spec.is_closing, spec.is_running)
        };
        // What is running cannot be taken out.
        let can_leave = exists && !is_running;
        let (granted, expected) = match wish {
            Wish::Pause(direction) => (registry.pause(token, direction), exists),
            Wish::Resume(direction) => (registry.resume(token, direction), exists),
            Wish::Rest(direction) => (registry.rest(token, direction, LONG), exists),
            Wish::RestBriefly(direction) => {
                (registry.rest(token, direction, Duration::ZERO), exists)
            }
            Wish::Wake(direction) => (registry.wake(token, direction), exists),
            Wish::Budget => (registry.set_budget(token, Budget::default().operations(1)), exists),
            Wish::Close => (registry.remove(token), exists),
            Wish::LetGo(way) => (self.let_go(registry, way), true),
            Wish::Take => {
                *self.taken.borrow_mut() = registry.take(token);
                (self.taken.borrow().is_some(), can_leave)
            }
            Wish::Detach | Wish::DetachAndLetGo => {
                *self.detached.borrow_mut() = registry.detach(token);
                let is_away = self.detached.borrow().is_some();
                if is_away && wish == Wish::DetachAndLetGo {
                    self.let_go(registry, LetGo::Dropped);
                }
                (is_away, can_leave)
            }
            Wish::Hold | Wish::RunAgain => unreachable!("a token cannot ask for {wish:?}"),
        };
        let mut spec = self.spec.borrow_mut();
        spec.expect(granted == expected, &format!("the answer to {wish:?} is {granted}"));
        if expected {
            spec.ask(wish);
        }
    }

    fn let_go(&self, registry: &mut Registry<(), Linux>, way: LetGo) -> bool {
        match way {
            LetGo::Dropped => *self.queue.borrow_mut() = None,
            LetGo::Replaced => *self.queue.borrow_mut() = Some(roomy()),
            LetGo::Discarded => {
                self.queue.borrow_mut().as_mut().map(Output::discard);
            }
            LetGo::Flushed => {
                self.may_flush.set(true);
                assert!(registry.wake(self.writer.get().unwrap(), Direction::Output));
            }
            LetGo::WriterEnded => assert!(registry.remove(self.writer.get().unwrap())),
            LetGo::DroppedBySource => {
                let queue = self.queue.take();
                let owner = move |_: &mut Ready<'_, Counter>, _: &mut Turn<'_>| {
                    let _own = &queue;
                    Ok(())
                };
                let source = Counter::new(0).unwrap();
                let keeper = registry.add(source, Interest::READABLE, owner).unwrap();
                assert!(registry.remove(keeper));
            }
            LetGo::DroppedByTimer => {
                let queue = self.queue.take();
                let timer = registry.after(LONG, move |_| {
                    drop(queue);
                    Ok(())
                });
                assert!(registry.cancel(timer));
            }
        }
        true
    }

    /// Asks by the methods of the running source.
    fn ask_ready(&self, source: &mut Ready<'_, S>, turn: &mut Turn<'_>, wish: Wish) {
        match wish {
            Wish::Pause(direction) => source.pause(direction),
            Wish::Resume(direction) => source.resume(direction),
            Wish::Rest(direction) => source.rest(direction, LONG),
            Wish::RestBriefly(direction) => source.rest(direction, Duration::ZERO),
            Wish::RunAgain => source.run_again(),
            Wish::Close => turn.close().unwrap(),
            Wish::Hold => {
                let mut queue = self.queue.borrow_mut();
                source.forward(queue.as_mut().unwrap(), &[7; 8]).unwrap();
            }
            _ => unreachable!("a source cannot ask for {wish:?}"),
        }
        self.spec.borrow_mut().ask(wish);
    }

    fn work(&self, source: &mut Ready<'_, S>) -> io::Result<()> {
        while self.spec.borrow().owed > 0 {
            let Some(bytes) = source.output(|it| it.stream().write(&[1]))? else { break };
            self.spec.borrow_mut().moved(Direction::Output, bytes);
        }
        while let Some(bytes) = source.input(|it| it.stream().read(&mut [0; 4]))? {
            self.spec.borrow_mut().moved(Direction::Input, bytes);
        }
        Ok(())
    }
}

impl<S: Subject> Handler<S> for Asked<S> {
    fn ready(&mut self, source: &mut Ready<'_, S>, turn: &mut Turn<'_>) -> io::Result<()> {
        let world = &self.0;
        world.spec.borrow_mut().begin_run();
        for is_late in [false, true] {
            let (by_ready, by_token) = match is_late {
                false => (Asker::Ready, Asker::OwnToken),
                true => (Asker::ReadyLate, Asker::OwnTokenLate),
            };
            // In the order of the plan, whichever way it is asked.
            loop {
                let next = world
                    .plan
                    .borrow()
                    .iter()
                    .position(|(who, _)| *who == by_ready || *who == by_token);
                let Some(next) = next else { break };
                let (who, wish) = world.plan.borrow_mut().remove(next);
                match who == by_ready {
                    true => world.ask_ready(source, turn, wish),
                    false => world.ask(turn, wish),
                }
            }
            if !is_late {
                world.work(source)?;
            }
        }
        world.spec.borrow_mut().end_run();
        Ok(())
    }
}

/// The loop in which the source begins, another one, and the sources beside it.
struct Cast<S> {
    world: Rc<World<S>>,
    loops: Vec<EventLoop>,
    neighbour: Token,
    failing: Token,
    peer: UnixStream,
}

impl<S: Subject> Cast<S> {
    fn new(peer: UnixStream) -> Cast<S> {
        let world = Rc::new(World {
            spec: RefCell::default(),
            plan: RefCell::default(),
            token: Cell::default(),
            queue: RefCell::new(Some(roomy())),
            writer: Cell::default(),
            may_flush: Cell::default(),
            taken: RefCell::default(),
            detached: RefCell::default(),
        });
        let asked = Rc::clone(&world);
        let builder = EventLoop::builder().on_failure(move |_, turn| {
            asked.take(Asker::OnFailure).into_iter().for_each(|wish| asked.ask(turn, wish));
        });
        let mut events = builder.build().unwrap();
        let asked = Rc::clone(&world);
        let quiet = || Counter::new(0).unwrap();
        let neighbour = events.add(quiet(), Interest::READABLE, move |counter, turn| {
            counter.take()?;
            asked.take(Asker::Neighbour).into_iter().for_each(|wish| asked.ask(turn, wish));
            Ok(())
        });
        let failing =
            events.add(quiet(), Interest::READABLE, |_, _| Err(io::Error::other("as it is asked")));
        peer.set_nonblocking(true).unwrap();
        let (neighbour, failing) = (neighbour.unwrap(), failing.unwrap());
        Cast { world, loops: vec![events], neighbour, failing, peer }
    }

    /// The source that writes the queue out, to a peer that takes all.
    fn add_writer(&mut self) {
        let (writer, sink) = UnixStream::pair().unwrap();
        let writer = watchbell::net::Stream::try_from(std::os::fd::OwnedFd::from(writer)).unwrap();
        let own = Rc::clone(&self.world);
        let handler = self.loops[0].add(writer, Interest::READABLE, move |stream, _| {
            let _open = &sink;
            if let Some(queue) = own.queue.borrow_mut().as_mut().filter(|_| own.may_flush.get()) {
                stream.flush(queue)?;
                own.spec.borrow_mut().held = false;
            }
            Ok(())
        });
        self.world.writer.set(Some(handler.unwrap()));
        self.world
            .queue
            .borrow_mut()
            .as_mut()
            .unwrap()
            .written_by(self.world.writer.get().unwrap());
    }

    /// The loop that has the source.
    fn home(&mut self) -> &mut EventLoop {
        self.loops.last_mut().unwrap()
    }

    fn outside(&mut self, wish: Wish) {
        let world = Rc::clone(&self.world);
        world.ask(self.home(), wish);
    }

    fn send(&mut self, bytes: usize) {
        if self.peer.write(&vec![9; bytes]).is_ok() {
            self.world.spec.borrow_mut().unread += bytes;
        }
    }

    /// Has the source run, to write `bytes` if it may.
    fn owe(&mut self, bytes: usize) {
        self.world.spec.borrow_mut().owed += bytes;
        self.outside(Wish::Wake(Direction::Output));
    }

    /// Turns until nothing happens any more.
    fn settle(&mut self, when: &str) {
        for events in &mut self.loops {
            let mut idle = 0;
            for turn in 0.. {
                assert!(turn < 1000, "the loop spins: {:?}", events.stats());
                let before = (events.stats().events, events.stats().runs, events.stats().timers);
                events.turn(Some(Duration::ZERO)).unwrap();
                let after = (events.stats().events, events.stats().runs, events.stats().timers);
                idle = if before == after { idle + 1 } else { 0 };
                if idle == 2 {
                    break;
                }
            }
        }
        self.world.spec.borrow_mut().settled(when);
    }

    fn enter(&mut self, state: State) {
        let input = Direction::Input;
        match state {
            State::Quiet | State::Reported | State::Retained => {}
            State::Paused | State::PausedWithInput => self.outside(Wish::Pause(input)),
            State::PausedWithOutput => {
                self.outside(Wish::Pause(Direction::Output));
                self.owe(3);
            }
            State::RestingWithInput => self.outside(Wish::Rest(input)),
            State::HeldWithInput => {
                self.world.plan.borrow_mut().push((Asker::Ready, Wish::Hold));
                self.outside(Wish::Wake(Direction::Output));
            }
            State::Closed => self.outside(Wish::Close),
        }
        self.settle("at the beginning");
        match state {
            State::PausedWithInput | State::HeldWithInput | State::RestingWithInput => self.send(6),
            State::Retained => {
                self.send(14);
                self.loops[0].turn(Some(Duration::ZERO)).unwrap();
                return;
            }
            _ => return,
        }
        self.settle("at the beginning, with input");
    }

    /// Has each asker of the plan ask, in its order as far as a turn allows.
    fn act(&mut self, state: State, plan: &[(Asker, Wish)]) {
        self.world.plan.borrow_mut().extend(plan);
        for (at, (asker, _)) in plan.iter().enumerate() {
            let (asked, (neighbour, failing)) =
                (Rc::clone(&self.world), (self.neighbour, self.failing));
            match asker {
                Asker::Outside if at == 0 => self.ask_outside(),
                Asker::Outside => {}
                Asker::Neighbour => assert!(self.loops[0].wake(neighbour, Direction::Input)),
                Asker::OnFailure => assert!(self.loops[0].wake(failing, Direction::Input)),
                Asker::Timer => {
                    self.loops[0].after(Duration::ZERO, move |turn| {
                        asked.take(Asker::Timer).into_iter().for_each(|it| asked.ask(turn, it));
                        Ok(())
                    });
                }
                _ => self.outside(Wish::Wake(Direction::Output)),
            }
        }
        if state == State::Reported {
            self.send(6);
        }
        self.loops[0].turn(Some(Duration::ZERO)).unwrap();
        self.ask_outside();
        self.attach();
        self.settle("after the wish");
        let left = std::mem::take(&mut *self.world.plan.borrow_mut());
        let mut spec = self.world.spec.borrow_mut();
        let is_gone = !spec.exists;
        spec.expect(left.iter().all(|it| it.0.is_own() && is_gone), "it was not asked");
    }

    fn ask_outside(&mut self) {
        self.world.take(Asker::Outside).into_iter().for_each(|wish| self.outside(wish));
    }

    /// A source that has been let go comes into another loop.
    fn attach(&mut self) {
        let Some(detached) = self.world.detached.take() else { return };
        let mut other = EventLoop::new().unwrap();
        self.world.token.set(Some(other.attach(detached).unwrap()));
        self.loops.push(other);
    }

    /// New input and new output show what holds; the end of all stops, that nothing was lost.
    fn probe(&mut self) {
        let input = Direction::Input;
        self.send(5);
        self.settle("after new input");
        self.owe(3);
        self.settle("after new output");
        self.outside(Wish::Resume(input));
        self.outside(Wish::Resume(Direction::Output));
        if self.world.queue.take().is_some() {
            self.world.spec.borrow_mut().held = false;
        }
        self.settle("after all stops");
        self.send(5);
        self.owe(1);
        self.settle("at the end");
        assert!(self.loops.iter().all(|events| events.stats().panics == 0));
        self.look_at_both_ends();
    }

    fn look_at_both_ends(&mut self) {
        let (heard, is_open) = drain(&self.peer);
        let taken = self.world.taken.take();
        let mut spec = self.world.spec.borrow_mut();
        let (written, unread) = (spec.written, spec.unread);
        let is_there = spec.exists || taken.is_some();
        spec.expect(heard == written, "the peer has heard something else");
        spec.expect(is_open == is_there, "the descriptor is not closed, or is");
        if let Some(source) = taken {
            let there = drain(source.stream()).0;
            spec.expect(there == unread, "what was taken has not all that was unread");
        }
    }
}

/// How many bytes there are, and whether the other end is open.
fn drain(mut stream: &UnixStream) -> (usize, bool) {
    let mut heard = 0;
    loop {
        match stream.read(&mut [0; 64]) {
            Ok(bytes @ 1..) => heard += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return (heard, true),
            Ok(_) | Err(_) => return (heard, false),
        }
    }
}

/// One cell. What went against the specification.
pub fn cell(mode: Mode, state: State, plan: &[(Asker, Wish)]) -> Vec<String> {
    let (peer, ours) = UnixStream::pair().unwrap();
    let two = Budget::default().operations(2);
    let readable = Interest::READABLE;
    match mode {
        Mode::Edge => play(peer, state, plan, |events, handler| {
            events.add_handler(ours, Registration::edge(readable).budget(two), handler).unwrap()
        }),
        Mode::Level => play(peer, state, plan, |events, handler| {
            events.add_handler(ours, Registration::level(readable).budget(two), handler).unwrap()
        }),
        Mode::Exclusive => play(peer, state, plan, |events, handler| {
            let shared = Shared::new(ours);
            events.add_handler(shared, Registration::exclusive().budget(two), handler).unwrap()
        }),
    }
}

fn play<S: Subject>(
    peer: UnixStream,
    state: State,
    plan: &[(Asker, Wish)],
    add: impl FnOnce(&mut EventLoop, Asked<S>) -> Token,
) -> Vec<String> {
    let mut cast = Cast::new(peer);
    let handler = Asked(Rc::clone(&cast.world));
    let token = add(&mut cast.loops[0], handler);
    cast.world.token.set(Some(token));
    cast.world.spec.borrow_mut().exists = true;
    cast.add_writer();
    cast.settle("new");
    cast.enter(state);
    cast.act(state, plan);
    cast.probe();
    std::mem::take(&mut cast.world.spec.borrow_mut().faults)
}
