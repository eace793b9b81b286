//! Hashes in the names of sets and revisions, in letters that spell no words.

use serde_json::Value;

/// The hash of a pod template; another one for each collision.
pub(super) fn template_hash(template: &Value, collisions: i64) -> String {
    let mut text = template.to_string();
    if collisions > 0 {
        text.push_str(&collisions.to_string());
    }
    encoded(fnv1a(text.as_bytes()))
}

/// The hash of what a revision keeps; another one for each collision.
pub(super) fn revision_hash(data: &Value, collisions: i64) -> String {
    encoded(fnv1a(format!("{data}{collisions}").as_bytes()))
}

fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// The digits of a number, each as a letter or a digit that cannot be part of a word.
fn encoded(hash: u32) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    hash.to_string()
        .bytes()
        .map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()]))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_that_of_fnv_1a() {
        assert_eq!(fnv1a(b""), 0x811c_9dc5);
        assert_eq!(fnv1a(b"a"), 0xe40c_292c);
        assert_eq!(fnv1a(b"foobar"), 0xbf9c_f968);
    }

    #[test]
    fn a_collision_changes_the_hash_and_nothing_else_does() {
        let template = json!({"spec": {"containers": []}});
        assert_eq!(template_hash(&template, 0), template_hash(&template, 0));
        assert_ne!(template_hash(&template, 0), template_hash(&template, 1));
    }
}
