//! Blocks of headers: names and values, compressed over all blocks of one direction.

use std::io;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

use super::dictionary::DICTIONARY;

/// Names and their values.
pub(super) type Headers = Vec<(String, String)>;

/// The most bytes of a block once it is unpacked.
pub(super) const MOST_BLOCK: usize = 64 << 10;

/// The most headers in a block.
pub(super) const MOST_HEADERS: usize = 100;

/// Packs blocks.
#[derive(Debug)]
pub(super) struct Packer(Compress);

/// Unpacks blocks.
#[derive(Debug)]
pub(super) struct Unpacker {
    inflate: Decompress,
    begun: bool,
}

impl Packer {
    /// # Errors
    /// The compression does not take the dictionary.
    pub(super) fn new() -> io::Result<Self> {
        let mut deflate = Compress::new(Compression::fast(), true);
        deflate
            .set_dictionary(&DICTIONARY)
            .map_err(io::Error::other)?;
        Ok(Self(deflate))
    }

    pub(super) fn pack(&mut self, headers: &Headers) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        put(&mut plain, headers.len());
        for text in headers.iter().flat_map(|(name, value)| [name, value]) {
            put(&mut plain, text.len());
            plain.extend_from_slice(text.as_bytes());
        }
        let mut packed = Vec::new();
        let mut rest = plain.as_slice();
        loop {
            packed.reserve(plain.len() + MARGIN);
            let before = self.0.total_in();
            let packing = self.0.compress_vec(rest, &mut packed, FlushCompress::Sync);
            packing.map_err(io::Error::other)?;
            rest = &rest[taken(before, self.0.total_in())..];
            if rest.is_empty() && packed.len() < packed.capacity() {
                return Ok(packed);
            }
        }
    }
}

impl Unpacker {
    pub(super) fn new() -> Self {
        Self {
            inflate: Decompress::new(true),
            begun: false,
        }
    }

    /// # Errors
    /// The block is not one, or is too large.
    pub(super) fn unpack(&mut self, block: &[u8]) -> io::Result<Headers> {
        let plain = self.inflate(block)?;
        read(&plain).ok_or_else(|| invalid("a block of headers cannot be read"))
    }

    fn inflate(&mut self, mut rest: &[u8]) -> io::Result<Vec<u8>> {
        /// Two bytes of zlib, and the checksum of the dictionary.
        const PREFACE: usize = 6;
        let mut plain = Vec::new();
        if !self.begun {
            let preface = rest.get(..PREFACE);
            let preface = preface.ok_or_else(|| invalid("a block of headers is too short"))?;
            let asked = self
                .inflate
                .decompress_vec(preface, &mut plain, FlushDecompress::Sync);
            if !asked.is_err_and(|error| error.needs_dictionary().is_some()) {
                return Err(invalid("a block of headers has another dictionary"));
            }
            let set = self.inflate.set_dictionary(&DICTIONARY);
            set.map_err(|_| invalid("a block of headers has another dictionary"))?;
            self.begun = true;
            rest = &rest[PREFACE..];
        }
        loop {
            plain.reserve(MARGIN + 4 * rest.len().min(MOST_BLOCK));
            let before = (self.inflate.total_in(), plain.len());
            let unpacked = self
                .inflate
                .decompress_vec(rest, &mut plain, FlushDecompress::Sync);
            unpacked.map_err(|_| invalid("a block of headers is not compressed"))?;
            let taken = taken(before.0, self.inflate.total_in());
            rest = &rest[taken..];
            if plain.len() > MOST_BLOCK {
                return Err(invalid("a block of headers is too large"));
            }
            if rest.is_empty() && plain.len() < plain.capacity() {
                return Ok(plain);
            }
            if taken == 0 && plain.len() == before.1 {
                return Err(invalid("a block of headers has an end in it"));
            }
        }
    }
}

/// Room for what compression adds.
const MARGIN: usize = 64;

fn taken(before: u64, after: u64) -> usize {
    usize::try_from(after - before).unwrap_or(usize::MAX)
}

fn put(plain: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    plain.extend_from_slice(&length.to_be_bytes());
}

fn read(mut plain: &[u8]) -> Option<Headers> {
    let count = length(&mut plain).filter(|count| *count <= MOST_HEADERS)?;
    let mut headers = Vec::with_capacity(count);
    for _ in 0..count {
        headers.push((text(&mut plain)?, text(&mut plain)?));
    }
    plain.is_empty().then_some(headers)
}

fn length(plain: &mut &[u8]) -> Option<usize> {
    let (length, rest) = plain.split_first_chunk()?;
    *plain = rest;
    usize::try_from(u32::from_be_bytes(*length)).ok()
}

fn text(plain: &mut &[u8]) -> Option<String> {
    let length = length(plain)?;
    let (text, rest) = plain.split_at_checked(length)?;
    *plain = rest;
    String::from_utf8(text.to_vec()).ok()
}

pub(super) fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
