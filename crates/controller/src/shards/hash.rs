//! Which shard an object is in.

use crate::Key;

/// The shard of an object, by its namespace and name: what a trigger or an owner reference names, and the same for an object that is
/// created anew.
///
/// Replicas of different versions of a program, and of this crate, have to agree: this function never changes.
pub(crate) fn shard_of(key: &Key, count: usize) -> usize {
    // FNV-1a, which needs no key and is spelled out in one line, and the last step of MurmurHash3, for the low bits.
    let text = [key.namespace().unwrap_or_default(), "\0", key.name()];
    let bytes = text.iter().flat_map(|part| part.bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 33;
    usize::try_from(hash % count.max(1) as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_in_the_same_shard_for_every_version() {
        // Computed by another program.
        for (namespace, name, count, shard) in [
            (None, "node-1", 4, 3),
            (Some("default"), "web", 4, 2),
            (Some("default"), "web", 5, 4),
            (Some("blue"), "web", 1_000, 260),
            (Some("red"), "web", 1_000, 663),
            (Some("blue"), "grüße", 65_535, 29_365),
        ] {
            assert_eq!(
                shard_of(&Key::new(namespace, name), count),
                shard,
                "{namespace:?} {name}"
            );
        }
    }

    #[test]
    fn objects_spread_evenly_over_shards() {
        for count in [2, 3, 8, 100] {
            let mut sizes = vec![0_u32; count];
            for number in 0..1_000 * count {
                let key = Key::new(Some("blue"), &format!("web-{number}"));
                sizes[shard_of(&key, count)] += 1;
            }
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(*least > 800 && *most < 1_200, "{count}: {least} to {most}");
        }
    }
}
