//! Input and output, and sets of the two.

use std::hash::{Hash, Hasher};
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// One of the two ways that data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the descriptor to us: read, receive, accept.
    Input,
    /// From us to the descriptor: write, send, connect.
    Output,
}

impl Direction {
    pub(crate) const BOTH: [Direction; 2] = [Direction::Input, Direction::Output];
}

/// A set of directions: the lowest two bits. What stands above them is nobody's, so that sets that
/// are taken out of a word need no mask until they are looked at.
#[derive(Clone, Copy, Default)]
pub(crate) struct Directions(u32);

impl Directions {
    #[cfg(test)]
    pub(crate) const NONE: Directions = Directions(0);
    pub(crate) const INPUT: Directions = Directions(1);
    pub(crate) const OUTPUT: Directions = Directions(2);
    pub(crate) const BOTH: Directions = Directions(3);

    /// Of the lowest two bits.
    #[inline]
    pub(crate) const fn from_bits(bits: u32) -> Directions {
        Directions(bits)
    }

    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        self.0 & 3
    }

    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.bits() == 0
    }

    #[inline]
    pub(crate) const fn has(self, direction: Direction) -> bool {
        self.0 & Directions::of(direction).0 != 0
    }

    #[inline]
    pub(crate) const fn of(direction: Direction) -> Directions {
        match direction {
            Direction::Input => Directions::INPUT,
            Direction::Output => Directions::OUTPUT,
        }
    }

    /// The set, or nothing of it, without a branch: this is asked several times an event.
    #[inline]
    pub(crate) const fn when(self, holds: bool) -> Directions {
        Directions(self.0 & (holds as u32).wrapping_neg())
    }
}

impl PartialEq for Directions {
    #[inline]
    fn eq(&self, other: &Directions) -> bool {
        (self.0 ^ other.0) & 3 == 0
    }
}

impl Eq for Directions {}

impl Hash for Directions {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

impl From<Direction> for Directions {
    #[inline]
    fn from(direction: Direction) -> Directions {
        Directions::of(direction)
    }
}

impl BitOr for Directions {
    type Output = Directions;

    #[inline]
    fn bitor(self, other: Directions) -> Directions {
        Directions(self.0 | other.0)
    }
}

impl BitAnd for Directions {
    type Output = Directions;

    #[inline]
    fn bitand(self, other: Directions) -> Directions {
        Directions(self.0 & other.0)
    }
}

impl Not for Directions {
    type Output = Directions;

    #[inline]
    fn not(self) -> Directions {
        Directions(!self.0)
    }
}

impl BitOrAssign for Directions {
    #[inline]
    fn bitor_assign(&mut self, other: Directions) {
        self.0 |= other.0;
    }
}

impl BitAndAssign for Directions {
    #[inline]
    fn bitand_assign(&mut self, other: Directions) {
        self.0 &= other.0;
    }
}

impl std::fmt::Debug for Directions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = |direction, letter| if self.has(direction) { letter } else { "" };
        write!(f, "{{{}{}}}", letter(Direction::Input, "I"), letter(Direction::Output, "O"))
    }
}
