//! A slot for each source, and which of its successive sources an event is for.
//!
//! Descriptor numbers are reused at once, so an event that was fetched before its source was
//! dropped could reach the source that has the number now. A [`Token`] names the slot and the
//! slot's generation, which changes with each source, and the loop: a stale or foreign one finds
//! nobody.
//!
//! The slots grow by an eighth of their number at a time: little memory is held for sources that
//! never come, and each slot moves a bounded number of times on average.

use super::runnable::Place;
use super::{Extras, Inbox};
use crate::epoll::{Readiness, Token};
use crate::event_loop::account::{Account, Directions};

/// A source between its runs: the entry (source and handler) and its account, together.
pub(crate) struct Source<E> {
    pub(crate) entry: E,
    pub(crate) account: Account,
    pub(crate) extras: Option<Box<Extras>>,
}

/// Who owns the source of a slot.
pub(crate) enum Seat<E> {
    Vacant,
    /// The slot does.
    Resting(Source<E>),
    /// The run does, until its end.
    Running,
}

pub(crate) struct Slot<E> {
    pub(crate) seat: Seat<E>,
    generation: u32,
    /// Where it stands in the queue of runnable sources. Of a vacant slot: the next vacant one.
    pub(crate) place: Place,
    /// What the events since the last run said.
    pub(crate) readiness: Readiness,
    /// Runs in a row that came to nothing.
    pub(crate) idle: u16,
    /// The turn of the last run, as far as it fits: a source that was last run exactly 65,536
    /// turns ago waits for one turn more than it had to.
    pub(crate) ran: u16,
    /// What the kernel watches for.
    armed: u8,
    /// Run it in its turn whatever its readiness.
    pub(crate) certain: bool,
}

/// The fewest slots that are added at a time.
const FEWEST: usize = 16;

pub(crate) struct Slots<E> {
    slots: Vec<Slot<E>>,
    home: u64,
    vacant: Option<u32>,
    len: usize,
}

