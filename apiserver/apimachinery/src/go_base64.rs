//! Base64 as Go reads and writes it: line ends are skipped, padding is needed, bits behind the end do not matter.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The bytes that Go reads from a text.
///
/// ```
/// use kubewright_apimachinery::go_base64::decode;
///
/// assert_eq!(decode("W10\n="), Ok(b"[]".to_vec()));
/// assert_eq!(decode("?"), Err("illegal base64 data at input byte 0".to_owned()));
/// ```
///
/// # Errors
/// The words of Go.
pub fn decode(text: &str) -> Result<Vec<u8>, String> {
    match first_error(text.as_bytes()) {
        Some(at) => Err(illegal(at)),
        None => Ok(decode_checked(text)),
    }
}

/// What Go says of a text with an error at this position.
pub(crate) fn illegal(at: usize) -> String {
    format!("illegal base64 data at input byte {at}")
}

fn decode_checked(text: &str) -> Vec<u8> {
    let letters: Vec<u8> = text.bytes().filter(|byte| !is_line_end(*byte)).collect();
    LENIENT
        .decode(letters)
        .expect("the text was checked to be base64")
}

/// The text that Go would write for what it reads from this one; none if that is the same text.
///
/// # Errors
///
/// The position that Go's `illegal base64 data at input byte <n>` names.
pub(crate) fn canonical(text: &str) -> Result<Option<String>, usize> {
    if let Some(at) = first_error(text.as_bytes()) {
        return Err(at);
    }
    if !text.ends_with('=') && !text.bytes().any(is_line_end) {
        return Ok(None);
    }
    let again = LENIENT.encode(decode_checked(text));
    Ok((again != text).then_some(again))
}

/// The text for these bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    LENIENT.encode(bytes)
}

fn first_error(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        // One quantum: four characters, of which the last one or two may be padding.
        let mut count = 0;
        while count < 4 {
            at = skip_line_ends(text, at);
            let Some(&byte) = text.get(at) else {
                // Go counts back from the end to where the unfinished quantum would begin, line ends or not.
                return (count > 0).then(|| at - count);
            };
            if is_letter(byte) {
                count += 1;
                at += 1;
                continue;
            }
            if byte != b'=' || count < 2 {
                return Some(at);
            }
            at += 1;
            if count == 2 {
                at = skip_line_ends(text, at);
                match text.get(at) {
                    None => return Some(text.len()),
                    Some(b'=') => at += 1,
                    Some(_) => return Some(at - 1),
                }
            }
            at = skip_line_ends(text, at);
            return (at < text.len()).then_some(at);
        }
    }
}

fn skip_line_ends(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|byte| is_line_end(*byte)) {
        at += 1;
    }
    at
}

fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/'
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn the_position_of_an_error_is_the_one_that_go_names() {
        let cases = [
            ("Y", 0),
            ("YQ", 0),
            ("YQ=", 3),
            ("YQ==x", 4),
            ("YW", 0),
            ("Y=Q=", 1),
            ("=", 0),
            ("YWJj=", 4),
            ("YWJjZ", 4),
            ("!", 0),
            ("YWJj!A==", 4),
            ("YQ=x", 2),
            ("YQ\n", 1),
            ("YQ=\n", 4),
            ("YW\nI", 1),
            ("äöü=", 0),
            ("YWJjZGU", 4),
        ];
        for (text, at) in cases {
            assert_eq!(canonical(text), Err(at), "{text:?}");
        }
    }

    #[test]
    fn what_go_would_write_otherwise_is_written_so() {
        let cases = [("YR==", "YQ=="), ("YW\nJj", "YWJj")];
        for (text, again) in cases {
            assert_eq!(canonical(text), Ok(Some(again.to_owned())), "{text:?}");
        }
        for text in ["", "YQ==", "YWI=", "YWJj"] {
            assert_eq!(canonical(text), Ok(None), "{text:?}");
        }
    }
}
