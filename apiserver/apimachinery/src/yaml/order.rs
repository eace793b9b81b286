//! The order of keys in YAML: numbers in keys count as numbers.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Returns the members in their order.
pub(super) fn by_key(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = map
        .iter()
        .map(|(key, value)| (key.as_str(), value))
        .collect();
    members.sort_by(|(one, _), (other, _)| natural(one, other));
    members
}

fn natural(one: &str, other: &str) -> Ordering {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let differ = one.iter().zip(&other).position(|(a, b)| a != b);
    let Some(at) = differ else {
        return one.len().cmp(&other.len());
    };
    let (a, b) = (one[at], other[at]);
    match (a.is_alphabetic(), b.is_alphabetic()) {
        (true, true) => return a.cmp(&b),
        // Letters come behind all else.
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero behind another digit is a part of that number.
    let mut starts = 0;
    if a == '0' || b == '0' {
        let digits = one[..at].iter().rev();
        let mut digits = digits.take_while(|letter| letter.is_numeric());
        starts = u64::from(digits.any(|digit| *digit != '0'));
    }
    let (first, first_end) = number(&one, at, starts);
    let (second, second_end) = number(&other, at, starts);
    let order = first.cmp(&second);
    order
        .then_with(|| first_end.cmp(&second_end))
        .then_with(|| a.cmp(&b))
}

/// The number whose digits begin here, and where they end.
fn number(letters: &[char], at: usize, starts: u64) -> (u64, usize) {
    let digits = letters[at..]
        .iter()
        .take_while(|letter| letter.is_numeric());
    let (mut number, mut end) = (starts, at);
    for digit in digits {
        let digit = digit.to_digit(10).unwrap_or_default();
        number = number.wrapping_mul(10).wrapping_add(digit.into());
        end += 1;
    }
    (number, end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_in_keys_count_and_letters_come_last() {
        let map = json!({"a10": 0, "a2": 0, "a": 0, "b": 0, "f:x": 0, ".": 0, "A": 0, "a-b": 0, "10": 0, "9": 0});
        let keys: Vec<&str> = by_key(map.as_object().unwrap())
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        assert_eq!(
            keys,
            [".", "9", "10", "A", "a", "a-b", "a2", "a10", "b", "f:x"]
        );
    }
}
