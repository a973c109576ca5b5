//! Pseudo-random numbers that a seed makes again (xorshift64*).

pub struct Random(u64);

impl Random {
    /// Starts from `seed`, which a failing test shows with its output.
    pub fn new(seed: u64) -> Random {
        eprintln!("seed {seed}");
        Random::quiet(seed)
    }

    /// Starts from `seed` and does not show it: one of many that come from a shown one.
    pub fn quiet(seed: u64) -> Random {
        // Zero is the one state that xorshift never leaves.
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).max(1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number from `least` to `most`.
    pub fn size(&mut self, least: usize, most: usize) -> usize {
        least + (self.next() % (most - least + 1) as u64) as usize
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}
