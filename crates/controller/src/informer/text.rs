//! The JSON of an object as a cache holds it: compressed where that saves memory.
//!
//! The objects of a kind are much alike: the pods of one Deployment differ in a name and an address. The dictionary of the
//! compression is the JSON of a few earlier objects, the samples, so that a cached object takes little more memory than
//! its differences.

use std::borrow::Cow;
use std::sync::Arc;

use lz4_flex::block::{compress_with_dict, decompress_with_dict};

/// Shorter JSON is not compressed: that would save little, and uncompressed JSON is read at no cost.
const SHORT: usize = 1024;
/// The maximum total length of a cache's samples: it bounds what one object can refer to, and the cost of compressing it.
const SAMPLES: usize = 32 * 1024;
/// An object that compresses to more than 1/`LIKE` of its length becomes a sample: JSON unlike any sample leaves a third.
const LIKE: usize = 8;

/// The JSON of one object in a cache.
pub(crate) enum Text {
    Plain(Box<str>),
    Packed {
        bytes: Box<[u8]>,
        length: usize,
        samples: Arc<[u8]>,
    },
}

/// Compresses the JSON of one cache's objects.
#[derive(Default)]
pub(crate) struct Packer {
    samples: Arc<[u8]>,
}

impl Packer {
    /// Compresses the JSON of an object with the samples as dictionary, if that saves memory.
    pub(crate) fn pack(&mut self, text: Box<str>) -> Text {
        if text.len() < SHORT {
            return Text::Plain(text);
        }
        let mut bytes = compress_with_dict(text.as_bytes(), &self.samples);
        let has_room = self.samples.len() + text.len() <= SAMPLES;
        if bytes.len() > text.len() / LIKE && has_room {
            self.samples = [&*self.samples, text.as_bytes()].concat().into();
            // Similar objects will refer to this sample, and so can the object itself.
            bytes = compress_with_dict(text.as_bytes(), &self.samples);
        }
        if bytes.len() >= text.len() {
            return Text::Plain(text);
        }
        Text::Packed {
            bytes: bytes.into(),
            length: text.len(),
            samples: Arc::clone(&self.samples),
        }
    }
}

impl Text {
    /// Whether there is nothing to be saved by packing it.
    pub(crate) fn is_packed(&self) -> bool {
        match self {
            Self::Plain(text) => text.len() < SHORT,
            Self::Packed { .. } => true,
        }
    }

    /// The bytes that it takes besides the samples, which all share.
    pub(crate) fn room(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Packed { bytes, .. } => bytes.len(),
        }
    }

    /// The original JSON.
    pub(crate) fn read(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Packed {
                bytes,
                length,
                samples,
            } => {
                let text = decompress_with_dict(bytes, *length, samples);
                // What `pack` compressed can be decompressed. If not, readers get an empty string, which is no object.
                let text = text.ok().and_then(|text| String::from_utf8(text).ok());
                Cow::Owned(text.unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn room(text: &Text) -> usize {
        text.room()
    }

    /// An object of a kind: much is shared, some is its own.
    fn pod(kind: &str, number: usize) -> Box<str> {
        let lines = (0..200).map(|line| format!("{kind}-{line}: {:x};", line * 7919 + kind.len()));
        let shared = lines.collect::<Vec<_>>().concat();
        format!("{{\"name\":\"{kind}-{number}\",\"text\":\"{shared}\"}}").into()
    }

    #[test]
    fn what_is_alike_takes_little_room_whatever_kinds_there_are() {
        let mut packer = Packer::default();
        let kinds = ["checkout", "search", "mail"];
        for kind in kinds {
            packer.pack(pod(kind, 0));
        }
        for number in 1..50 {
            for kind in kinds {
                let text = pod(kind, number);
                let packed = packer.pack(text.clone());
                assert!(room(&packed) * 10 < text.len(), "{kind} {}", room(&packed));
                assert_eq!(packed.read(), &*text);
            }
        }
    }

    #[test]
    fn what_is_like_itself_is_packed_against_its_like_all_the_same() {
        let text = |number: usize| -> Box<str> {
            let variables = (0..40).map(|line| {
                serde_json::json!({"name": format!("SETTING_{line}"), "value": format!("value-{line}.svc.cluster.local")})
            });
            serde_json::json!({"name": format!("pod-{number}"), "env": variables.collect::<Vec<_>>()})
                .to_string()
                .into()
        };
        let mut packer = Packer::default();
        let alone = room(&packer.pack(text(0)));
        let with_its_like = room(&packer.pack(text(1)));
        assert!(
            with_its_like * 20 < text(1).len(),
            "{alone} {with_its_like}"
        );
    }

    #[test]
    fn the_samples_of_a_cache_have_an_end() {
        let mut packer = Packer::default();
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String = (0..2_000).map(|_| random.alphanumeric()).collect();
            let packed = packer.pack(text.clone().into());
            assert_eq!(packed.read(), text);
            assert!(room(&packed) <= text.len());
        }
        assert!(packer.samples.len() <= SAMPLES);
    }

    #[test]
    fn a_short_text_is_held_as_it_is() {
        let packed = Packer::default().pack("a".repeat(SHORT - 1).into());
        assert!(matches!(packed, Text::Plain(_)));
        let packed = Packer::default().pack("a".repeat(SHORT).into());
        assert!(matches!(packed, Text::Packed { .. }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn every_text_is_read_as_it_was(
            documents in prop::collection::vec("[a-c]{0,300}\\PC{0,40}", 1..8),
            times in 1_usize..20,
        ) {
            let mut packer = Packer::default();
            let documents: Vec<Box<str>> = documents.iter().map(|text| text.repeat(times).into()).collect();
            let packed: Vec<Text> = documents.iter().map(|text| packer.pack(text.clone())).collect();
            for (text, packed) in documents.iter().zip(&packed) {
                prop_assert_eq!(&*packed.read(), &**text);
            }
        }
    }
}
