//! Patterns are read as Go's `regexp/syntax` reads them.

use crate::Pattern;

fn refusal(text: &str) -> String {
    match Pattern::compile(text) {
        Ok(_) => format!("`{text}` is accepted"),
        Err(reason) => reason.to_string(),
    }
}

#[test]
fn what_go_compiles_is_compiled() {
    for text in [
        "(?)a",
        "a(?i)*",
        "(?ii)a",
        "^*",
        "\\b+",
        "(a{10}){100}",
        "a{,2}",
        "a{02}",
        "[]a]",
        "\\12",
        "(?P<n>a)(?P<n>b)",
        "(?<n>a)",
        "\\_",
        "\\p{L}",
        "\\P{L}",
        "\\pN",
        "\\p{^L}",
        "\\p{Greek}",
        "\\p{greek}",
        "\\p{ l }",
        "\\p{Uppercase_Letter}",
        "\\p{Any}\\p{Assigned}\\p{ASCII}\\p{LC}\\p{Cs}\\p{digit}",
        "[\\pL-z]",
        "\\x{10FFFF}",
        "\\x{D800}",
        "[\\x{D800}-\\x{DFFF}]",
        "\\Qa",
        "[--a]",
        "[a-b-c]",
        "[+--]",
        "\\z*",
        "x{2}{",
        "x{2",
        "\\Q**\\E+",
        "a\\Q\\E*",
        "[[:^alpha:]]",
        "^[\\p{L}\\p{N}]{1,63}$",
        "^\\p{L}{0,253}$",
    ] {
        assert_eq!(Pattern::compile(text).map(|_| ()), Ok(()), "{text}");
    }
}

#[test]
fn what_go_refuses_is_refused_with_its_words() {
    for (text, reason, at) in [
        ("a|*", "missing argument to repetition operator", "*"),
        ("(a{100}){100}", "invalid repeat count", "{100}"),
        ("x{1001}", "invalid repeat count", "{1001}"),
        ("x{2,1}", "invalid repeat count", "{2,1}"),
        ("x{99999999999}", "invalid repeat count", "{99999999999}"),
        ("[[:foo:]]", "invalid character class range", "[:foo:]"),
        ("[a-\\d]", "invalid escape sequence", "\\d"),
        ("[z-a]", "invalid character class range", "z-a"),
        ("[]", "missing closing ]", "[]"),
        ("[^]", "missing closing ]", "[^]"),
        ("[a-", "missing closing ]", "[a-"),
        ("\\8", "invalid escape sequence", "\\8"),
        ("\\1", "invalid escape sequence", "\\1"),
        ("\\x{110000}", "invalid escape sequence", "\\x{110000"),
        ("\\x{}", "invalid escape sequence", "\\x{}"),
        ("\\xg", "invalid escape sequence", "\\xg"),
        ("\\x", "invalid escape sequence", "\\x"),
        ("\\x4", "invalid escape sequence", "\\x4"),
        ("\\C", "invalid escape sequence", "\\C"),
        ("\\é", "invalid escape sequence", "\\é"),
        ("[\\Q]\\E]", "invalid escape sequence", "\\Q"),
        ("[\\b]", "invalid escape sequence", "\\b"),
        ("\\pX", "invalid character class range", "\\pX"),
        ("\\p{Foo}", "invalid character class range", "\\p{Foo}"),
        ("\\p{Grek}", "invalid character class range", "\\p{Grek}"),
        (
            "\\p{Old_Italic}",
            "invalid character class range",
            "\\p{Old_Italic}",
        ),
        ("\\p{L", "invalid character class range", "\\p{L"),
        ("\\p", "invalid character class range", "\\p"),
        ("\\p{}", "invalid character class range", "\\p{}"),
        ("(?P<n-a>a)", "invalid named capture", "(?P<n-a>"),
        ("(?P<n", "invalid named capture", "(?P<n"),
        ("(?<>a)", "invalid named capture", "(?<>"),
        ("(?P=n)", "invalid or unsupported Perl syntax", "(?P"),
        ("(?=a)", "invalid or unsupported Perl syntax", "(?="),
        ("(?i-)a", "invalid or unsupported Perl syntax", "(?i-)"),
        ("(?-i-s)a", "invalid or unsupported Perl syntax", "(?-i-"),
        ("(?", "invalid or unsupported Perl syntax", "(?"),
        ("(?i", "invalid or unsupported Perl syntax", "(?i"),
        ("(", "missing closing )", "("),
        (")", "unexpected )", ")"),
        ("a**", "invalid nested repetition operator", "**"),
        ("a{2}{3}", "invalid nested repetition operator", "{2}{3}"),
        ("a*{3}?", "invalid nested repetition operator", "*{3}?"),
        ("**", "missing argument to repetition operator", "*"),
        ("{2}", "missing argument to repetition operator", "{2}"),
        ("(?i){2}", "missing argument to repetition operator", "{2}"),
        ("\\Q\\E*", "missing argument to repetition operator", "*"),
        ("\\", "trailing backslash at end of expression", ""),
        ("[\\", "trailing backslash at end of expression", ""),
        ("a\\", "trailing backslash at end of expression", ""),
    ] {
        let expected = format!("error parsing regexp: {reason}: `{at}`");
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn patterns_match_what_they_match_in_go() {
    for (text, matched, other) in [
        ("^\\p{L}+$", "äßЖ", "ä1"),
        ("^\\P{L}+$", "12", "a"),
        ("^\\p{Greek}$", "λ", "l"),
        ("^[\\p{Lu}0-9]+$", "Ä1", "ä"),
        ("^[^\\p{L}]$", "1", "a"),
        ("^\\x{1F600}$", "😀", "😁"),
        ("^(?P<n>a)(?P<n>b)$", "ab", "a"),
        ("^(?i)ab$", "AB", "AC"),
        ("^((?i)a)b$", "Ab", "AB"),
        ("^(?i:a)b$", "Ab", "AB"),
        ("^a(?i)*$", "aa", "AA"),
        ("^[a\\x{D800}-\\x{DFFF}]$", "a", "b"),
        ("^[]a]+$", "]a", "b"),
        ("^[+--]+$", "+,-", "."),
        ("^\\Q**\\E+$", "***", "*"),
        ("^a{02}$", "a{02}", "aa"),
        ("^\\012$", "\n", "0"),
    ] {
        let pattern = Pattern::compile(text).expect("Go compiles it");
        assert!(pattern.is_match(matched), "{text} matches {matched}");
        assert!(!pattern.is_match(other), "{text} does not match {other}");
    }
}
