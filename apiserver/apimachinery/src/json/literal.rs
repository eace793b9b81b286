//! Numbers as a body writes them: Go's decoder repeats them in its errors, and a float has lost them.

/// Returns the first number of a JSON text that is read as the float `number`, as it is written there. Whole numbers that 64 bits hold are
/// read as such, and repeated as they are.
///
/// ```
/// use kubewright_apimachinery::json::number_as_written;
///
/// let body = br#"{"name": "1e20", "limit": 1, "replicas": 100000000000000000000, "size": 1.00}"#;
/// assert_eq!(number_as_written(body, "1e+20"), Some("100000000000000000000"));
/// assert_eq!(number_as_written(body, "1.0"), Some("1.00"));
/// assert_eq!(number_as_written(body, "1"), None);
/// ```
pub fn number_as_written<'a>(json: &'a [u8], number: &str) -> Option<&'a str> {
    if !is_float(number) {
        return None;
    }
    let wanted: f64 = number.parse().ok()?;
    let mut rest = json;
    while let Some((&first, after)) = rest.split_first() {
        rest = match first {
            b'"' => after_string(after),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| b"+-.eE0123456789".contains(byte);
                let length = rest.iter().take_while(|byte| is_part(byte)).count();
                let (literal, beyond) = rest.split_at(length);
                let literal = std::str::from_utf8(literal).ok()?;
                if is_float(literal) && literal.parse() == Ok(wanted) {
                    return Some(literal);
                }
                beyond
            }
            _ => after,
        };
    }
    None
}

fn is_float(literal: &str) -> bool {
    literal.parse::<i64>().is_err() && literal.parse::<u64>().is_err()
}

/// What follows the end of a string that has begun.
fn after_string(mut rest: &[u8]) -> &[u8] {
    loop {
        rest = match rest {
            [b'"', after @ ..] => return after,
            [b'\\', _, after @ ..] | [_, after @ ..] => after,
            [] => return rest,
        };
    }
}
