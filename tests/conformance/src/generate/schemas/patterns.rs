//! Regular expressions for strings.

/// Patterns, each with a string that matches and one that does not.
pub(super) const PATTERNS: [(&str, &str, &str); 14] = [
    ("^a+$", "aaa", "b"),
    ("b", "abc", "ac"),
    ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-1", "-a"),
    (r"^\d{2,4}$", "123", "12345"),
    (r"^\S+$", "x", "a b"),
    ("^(a|b)*$", "abab", "abc"),
    ("^[^/]+$", "a", "a/b"),
    ("(?i)^abc$", "ABC", "abd"),
    (r"^\p{L}+$", "äöü", "1"),
    (r"^\p{Greek}$", "α", "a"),
    (r"^[[:alpha:]]+$", "abc", "a1"),
    (r"\bfoo\b", "a foo", "afoo"),
    (r"^\x61\x{62}$", "ab", "aa"),
    ("^.{2}$", "äö", "a"),
];
