//! Sixty-four bytes of JSON in one look: which of them are what, as the bits of one number.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined into the dispatched function is compiled for the smallest processor"
)]

use fearless_simd::{prelude::*, u8x64};

/// As many bytes as a number has bits.
pub(super) const BLOCK: usize = 64;

/// Some bytes of a text. The lowest bit of each answer is about the first one.
#[derive(Clone, Copy)]
pub(super) struct Block<S: Simd> {
    simd: S,
    pub(super) bytes: u8x64<S>,
}

impl<S: Simd> Block<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, bytes: &[u8; BLOCK]) -> Self {
        Self {
            simd,
            bytes: u8x64::load_array_ref(simd, bytes),
        }
    }

    /// Where this byte is.
    #[inline(always)]
    pub(super) fn find(self, byte: u8) -> u64 {
        let byte = u8x64::splat(self.simd, byte);
        self.bytes.simd_eq(byte).to_bitmask()
    }

    /// Where bytes below this one are.
    #[inline(always)]
    pub(super) fn find_below(self, byte: u8) -> u64 {
        let byte = u8x64::splat(self.simd, byte);
        self.bytes.simd_lt(byte).to_bitmask()
    }
}

/// The bits below a position.
#[inline(always)]
pub(super) fn below(position: usize) -> u64 {
    match position {
        BLOCK => u64::MAX,
        _ => !(u64::MAX << position),
    }
}

/// Which backslashes begin an escape, and which bytes are the letters of one. The carry says whether the first byte is the
/// letter of an escape that the block before has begun.
#[inline(always)]
pub(super) fn escapes(backslashes: u64, carry: u64) -> (u64, u64) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // In a run of backslashes every other one begins an escape: the subtraction carries through each run, and what it
    // turns over depends on whether the run begins at an odd place.
    let candidates = backslashes & !carry;
    let turned = (candidates << 1 | ODD).wrapping_sub(candidates) ^ ODD;
    (turned & backslashes, turned ^ (backslashes | carry))
}
