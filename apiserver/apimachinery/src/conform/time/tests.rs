//! Times against the output of k8s.io/apimachinery v0.36.3 for the same strings.

use super::{Canonical, Precision, canonical};

/// A string, and what Go writes for it (none for null) or Go's error.
type Case = (&'static str, Result<Option<&'static str>, &'static str>);

fn check(precision: Precision, cases: &[Case]) {
    for (text, expected) in cases {
        let found = canonical(text, precision).map(|canonical| match canonical {
            Canonical::Already => Some((*text).to_owned()),
            Canonical::Text(text) => Some(text),
            Canonical::Zero => None,
        });
        let found = found.as_ref().map(Option::as_deref).map_err(String::as_str);
        assert_eq!(found, *expected, "{text:?}");
    }
}

#[test]
fn times_become_what_go_writes() {
    check(
        Precision::Seconds,
        &[
            ("2024-01-02T03:04:05Z", Ok(Some("2024-01-02T03:04:05Z"))),
            ("2024-01-02T03:04:05.999Z", Ok(Some("2024-01-02T03:04:05Z"))),
            (
                "2024-01-02T03:04:05+02:00",
                Ok(Some("2024-01-02T01:04:05Z")),
            ),
            (
                "2024-01-02T03:04:05.123456-05:30",
                Ok(Some("2024-01-02T08:34:05Z")),
            ),
            ("0001-01-01T00:00:00Z", Ok(None)),
            (
                "abc",
                Err(
                    r#"parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006""#,
                ),
            ),
            (
                "",
                Err(r#"parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#),
            ),
            (
                "2024",
                Err(
                    r#"parsing time "2024" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "-""#,
                ),
            ),
            (
                "2024-13-01T00:00:00Z",
                Err(r#"parsing time "2024-13-01T00:00:00Z": month out of range"#),
            ),
            (
                "2024-02-30T00:00:00Z",
                Err(r#"parsing time "2024-02-30T00:00:00Z": day out of range"#),
            ),
            (
                "2024-01-02",
                Err(
                    r#"parsing time "2024-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#,
                ),
            ),
            (
                "2024-01-02T25:00:00Z",
                Err(r#"parsing time "2024-01-02T25:00:00Z": hour out of range"#),
            ),
            (
                "2024-01-02T03:60:00Z",
                Err(r#"parsing time "2024-01-02T03:60:00Z": minute out of range"#),
            ),
            (
                "2024-01-02T03:04:61Z",
                Err(r#"parsing time "2024-01-02T03:04:61Z": second out of range"#),
            ),
            (
                "2024-01-02T03:04:05",
                Err(
                    r#"parsing time "2024-01-02T03:04:05" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
                ),
            ),
            (
                "2024-01-02T03:04:05Zx",
                Err(r#"parsing time "2024-01-02T03:04:05Zx": extra text: "x""#),
            ),
            (
                "2024-01-02 03:04:05Z",
                Err(
                    r#"parsing time "2024-01-02 03:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse " 03:04:05Z" as "T""#,
                ),
            ),
            (
                "2024-1-2T03:04:05Z",
                Err(
                    r#"parsing time "2024-1-2T03:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse "1-2T03:04:05Z" as "01""#,
                ),
            ),
            (
                "2024-01-02T03:04:05.Z",
                Err(
                    r#"parsing time "2024-01-02T03:04:05.Z" as "2006-01-02T15:04:05Z07:00": cannot parse ".Z" as "Z07:00""#,
                ),
            ),
            ("2024-01-02T03:04:05,5Z", Ok(Some("2024-01-02T03:04:05Z"))),
            (
                "2024-01-02T03:04:05+25:00",
                Err(
                    r#"parsing time "2024-01-02T03:04:05+25:00": time zone offset hour out of range"#,
                ),
            ),
            (
                "2024-01-02T03:04:05+2:00",
                Err(
                    r#"parsing time "2024-01-02T03:04:05+2:00" as "2006-01-02T15:04:05Z07:00": cannot parse "+2:00" as "Z07:00""#,
                ),
            ),
            ("2024-01-02T3:04:05Z", Ok(Some("2024-01-02T03:04:05Z"))),
            (
                "2024-01-02T03:04:05+0200",
                Err(
                    r#"parsing time "2024-01-02T03:04:05+0200" as "2006-01-02T15:04:05Z07:00": cannot parse "+0200" as "Z07:00""#,
                ),
            ),
            (
                "2024-00-10T03:04:05Z",
                Err(r#"parsing time "2024-00-10T03:04:05Z": month out of range"#),
            ),
            (
                "2024-01-00T03:04:05Z",
                Err(r#"parsing time "2024-01-00T03:04:05Z": day out of range"#),
            ),
            (
                "2024-01-02T03:04:05+00:61",
                Err(
                    r#"parsing time "2024-01-02T03:04:05+00:61": time zone offset minute out of range"#,
                ),
            ),
            (
                "ä",
                Err(
                    r#"parsing time "\xc3\xa4" as "2006-01-02T15:04:05Z07:00": cannot parse "\xc3\xa4" as "2006""#,
                ),
            ),
        ],
    );
}

#[test]
fn times_with_microseconds_become_what_go_writes() {
    check(
        Precision::Micros,
        &[
            (
                "2024-01-02T03:04:05.123456Z",
                Ok(Some("2024-01-02T03:04:05.123456Z")),
            ),
            (
                "2024-01-02T03:04:05Z",
                Err(
                    r#"parsing time "2024-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#,
                ),
            ),
            (
                "2024-01-02T03:04:05.1234567Z",
                Err(
                    r#"parsing time "2024-01-02T03:04:05.1234567Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "7Z" as "Z07:00""#,
                ),
            ),
            (
                "2024-01-02T03:04:05.12Z",
                Err(
                    r#"parsing time "2024-01-02T03:04:05.12Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".12Z" as ".000000""#,
                ),
            ),
            (
                "2024-01-02T03:04:05.123456+02:00",
                Ok(Some("2024-01-02T01:04:05.123456Z")),
            ),
            ("0001-01-01T00:00:00.000000Z", Ok(None)),
            (
                "abc",
                Err(
                    r#"parsing time "abc" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "abc" as "2006""#,
                ),
            ),
            (
                "2024-01-02T03:04:05.000000Z",
                Ok(Some("2024-01-02T03:04:05.000000Z")),
            ),
        ],
    );
}

#[test]
fn a_time_that_overflows_is_left_alone() {
    check(
        Precision::Seconds,
        &[(
            "9999-12-31T23:59:59-01:00",
            Ok(Some("9999-12-31T23:59:59-01:00")),
        )],
    );
}
