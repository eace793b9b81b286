//! Choices that depend on a seed alone.

use fastrand::Rng;

/// A source of choices.
#[derive(Debug)]
pub(crate) struct Random(Rng);

impl Random {
    /// The choices of one case: no case depends on those before it.
    pub(crate) fn of_case(family: &str, seed: u64, index: u64) -> Self {
        let name = family.bytes().fold(0_u64, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut seeds = Rng::with_seed(seed ^ name.rotate_left(32));
        let start = seeds.u64(..);
        Self(Rng::with_seed(
            start ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// A number below `end`, which is above 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end)
    }

    /// A number from `first` to `last`.
    pub(crate) fn between(&mut self, first: i64, last: i64) -> i64 {
        self.0.i64(first..=last)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of some.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// One of some values.
    pub(crate) fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}
