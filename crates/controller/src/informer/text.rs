//! The text of an object as a cache holds it: packed, where that saves room.
//!
//! The objects of a kind are much alike: the pods of one Deployment differ in a name and an address. Each text is packed
//! against a few that were seen before, the samples, so that a cached object takes little more than what is its own.

use std::borrow::Cow;
use std::sync::Arc;

use lz4_flex::block::{compress_with_dict, decompress_with_dict};

/// Shorter texts are held as they are: there is little to save, and they are read at no cost.
const SHORT: usize = 1024;
/// How long the samples of a cache may be together: what one object can refer to, and what it costs to pack against them.
const SAMPLES: usize = 32 * 1024;
/// An object of which more than this part is left becomes a sample: JSON that is like nothing but itself leaves a third.
const LIKE: usize = 8;

/// A text that is held.
pub(crate) enum Text {
    Plain(Box<str>),
    Packed {
        bytes: Box<[u8]>,
        length: usize,
        samples: Arc<[u8]>,
    },
}

/// Packs the texts of one cache.
#[derive(Default)]
pub(crate) struct Packer {
    samples: Arc<[u8]>,
}

impl Packer {
    /// Packs a text against those that were seen before, if that saves anything.
    pub(crate) fn pack(&mut self, text: Box<str>) -> Text {
        if text.len() < SHORT {
            return Text::Plain(text);
        }
        let mut bytes = compress_with_dict(text.as_bytes(), &self.samples);
        let has_room = self.samples.len() + text.len() <= SAMPLES;
        if bytes.len() > text.len() / LIKE && has_room {
            self.samples = [&*self.samples, text.as_bytes()].concat().into();
            // Its like will refer to it, and so can it, to itself.
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
    /// The text as it was.
    pub(crate) fn read(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Packed {
                bytes,
                length,
                samples,
            } => {
                let text = decompress_with_dict(bytes, *length, samples);
                // What was packed here can be read. If it could not, an empty text would be no object to any reader.
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
        match text {
            Text::Plain(text) => text.len(),
            Text::Packed { bytes, .. } => bytes.len(),
        }
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
            texts in prop::collection::vec("[a-c]{0,300}\\PC{0,40}", 1..8),
            times in 1_usize..20,
        ) {
            let mut packer = Packer::default();
            let texts: Vec<Box<str>> = texts.iter().map(|text| text.repeat(times).into()).collect();
            let packed: Vec<Text> = texts.iter().map(|text| packer.pack(text.clone())).collect();
            for (text, packed) in texts.iter().zip(&packed) {
                prop_assert_eq!(&*packed.read(), &**text);
            }
        }
    }
}
