//! Strings as Go writes them, but in quotes of either kind.

/// Whether the escapes between two quotes are valid.
pub(super) fn is_valid(inside: &str, quote: char) -> bool {
    let mut rest = inside;
    while let Some(at) = rest.find(['\\', quote]) {
        let Some(escape) = rest[at..].strip_prefix('\\') else {
            return false;
        };
        let Some(length) = escape_length(escape, quote) else {
            return false;
        };
        rest = &escape[length..];
    }
    true
}

/// The length of an escape behind its backslash.
fn escape_length(escape: &str, quote: char) -> Option<usize> {
    let (digits, base) = match escape.chars().next()? {
        'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' => return Some(1),
        mark if mark == quote => return Some(1),
        'x' => (1..3, 16),
        'u' => (1..5, 16),
        'U' => (1..9, 16),
        '0'..='7' => (0..3, 8),
        _ => return None,
    };
    let end = digits.end;
    let is_number = |digits: &&str| digits.chars().all(|digit| digit.is_digit(base));
    let number = escape.get(digits).filter(is_number)?;
    let number = u32::from_str_radix(number, base).ok()?;
    let is_character = if base == 8 {
        number <= 0xff
    } else {
        char::from_u32(number).is_some()
    };
    is_character.then_some(end)
}
