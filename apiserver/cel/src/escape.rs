//! How expressions name fields whose names are no identifiers: `__dot__` for a dot, `__namespace__` for a word of the language.

use crate::parser::RESERVED;

const ESCAPES: [(&str, &str); 4] = [
    ("__", "__underscores__"),
    (".", "__dot__"),
    ("-", "__dash__"),
    ("/", "__slash__"),
];

/// The identifier by which expressions select a field; none for a name that they cannot write.
///
/// ```
/// assert_eq!(kubewright_cel::escape("x-prop").as_deref(), Some("x__dash__prop"));
/// assert_eq!(kubewright_cel::escape("namespace").as_deref(), Some("__namespace__"));
/// assert_eq!(kubewright_cel::escape("1st"), None);
/// ```
pub fn escape(name: &str) -> Option<String> {
    let first = name.bytes().next()?;
    if first.is_ascii_digit() {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if let Some((plain, escaped)) = ESCAPES.iter().find(|(plain, _)| rest.starts_with(plain)) {
            out.push_str(escaped);
            rest = &rest[plain.len()..];
        } else if character.is_ascii_alphanumeric() || character == '_' {
            out.push(character);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    Some(out)
}

/// The name of the field that an identifier stands for; none for one that escapes nothing known.
pub(crate) fn unescape(identifier: &str) -> Option<String> {
    let mut out = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(at) = rest.find("__") {
        let (before, after) = rest.split_at(at);
        let inner = &after[2..];
        // As a pattern would: underscores, then letters, then underscores.
        let end = inner.find('_');
        match end {
            Some(end) if end > 0 && inner[end..].starts_with("__") => {
                out.push_str(before);
                let word = &inner[..end];
                let escaped = &after[..end + 4];
                if let Some((plain, _)) = ESCAPES.iter().find(|(_, known)| *known == escaped) {
                    out.push_str(plain);
                } else if RESERVED.contains(&word) && escaped.len() == identifier.len() {
                    out.push_str(word);
                } else {
                    return None;
                }
                rest = &inner[end + 2..];
            }
            _ => {
                out.push_str(before);
                out.push('_');
                rest = &after[1..];
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_identifiers_are_written_with_words() {
        for (name, escaped) in [
            ("plain", "plain"),
            ("namespace", "__namespace__"),
            ("a.b", "a__dot__b"),
            ("a-b/c", "a__dash__b__slash__c"),
            ("a__b", "a__underscores__b"),
            ("_a_", "_a_"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(escaped), "{name}");
            assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
        }
        for name in ["", "1a", "a b", "ä"] {
            assert_eq!(escape(name), None, "{name}");
        }
        assert_eq!(unescape("a__wrong__b"), None);
    }
}
