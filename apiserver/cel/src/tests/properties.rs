//! Laws: nothing panics, and every evaluation ends.

use proptest::prelude::*;

use super::{environment, evaluate};

/// Pieces that make expressions which are often nearly right.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "object",
        "name",
        "numbers",
        ".",
        "spec",
        "x",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "?",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        "&&",
        "||",
        " in ",
        "1",
        "0",
        "1u",
        "1.5",
        "'a'",
        "b'a'",
        "\"",
        "\\",
        "r'",
        "true",
        "null",
        "has(",
        ".all(x, ",
        ".map(x, ",
        ".exists(i, x, ",
        ".filter(x, ",
        ".optMap(x, ",
        ".?",
        "[?",
        "size(",
        "duration('1s')",
        ".format([",
        ".matches(",
        "'%s'",
        "quantity('1')",
        "optional.of(",
        "dyn(",
        "string(",
        "//",
        "\n",
        "é",
        "`a-b`",
        ".sortBy(x, ",
        ".transformMap(k, v, ",
        "lists.range(",
        "type(",
        "@",
        "$",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_compiled_or_refused(text in "\\PC{0,80}") {
        let _ = environment().compile(&text);
    }

    #[test]
    fn near_expressions_are_compiled_or_refused_and_end_within_their_budget(text in pieces()) {
        let (_, cost) = evaluate(&text);
        prop_assert!(cost <= 2_500_000);
    }

    #[test]
    fn sums_are_those_of_integers(left: i64, right: i64) {
        let expected = left.checked_add(right).map_or(Err("integer overflow".to_owned()), |sum| Ok(sum.to_string()));
        prop_assert_eq!(evaluate(&format!("({left}) + ({right})")).0, expected);
    }

    #[test]
    fn a_duration_reads_back_as_it_is_written(nanoseconds: i64) {
        let text = format!("duration(string(duration('{nanoseconds}ns'))) == duration('{nanoseconds}ns')");
        prop_assert_eq!(evaluate(&text).0, Ok("true".to_owned()));
    }

    #[test]
    fn a_timestamp_reads_back_as_it_is_written(seconds in -62_135_596_800_i64..253_402_300_799) {
        let text = format!("timestamp(string(timestamp({seconds}))) == timestamp({seconds})");
        prop_assert_eq!(evaluate(&text).0, Ok("true".to_owned()));
    }

    #[test]
    fn a_quoted_text_is_read_as_it_was(text in "[a-zA-Z0-9 äß\\\\\"'\\n\\t]{0,20}") {
        let escaped = text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n").replace('\t', "\\t");
        prop_assert_eq!(evaluate(&format!("'{escaped}'")).0, Ok(text));
    }
}
