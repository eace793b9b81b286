//! Paths in the status of a policy: what a real API server said of each.

use super::*;

#[test]
fn a_path_is_read_as_client_go_reads_it() {
    for (path, expected) in [
        (".", None),
        ("$.spec", None),
        ("@.spec.validations[1]", None),
        ("spec.validations[1:3:2].expression", None),
        ("spec[*].*", None),
        ("spec[-1:]", None),
        ("..expression", None),
        ("....a", Some("invalid multiple recursive descent")),
        ("..[0]", None),
        ("..$..a", Some("invalid multiple recursive descent")),
        ("spec[0,1, 2]", None),
        ("spec['a','b']", None),
        ("spec[0,x]", Some("invalid array index x")),
        ("spec['a.b']", None),
        ("spec['']", None),
        ("spec['a}b']", None),
        (r#"spec["a"]"#, Some(r#"invalid array index "a""#)),
        ("spec['a[0']", Some("unterminated array")),
        ("spec[x]", Some("invalid array index x")),
        ("spec[]", None),
        ("spec[1:2:3:4]", Some("invalid array index 1:2:3:4")),
        ("spec[-]", Some("array index - is not a number")),
        ("spec[1:-]", Some("array index - is not a number")),
        (
            "spec[99999999999999999999]",
            Some("array index 99999999999999999999 is not a number"),
        ),
        ("spec[0", Some("unterminated array")),
        ("spec[0\n]", Some("unterminated array")),
        ("spec[?(@.a=='b')].c", None),
        ("spec[?(@.a)]", None),
        ("spec[?('a)'=='b')]", None),
        ("spec[?(@.a", Some("unterminated filter")),
        ("spec[?(@.a)", Some("unclosed array expect ]")),
        (
            "spec[?(@.a==)]",
            Some("unrecognized character in action: U+003D '='"),
        ),
        ("spec[?(@.a=)]", None),
        (
            "spec[?(==1)]",
            Some("unrecognized character in action: U+003D '='"),
        ),
        ("spec[?(a^=1)]", None),
        (
            "spec[?(@.a==^)]",
            Some("unrecognized character in action: U+005E '^'"),
        ),
        ("spec[?()]", None),
        ("spec[?(@.a[?(@.b)])]", Some("unterminated filter")),
        ("'a'", None),
        (r#""a""#, None),
        ("'a", Some("unterminated quoted string")),
        (r"'a\n'", None),
        (r"'a\z'", Some(r"unquote string 'a\z' error invalid syntax")),
        (r"'a\'b'", None),
        (
            r#"'a\"b'"#,
            Some(r#"unquote string 'a\"b' error invalid syntax"#),
        ),
        (r"'\x41\u00e4\101\U0001F600'", None),
        (
            r"'\400'",
            Some(r"unquote string '\400' error invalid syntax"),
        ),
        (r"'\x4'", Some(r"unquote string '\x4' error invalid syntax")),
        (
            r"'\ud800'",
            Some(r"unquote string '\ud800' error invalid syntax"),
        ),
        ("1.5", None),
        ("-5", None),
        ("1.2.3", Some("cannot parse number 1.2.3")),
        ("+", Some("cannot parse number +")),
        ("+-1", Some("cannot parse number +")),
        ("true", None),
        ("range .a .b", None),
        ("spec^", None),
        ("ä.ß", None),
        ("→", Some("unrecognized character in action: U+2192 '→'")),
        (
            "a.b \u{1}",
            Some("unrecognized character in action: U+0001"),
        ),
        (r"spec.a\.b\", Some("unclosed action")),
        ("spec\n.a", Some("unclosed action")),
        ("spec}", None),
        (
            "spec} and {^",
            Some("unrecognized character in action: U+005E '^'"),
        ),
        (
            "{spec}",
            Some("unrecognized character in action: U+007B '{'"),
        ),
        (
            "a | b",
            Some("unrecognized character in action: U+007C '|'"),
        ),
        ("a(b)", None),
        ("a,b", Some("unrecognized character in action: U+002C ','")),
    ] {
        let problem = check(&format!("{{{path}}}")).err();
        assert_eq!(problem.as_deref(), expected, "{path}");
    }
}
