//! Quantities against the output of `resource.Quantity` of k8s.io/apimachinery v0.36.3 for the same strings.

use proptest::prelude::*;

use super::{WRONG_FORM, WRONG_NUMBER, WRONG_SUFFIX, canonical};

fn read(text: &str) -> Result<String, &'static str> {
    canonical(text).map(|new| new.unwrap_or_else(|| text.to_owned()))
}

#[test]
fn quantities_are_written_as_go_writes_them() {
    let cases = [
        ("0", "0"),
        ("1", "1"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1024Ki", "1Mi"),
        ("100m", "100m"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("1.500", "1.500"),
        ("2.0", "2"),
        ("1.0Gi", "1Gi"),
        ("0.1Gi", "107374182400m"),
        ("1.5Gi", "1536Mi"),
        ("100Ki", "100Ki"),
        ("8Ki", "8Ki"),
        ("1023", "1023"),
        ("1024", "1024"),
        ("01Ki", "01Ki"),
        ("+1", "+1"),
        ("+1Ki", "+1Ki"),
        ("-1", "-1"),
        ("-1.5", "-1500m"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("1e-3", "1e-3"),
        ("12e6", "12e6"),
        ("1000E", "1"),
        ("1000k", "1M"),
        ("1000000", "1M"),
        ("0.0001", "100u"),
        ("0.0000000001", "1n"),
        ("1n", "1n"),
        ("1u", "1u"),
        ("1000n", "1u"),
        ("1.Gi", "1.Gi"),
        (".5", "500m"),
        ("0Ki", "0"),
        ("00", "0"),
        ("0.0", "0"),
        ("-0", "0"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("9Ei", "9223372036854775807"),
        ("100Ei", "9223372036854775807"),
        ("5155682955069714614848Ei", "9223372036854775807"),
        (
            "-114825834876281033441000000.580001598792Ti",
            "-9223372036854775807",
        ),
        ("1234567890123456789012", "1234567890123456789012"),
        ("0.5Ki", "512"),
        ("512Ki", "512Ki"),
        ("1536Mi", "1536Mi"),
        ("2048Mi", "2Gi"),
        (" 1 ", "1"),
        ("1.2345678901", "1234567891n"),
        ("5Mi", "5Mi"),
        ("16Gi", "16Gi"),
        ("0.001Ki", "1024m"),
        ("1.1Ki", "1126400m"),
        ("10000000000000000000000m", "10E"),
        ("1023.5Ki", "1048064"),
        ("123456789012345678", "123456789012345678"),
        ("1234567890123456789", "1234567890123456789"),
        ("0.123456789", "123456789n"),
        ("999999999999999999999999n", "999999999999999999999999n"),
        ("100000000000000000000n", "100G"),
        ("-5Gi", "-5Gi"),
        ("-0.5Gi", "-512Mi"),
        ("1e19", "10e18"),
        ("1E", "1E"),
        ("12E", "12E"),
        ("e3", "0"),
        (".", "0"),
        ("+", "0"),
        ("-.", "0"),
        ("Ki", "0"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).as_deref(), Ok(expected), "{text:?}");
    }
}

#[test]
fn what_is_no_quantity_is_refused_in_the_words_of_go() {
    let cases = [
        ("1e", WRONG_SUFFIX),
        ("-Pi", WRONG_NUMBER),
        (".Ei", WRONG_NUMBER),
        ("", WRONG_FORM),
        ("a", WRONG_FORM),
        ("1a", WRONG_FORM),
        ("1i", WRONG_SUFFIX),
        ("1Mx", WRONG_FORM),
        ("1 Gi", WRONG_FORM),
        ("--1", WRONG_SUFFIX),
        ("1-", WRONG_SUFFIX),
        ("1+3", WRONG_SUFFIX),
        ("1e3e", WRONG_FORM),
        ("1.2.3", WRONG_FORM),
        ("1ki", WRONG_SUFFIX),
        ("1KI", WRONG_FORM),
        ("1eG", WRONG_SUFFIX),
        ("1mm", WRONG_SUFFIX),
        ("ab12", WRONG_FORM),
        ("true", WRONG_FORM),
        ("{}", WRONG_FORM),
        ("1e99999999999999999999", WRONG_SUFFIX),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text), Err(expected), "{text:?}");
    }
}

#[test]
fn numbers_without_measure_are_kept() {
    let long = "1".repeat(38) + "5E";
    let longer = "9".repeat(1000);
    for text in [
        "10e2147483647",
        "10e-2147483647",
        "-10E1001",
        &long,
        &longer,
    ] {
        assert_eq!(read(text).as_deref(), Ok(text));
    }
    let largest = "9".repeat(36) + "m";
    assert_eq!(read(&largest).as_deref(), Ok(&*largest));
}

proptest! {
    #[test]
    fn any_digits_and_suffix_are_read(text in "[-+]?[0-9]{0,45}(\\.[0-9]{0,45})?([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{1,12})?") {
        let _ = canonical(&text);
    }

    #[test]
    fn a_canonical_text_stays(text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,12})?([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{1,2})?") {
        if let Ok(once) = read(&text) {
            prop_assert_eq!(read(&once).unwrap(), once);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        let _ = canonical(&text);
    }
}
