//! Who an event is for: a slot, and which of its successive tenants.
//!
//! Descriptor numbers are reused at once, so an event that was fetched before its source was
//! dropped could reach the source that has the number now. A [`Token`] is the slot's index and the
//! slot's generation, which changes with each tenant: a stale one finds nobody.

use crate::epoll::Token;

/// Values in slots, found by tokens that are never valid for another value.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    len: usize,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl Token {
    fn new(index: u32, generation: u32) -> Token {
        Token(u64::from(generation) << 32 | u64::from(index))
    }

    fn index(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl<T> Slots<T> {
    pub(crate) fn new() -> Slots<T> {
        Slots { slots: Vec::new(), free: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The token that the next value is to be [inserted](Slots::insert) with.
    pub(crate) fn vacant(&mut self) -> Token {
        if self.free.is_empty() {
            let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 open descriptors");
            self.slots.push(Slot { generation: 0, value: None });
            self.free.push(index);
        }
        let index = *self.free.last().expect("one was just made sure of");
        Token::new(index, self.slots[index as usize].generation)
    }

    pub(crate) fn insert(&mut self, token: Token, value: T) {
        assert_eq!(token, self.vacant(), "a value goes where the last vacant token said");
        self.free.pop();
        self.slots[token.index()].value = Some(value);
        self.len += 1;
    }

    pub(crate) fn get(&self, token: Token) -> Option<&T> {
        let slot = self.slots.get(token.index())?;
        slot.value.as_ref().filter(|_| slot.generation == token.generation())
    }

    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        let slot = self.slots.get_mut(token.index())?;
        slot.value.as_mut().filter(|_| slot.generation == token.generation())
    }

    /// Ends the tenancy: from here on the token finds nobody. A slot that has had 2^32 tenants is
    /// given up, so that no token ever becomes valid again.
    pub(crate) fn remove(&mut self, token: Token) -> Option<T> {
        let slot = self.slots.get_mut(token.index())?;
        if slot.generation != token.generation() {
            return None;
        }
        let value = slot.value.take()?;
        self.len -= 1;
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(token.index() as u32);
        }
        Some(value)
    }

    /// All values with their tokens.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Token, &T)> {
        self.slots.iter().zip(0..).filter_map(|(slot, index)| {
            slot.value.as_ref().map(|value| (Token::new(index, slot.generation), value))
        })
    }

    /// As [`iter`](Slots::iter), to change the values.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Token, &mut T)> {
        self.slots.iter_mut().zip(0..).filter_map(|(slot, index)| {
            slot.value.as_mut().map(|value| (Token::new(index, slot.generation), value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e13_a_stale_token_finds_nobody_though_its_slot_has_a_new_tenant() {
        let mut slots = Slots::new();
        let first = slots.vacant();
        slots.insert(first, "first");
        assert_eq!(slots.remove(first), Some("first"));

        let second = slots.vacant();
        slots.insert(second, "second");
        assert_eq!(first.index(), second.index());
        assert_ne!(first, second);
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(second), Some(&"second"));
    }

    #[test]
    fn e13_a_slot_is_given_up_before_its_generation_repeats() {
        let mut slots = Slots::new();
        let token = slots.vacant();
        slots.insert(token, ());
        slots.slots[0].generation = u32::MAX;
        let last = Token::new(0, u32::MAX);
        assert_eq!(slots.remove(last), Some(()));
        assert_eq!(slots.vacant().index(), 1);
        assert_eq!(slots.get(last), None);
    }
}
