//! The order of resource versions.

use std::cmp::Ordering;

/// Returns whether a version came after another. Versions of objects of one resource are numbers that grow; where they are
/// something else only the API server knows their order.
pub(crate) fn is_newer(new: &str, old: &str) -> Option<bool> {
    let is_number =
        |version: &str| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(new) && is_number(old)).then(|| {
        let order = new.len().cmp(&old.len()).then_with(|| new.cmp(old));
        order == Ordering::Greater
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_of_any_length() {
        let long = "98765432109876543210987654321";
        for (new, old, expected) in [
            ("10", "9", Some(true)),
            ("9", "10", Some(false)),
            ("9", "9", Some(false)),
            (long, "10", Some(true)),
            ("a", "9", None),
            ("", "9", None),
        ] {
            assert_eq!(is_newer(new, old), expected, "{new} {old}");
        }
    }
}