impl<E> Slots<E> {
    /// `home` names the loop in its tokens.
    pub(crate) fn new(home: u64) -> Slots<E> {
        Slots { slots: Vec::new(), home, vacant: None, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The token that the next source is to be [inserted](Slots::insert) with.
    pub(crate) fn vacancy(&mut self) -> Token {
        let index = self.vacant.unwrap_or_else(|| self.add_slot());
        self.token(index)
    }

    fn add_slot(&mut self) -> u32 {
        let count = self.slots.len();
        if count == self.slots.capacity() {
            self.slots.reserve_exact((count / 8).max(FEWEST));
        }
        let index = u32::try_from(count).expect("fewer than 2^32 descriptors");
        self.slots.push(Slot::vacant(Place::NONE));
        self.vacant = Some(index);
        index
    }

    /// The token of the slot at `index` as it is now.
    pub(crate) fn token(&self, index: u32) -> Token {
        Token::of_slot(self.home, index, self.slots[index as usize].generation)
    }

    pub(crate) fn insert(&mut self, token: Token, source: Source<E>, armed: Directions) {
        assert_eq!(token, self.vacancy(), "a source goes where the last vacancy was");
        let slot = self.at(token.index());
        let next = slot.place.as_next_vacant();
        slot.place = Place::NONE;
        slot.seat = Seat::Resting(source);
        slot.set_armed(armed);
        self.vacant = next;
        self.len += 1;
    }

    /// As [`at`](Slots::at), with the token of its source.
    #[inline]
    pub(crate) fn at_with_token(&mut self, index: u32) -> (Token, &mut Slot<E>) {
        let slot = &mut self.slots[index as usize];
        (Token::of_slot(self.home, index, slot.generation), slot)
    }

    /// The slot at an index that is known to be in use.
    #[inline]
    pub(crate) fn at(&mut self, index: u32) -> &mut Slot<E> {
        &mut self.slots[index as usize]
    }

    #[inline]
    pub(crate) fn get(&self, token: Token) -> Option<&Slot<E>> {
        let slot = self.slots.get(token.index() as usize)?;
        slot.is_of(token).filter(|_| token.home() == self.home)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut Slot<E>> {
        let is_ours = token.home() == self.home;
        let slot = self.find(token.data()).filter(|_| is_ours)?;
        if matches!(slot.seat, Seat::Vacant) { None } else { Some(slot) }
    }

    /// The slot that an event is for, whose `data` is that of one of this loop's registrations. It
    /// may be vacant by now.
    #[inline]
    pub(crate) fn find(&mut self, data: u64) -> Option<&mut Slot<E>> {
        let (index, generation) = Token::split(data);
        self.slots.get_mut(index as usize).filter(|slot| slot.generation == generation)
    }

    /// The source at rest that a token names.
    pub(crate) fn resting(&mut self, token: Token) -> Option<&mut Source<E>> {
        self.get_mut(token)?.source()
    }

    /// Ends the slot's use by this source: from here on the token finds nobody. A slot that has had
    /// 2^32 sources is given up, so that no token ever becomes valid again.
    pub(crate) fn remove(&mut self, token: Token) -> Option<Slot<E>> {
        let vacant = self.vacant;
        let slot = self.get_mut(token)?;
        let next = slot.generation.checked_add(1);
        let place = vacant.map_or(Place::NONE, Place::next_vacant);
        let mut removed = Slot::vacant(place);
        removed.generation = next.unwrap_or(u32::MAX);
        std::mem::swap(slot, &mut removed);
        self.len -= 1;
        if next.is_some() {
            self.vacant = Some(token.index());
        }
        Some(removed)
    }

    /// The tokens of all sources.
    pub(crate) fn tokens(&self) -> Vec<Token> {
        self.iter().map(|(token, _)| token).collect()
    }

    /// All sources with their tokens.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Token, &Slot<E>)> {
        let slots = self.slots.iter().zip(0..);
        slots
            .filter(|(slot, _)| !matches!(slot.seat, Seat::Vacant))
            .map(|(slot, index)| (Token::of_slot(self.home, index, slot.generation), slot))
    }
}

impl<E> Slot<E> {
    fn vacant(place: Place) -> Slot<E> {
        Slot {
            seat: Seat::Vacant,
            generation: 0,
            place,
            readiness: Readiness::NONE,
            idle: 0,
            ran: u16::MAX,
            armed: 0,
            certain: false,
        }
    }

    fn is_of(&self, token: Token) -> Option<&Slot<E>> {
        let is_in_use = !matches!(self.seat, Seat::Vacant);
        (is_in_use && self.generation == token.generation()).then_some(self)
    }

    #[inline]
    pub(crate) fn armed(&self) -> Directions {
        Directions::from_bits(self.armed.into())
    }

    pub(crate) fn set_armed(&mut self, armed: Directions) {
        self.armed = armed.bits() as u8;
    }

    /// The source, if it is at rest.
    #[inline]
    pub(crate) fn source(&mut self) -> Option<&mut Source<E>> {
        match &mut self.seat {
            Seat::Resting(source) => Some(source),
            Seat::Vacant | Seat::Running => None,
        }
    }
}

impl<E> Source<E> {
    /// It is in a loop under this token from now on.
    pub(crate) fn moved(&mut self, inbox: &crate::sync::Arc<Inbox>, token: Token) {
        if let Some(address) = self.extras.as_ref().and_then(|extras| extras.address.as_ref()) {
            address.set(inbox, token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &'static str) -> Source<&'static str> {
        Source { entry: name, account: Account::default(), extras: None }
    }

    fn entry(slots: &mut Slots<&'static str>, token: Token) -> Option<&'static str> {
        slots.resting(token).map(|source| source.entry)
    }

    #[test]
    fn e13_a_stale_token_finds_nobody_though_its_slot_has_a_new_source() {
        let mut slots = Slots::new(1);
        let first = slots.vacancy();
        slots.insert(first, source("first"), Directions::NONE);
        assert!(slots.remove(first).is_some());

        let second = slots.vacancy();
        slots.insert(second, source("second"), Directions::NONE);
        assert_eq!(first.index(), second.index());
        assert_ne!(first, second);
        assert_eq!(entry(&mut slots, first), None);
        assert!(slots.remove(first).is_none());
        assert_eq!(entry(&mut slots, second), Some("second"));
    }

    #[test]
    fn e13_a_token_of_another_loop_finds_nobody() {
        let (mut ours, mut theirs) = (Slots::new(1), Slots::new(2));
        let (token, foreign) = (ours.vacancy(), theirs.vacancy());
        ours.insert(token, source("ours"), Directions::NONE);
        theirs.insert(foreign, source("theirs"), Directions::NONE);
        assert_eq!((token.index(), token.generation()), (foreign.index(), foreign.generation()));
        assert_eq!(entry(&mut ours, foreign), None);
        assert!(ours.remove(foreign).is_none());
        assert_eq!(entry(&mut ours, token), Some("ours"));
    }

    #[test]
    fn e13_a_slot_is_given_up_before_its_generation_repeats() {
        let mut slots = Slots::new(1);
        let token = slots.vacancy();
        slots.insert(token, source("it"), Directions::NONE);
        slots.at(0).generation = u32::MAX;
        let last = slots.token(0);
        assert!(slots.remove(last).is_some());
        assert_eq!(slots.vacancy().index(), 1);
        assert!(slots.get(last).is_none());
    }

    #[test]
    fn slots_are_reused_and_grow_by_little() {
        let mut slots = Slots::new(1);
        let mut tokens = Vec::new();
        for _ in 0..100 {
            let token = slots.vacancy();
            slots.insert(token, source("it"), Directions::NONE);
            tokens.push(token);
        }
        assert_eq!((slots.len(), slots.tokens()), (100, tokens.clone()));
        for token in &tokens {
            assert!(slots.remove(*token).is_some());
        }
        assert_eq!(slots.len(), 0);
        for _ in 0..100 {
            let token = slots.vacancy();
            slots.insert(token, source("it"), Directions::NONE);
        }
        assert!(slots.slots.len() == 100 && slots.slots.capacity() <= 100 + 100 / 8 + FEWEST);
    }
}
