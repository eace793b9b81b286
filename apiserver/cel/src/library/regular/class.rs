//! Classes of characters and escapes in a pattern, as Go reads them and the `regex` crate writes them.

use std::fmt::Write as _;

use crate::failure::Failure;

/// A class that matches nothing.
pub(super) const NOTHING: &str = "\\P{any}";
const EVERYTHING: &str = "\\p{any}";

const RANGE: &str = "invalid character class range";

const POSIX: &str =
    "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit";

/// The general categories, as Go writes their names.
const CATEGORIES: &str = "C Cc Cf Cn Co Cs L Lc Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z \
     Zl Zp Zs Casedletter Closepunctuation Combiningmark Connectorpunctuation Control Currencysymbol Dashpunctuation \
     Decimalnumber Enclosingmark Finalpunctuation Format Initialpunctuation Letter Letternumber Lineseparator \
     Lowercaseletter Mark Mathsymbol Modifierletter Modifiersymbol Nonspacingmark Number Openpunctuation Other \
     Otherletter Othernumber Otherpunctuation Othersymbol Paragraphseparator Privateuse Punctuation Separator \
     Spaceseparator Spacingmark Surrogate Symbol Titlecaseletter Unassigned Uppercaseletter Cntrl Digit Punct";

/// The scripts that Go finds: those whose names are one word.
const SCRIPTS: &str = "Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille \
     Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari \
     Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul \
     Hanunoo Hatran Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi \
     Lao Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao \
     Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya Palmyrene \
     Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac \
     Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi \
     Wancho Yezidi Yi";

/// Reads the class with which a text begins. Answers how it is written, and the rest of the text.
pub(super) fn class(whole: &str) -> Result<(String, &str), Failure> {
    let mut rest = &whole[1..];
    let negated = rest.starts_with('^');
    rest = rest.strip_prefix('^').unwrap_or(rest);
    let mut items = String::new();
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some((name, after)) = named(rest)? {
            items.push_str(name);
            rest = after;
        } else if let Some((group, after)) = escaped(rest)? {
            items.push_str(&group);
            rest = after;
        } else {
            rest = range(rest, whole, &mut items)?;
        }
    }
    let rest = &rest[1..];
    let written = match (items.is_empty(), negated) {
        (true, false) => NOTHING.to_owned(),
        (true, true) => EVERYTHING.to_owned(),
        (false, false) => format!("[{items}]"),
        (false, true) => format!("[^{items}]"),
    };
    Ok((written, rest))
}

/// A character or a range of characters.
fn range<'p>(start: &'p str, whole: &str, items: &mut String) -> Result<&'p str, Failure> {
    let (low, mut rest) = class_character(start, whole)?;
    let mut high = low;
    if let Some(after) = rest.strip_prefix('-')
        && !after.is_empty()
        && !after.starts_with(']')
    {
        (high, rest) = class_character(after, whole)?;
        if high < low {
            return Err(Failure::invalid_pattern(
                RANGE,
                &start[..start.len() - rest.len()],
            ));
        }
    }
    // No text has surrogates.
    for (low, high) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if low <= high {
            // Writing into a text cannot fail.
            let _ = write!(items, "\\x{{{low:X}}}-\\x{{{high:X}}}");
        }
    }
    Ok(rest)
}

fn class_character<'p>(rest: &'p str, whole: &str) -> Result<(u32, &'p str), Failure> {
    match rest.chars().next() {
        None => Err(Failure::invalid_pattern("missing closing ]", whole)),
        Some('\\') => character(rest),
        Some(other) => Ok((u32::from(other), &rest[other.len_utf8()..])),
    }
}

/// A class such as `[:alpha:]` at the start.
fn named(rest: &str) -> Result<Option<(&str, &str)>, Failure> {
    let Some(end) = rest.strip_prefix("[:").and_then(|rest| rest.find(":]")) else {
        return Ok(None);
    };
    let (written, after) = rest.split_at(end + 4);
    let name = &written[2..end + 2];
    if !is_among(POSIX, name.strip_prefix('^').unwrap_or(name)) {
        return Err(Failure::invalid_pattern(RANGE, written));
    }
    Ok(Some((written, after)))
}

/// A class such as `\d` or `\p{Greek}` at the start.
pub(super) fn escaped(rest: &str) -> Result<Option<(String, &str)>, Failure> {
    let mut characters = rest.chars();
    if characters.next() != Some('\\') {
        return Ok(None);
    }
    let written = match characters.next() {
        Some('d') => "[0-9]",
        Some('D') => "[^0-9]",
        Some('s') => "[\\t\\n\\x0C\\r ]",
        Some('S') => "[^\\t\\n\\x0C\\r ]",
        Some('w') => "[0-9A-Za-z_]",
        Some('W') => "[^0-9A-Za-z_]",
        Some('p' | 'P') => return unicode(rest).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((written.to_owned(), &rest[2..])))
}

