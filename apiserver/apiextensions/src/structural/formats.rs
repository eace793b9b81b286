//! String formats that schemas support: `date-time`, `ipv4`, `uuid` and others.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use kubewright_apimachinery::names;
use kubewright_cel::formats::{NamedFormat, parse_duration};
use regex::Regex;

use super::email;

const KNOWN: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Whether a format applies to a type; an empty type stands for any type.
pub fn is_format_of(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => is_known(format),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Whether the server knows a string format; dashes in its name are ignored.
pub(super) fn is_known(format: &str) -> bool {
    KNOWN.contains(&plain(format).as_str())
}

/// Whether a string matches a format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match plain(format).as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "byte" => is_base64(text),
        "cidr" => is_cidr(text),
        "creditcard" => is_credit_card(text),
        name @ ("date" | "datetime" | "uri") => is_named(name, text),
        "duration" => parse_duration(text).is_some(),
        "email" => email::is_email(text),
        "hexcolor" => matches(&HEX_COLOR, text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && without_zeros(text).parse::<IpAddr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "k8slongname" => names::dns1123_subdomain(text).is_empty(),
        "k8sshortname" => names::dns1123_label(text).is_empty(),
        "mac" => is_mac(text),
        "rgbcolor" => matches(&RGB_COLOR, text),
        "ssn" => matches(&SSN, text) && text.len() == 11,
        "uuid" => matches(&UUID, text),
        "uuid3" => is_uuid(text, b"3", None),
        "uuid4" => is_uuid(text, b"4", Some(b"89ab")),
        "uuid5" => is_uuid(text, b"5", Some(b"89ab")),
        _ => true,
    }
}

/// Whether expressions take a string to be in the format that they name so.
fn is_named(format: &str, text: &str) -> bool {
    NamedFormat::named(format).is_some_and(|format| format.validate(text).is_empty())
}

fn plain(format: &str) -> String {
    format.replace('-', "")
}

static UUID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compiled("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")
});
static HEX_COLOR: LazyLock<Option<Regex>> =
    LazyLock::new(|| compiled("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"));
static RGB_COLOR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let part = r"\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*";
    compiled(&format!(r"^rgb\({part},{part},{part}\)$"))
});
static SSN: LazyLock<Option<Regex>> =
    LazyLock::new(|| compiled("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static CREDIT_CARD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compiled(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|\
         3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
});
static HOSTNAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compiled(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    )
});

/// A constant pattern.
fn compiled(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

fn matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text))
}

fn is_uuid(text: &str, version: &[u8], variant: Option<&[u8]>) -> bool {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b'-')
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    matches(&UUID, text)
        && version.contains(&digits[12])
        && variant.is_none_or(|variant| variant.contains(&digits[16]))
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let longest = match without_zeros(address).parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let digits = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    digits && bits.parse::<u32>().is_ok_and(|bits| bits <= longest)
}

/// Addresses with leading zeros were once read, and still are here.
fn without_zeros(text: &str) -> String {
    let part = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    if !text.contains('.') {
        return text.to_owned();
    }
    // An address of the version 6 may end with one of the version 4.
    let (before, last) = text.split_at(text.rfind(':').map_or(0, |at| at + 1));
    let parts: Vec<String> = last.split('.').map(part).collect();
    format!("{before}{}", parts.join("."))
}

fn is_mac(text: &str) -> bool {
    let (groups, digits) = match text.as_bytes() {
        [_, _, separator @ (b':' | b'-'), ..] => (text.split(char::from(*separator)).collect(), 2),
        [_, _, _, _, b'.', ..] => (text.split('.').collect(), 4),
        _ => (vec![text], text.len()),
    };
    let bytes = groups.len() * digits / 2;
    matches!(bytes, 6 | 8 | 20)
        && groups
            .iter()
            .all(|group| group.len() == digits && group.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_hostname(text: &str) -> bool {
    matches(&HOSTNAME, text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

fn is_isbn10(text: &str) -> bool {
    let digits: Vec<u8> = book_digits(text);
    let Some((last, first)) = digits.split_last().filter(|_| digits.len() == 10) else {
        return false;
    };
    if !first.iter().all(u8::is_ascii_digit) || !(last.is_ascii_digit() || *last == b'X') {
        return false;
    }
    let value = |digit: u8| match digit {
        b'X' => 10,
        digit => u32::from(digit - b'0'),
    };
    let sum: u32 = (1..)
        .zip(&digits)
        .map(|(place, digit)| place * value(*digit))
        .sum();
    sum.is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits: Vec<u8> = book_digits(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .enumerate()
        .map(|(place, digit)| u32::from(digit - b'0') * if place % 2 == 0 { 1 } else { 3 })
        .sum();
    sum.is_multiple_of(10)
}

fn book_digits(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(|byte| !matches!(byte, b'-' | b' ' | b'\t' | b'\n' | b'\r' | 0x0C))
        .collect()
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(digit - b'0');
            match place % 2 {
                0 => digit,
                _ if digit > 4 => digit * 2 - 9,
                _ => digit * 2,
            }
        })
        .sum();
    matches(&CREDIT_CARD, &digits) && sum.is_multiple_of(10)
}
