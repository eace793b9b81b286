//! Why a string is no IP address, as the errors of Go's `netip.ParseAddr` say it.

use crate::quote::quoted;

/// The error for a string that is no address.
pub(super) fn refusal(text: &str) -> String {
    let Wrong { why, at } = wrong(text);
    let at = if at.is_empty() {
        String::new()
    } else {
        format!(" (at {})", quoted(at))
    };
    format!("ParseAddr({}): {why}{at}", quoted(text))
}

/// What is wrong, and the rest of the string from there, where the error shows it.
struct Wrong<'t> {
    why: &'static str,
    at: &'t str,
}

fn whole(why: &'static str) -> Wrong<'static> {
    Wrong { why, at: "" }
}

fn wrong(text: &str) -> Wrong<'_> {
    match text.bytes().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => fields(text).unwrap_or(whole("unable to parse IP")),
        Some(b':') => groups(text),
        Some(_) => whole("missing IPv6 address"),
        None => whole("unable to parse IP"),
    }
}

/// What is wrong with the four numbers of version 4.
fn fields(text: &str) -> Option<Wrong<'_>> {
    let bytes = text.as_bytes();
    let (mut value, mut digits, mut dots) = (0_u32, 0, 0);
    for (index, byte) in bytes.iter().enumerate() {
        let here = |why| {
            Some(Wrong {
                why,
                at: text.get(index..).unwrap_or_default(),
            })
        };
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Some(whole("IPv4 field has octet with leading zero"));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Some(whole("IPv4 field has value >255"));
                }
            }
            b'.' => {
                if digits == 0 || index + 1 == bytes.len() {
                    return here("IPv4 field must have at least one digit");
                }
                if dots == 3 {
                    return Some(whole("IPv4 address too long"));
                }
                (value, digits, dots) = (0, 0, dots + 1);
            }
            _ => return here("unexpected character"),
        }
    }
    (dots < 3).then(|| whole("IPv4 address too short"))
}

/// What is wrong with the groups of version 6.
fn groups(text: &str) -> Wrong<'_> {
    let mut rest = match text.split_once('%') {
        Some((_, "")) => return whole("zone must be a non-empty string"),
        Some((address, _)) => address,
        None => text,
    };
    let mut ellipsis = rest.starts_with("::");
    if ellipsis {
        rest = &rest[2..];
    }
    let mut read = 0;
    while read < 8 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let here = |why| Wrong { why, at: rest };
        if digits > 4 {
            return here("each group must have 4 or less digits");
        }
        if digits == 0 {
            return here("each colon-separated field must have at least one digit");
        }
        if rest[digits..].starts_with('.') {
            if !ellipsis && read != 6 {
                return here(
                    "embedded IPv4 address must replace the final 2 fields of the address",
                );
            }
            if read + 2 > 8 {
                return here(
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                );
            }
            if let Some(wrong) = fields(rest) {
                return wrong;
            }
            rest = "";
            break;
        }
        read += 1;
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let here = |why| Wrong { why, at: rest };
        match rest.strip_prefix(':') {
            None => return here("unexpected character, want colon"),
            Some("") => return here("colon must be followed by more characters"),
            Some(after) => rest = after,
        }
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis {
                return Wrong {
                    why: "multiple :: in address",
                    at: rest,
                };
            }
            ellipsis = true;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Wrong {
            why: "trailing garbage after address",
            at: rest,
        };
    }
    whole(if ellipsis {
        "the :: must expand to at least one field of zeros"
    } else {
        "address string too short"
    })
}