/// `\pL`, `\p{Greek}`, `\p{^Greek}` or `\P{Greek}`.
fn unicode(rest: &str) -> Result<(String, &str), Failure> {
    let end = match rest[2..].chars().next() {
        None => return Err(Failure::invalid_pattern(RANGE, rest)),
        Some('{') => match rest.find('}') {
            None => return Err(Failure::invalid_pattern(RANGE, rest)),
            Some(end) => end + 1,
        },
        Some(one) => 2 + one.len_utf8(),
    };
    let (shown, after) = rest.split_at(end);
    let name = &shown[2..];
    let inside = name
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'));
    let name = inside.unwrap_or(name);
    let negated = shown.starts_with("\\P") != name.starts_with('^');
    let name = canonical(name.strip_prefix('^').unwrap_or(name));
    let property = match name.as_str() {
        "Any" | "Assigned" | "Ascii" => name,
        // No text has surrogates.
        "Cs" | "Surrogate" => {
            let written = if negated { EVERYTHING } else { NOTHING };
            return Ok((written.to_owned(), after));
        }
        _ if is_among(CATEGORIES, &name) => format!("gc={name}"),
        _ if is_among(SCRIPTS, &name) => format!("sc={name}"),
        _ => return Err(Failure::invalid_pattern(RANGE, shown)),
    };
    let sign = if negated { 'P' } else { 'p' };
    Ok((format!("\\{sign}{{{property}}}"), after))
}

/// A name as Go looks it up: `Letter` for `LETTER` and `l_e-t ter`.
fn canonical(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')) {
        out.push(if out.is_empty() {
            letter.to_ascii_uppercase()
        } else {
            letter.to_ascii_lowercase()
        });
    }
    out
}

fn is_among(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

/// The character that an escape means. It may be a surrogate.
pub(super) fn character(rest: &str) -> Result<(u32, &str), Failure> {
    let Some(escaped) = rest[1..].chars().next() else {
        return Err(Failure::invalid_pattern(
            "trailing backslash at end of expression",
            "",
        ));
    };
    let after = &rest[1 + escaped.len_utf8()..];
    let invalid = |after: &str| {
        let shown = &rest[..rest.len() - after.len()];
        Err(Failure::invalid_pattern("invalid escape sequence", shown))
    };
    let octal = |text: &str| text.starts_with(|digit| ('0'..='7').contains(&digit));
    let code = match escaped {
        'a' => 0x07,
        'f' => 0x0C,
        'n' => 0x0A,
        'r' => 0x0D,
        't' => 0x09,
        'v' => 0x0B,
        'x' => return hexadecimal(after).or_else(invalid),
        // A single digit that is not zero would be a reference to a group.
        '1'..='7' if !octal(after) => return invalid(after),
        '0'..='7' => {
            let mut digits = &rest[1..];
            let mut code = 0;
            for _ in 0..3 {
                let Some(digit) = digits.chars().next().and_then(|digit| digit.to_digit(8)) else {
                    break;
                };
                code = code * 8 + digit;
                digits = &digits[1..];
            }
            return Ok((code, digits));
        }
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => u32::from(other),
        _ => return invalid(after),
    };
    Ok((code, after))
}

/// What is behind `\x`: two digits, or any number of them in braces. Fails with what is left behind the mistake.
fn hexadecimal(start: &str) -> Result<(u32, &str), &str> {
    let mut characters = start.chars();
    let digit = |character: Option<char>| character.and_then(|c| c.to_digit(16));
    let first = characters.next();
    if first.is_none() {
        return Err(start);
    }
    if first != Some('{') {
        let second = digit(characters.next());
        let rest = characters.as_str();
        return match (digit(first), second) {
            (Some(first), Some(second)) => Ok((first * 16 + second, rest)),
            _ => Err(rest),
        };
    }
    let mut code = None;
    loop {
        let next = characters.next();
        let rest = characters.as_str();
        code = match (next, digit(next), code) {
            (Some('}'), _, Some(code)) => return Ok((code, rest)),
            (_, Some(digit), code) => Some(code.unwrap_or(0) * 16 + digit),
            _ => return Err(rest),
        };
        if code > Some(u32::from(char::MAX)) {
            return Err(rest);
        }
    }
}
