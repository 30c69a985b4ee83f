//! Octets as a source of choices, so that the fuzzer's mutations change one choice at a time.

/// Reads choices off the front; zeros when nothing is left, so every input means something.
#[derive(Debug)]
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Choices out of `input`.
    pub fn new(input: &'a [u8]) -> Self {
        Choices { rest: input }
    }

    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// One octet.
    pub fn octet(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((&first, rest)) => {
                self.rest = rest;
                first
            }
            None => 0,
        }
    }

    /// Two octets, the high one first.
    pub fn pair(&mut self) -> u16 {
        u16::from_be_bytes([self.octet(), self.octet()])
    }

    /// Below `bound`, which is at most 256.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.octet()) % bound
    }

    /// One of `options`.
    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    /// Up to `len` octets as they stand.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

/// A generator of choices beyond those the input spells out: the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() >> 33) as usize % bound.max(1)
    }

    /// One time in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `options`.
    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }
}
