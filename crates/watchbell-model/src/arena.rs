//! Numbered places for objects that refer to each other.

use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A place in an [`Arena`].
pub(crate) struct Id<T> {
    place: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<T> Eq for Id<T> {}

impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place.hash(state);
    }
}

impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place.cmp(&other.place)
    }
}

/// Objects in numbered places; a place that was left is used again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Arena<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Arena<T> {
    pub(crate) fn new() -> Arena<T> {
        Arena { places: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> Id<T> {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.places.push(None);
                self.places.len() - 1
            }
        };
        self.places[place] = Some(value);
        Id { place, of: PhantomData }
    }

    pub(crate) fn remove(&mut self, id: Id<T>) -> T {
        self.free.push(id.place);
        self.places[id.place].take().expect("an id refers to an object")
    }
}

impl<T> Index<Id<T>> for Arena<T> {
    type Output = T;
    fn index(&self, id: Id<T>) -> &T {
        self.places[id.place].as_ref().expect("an id refers to an object")
    }
}

impl<T> IndexMut<Id<T>> for Arena<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        self.places[id.place].as_mut().expect("an id refers to an object")
    }
}
