//! Which strings may stand without quotes: those that a reader would not take for something else.

/// Whether the string is read as a string when it is not quoted.
pub(super) fn reads_as_string(text: &str) -> bool {
    const WORDS: [&str; 40] = [
        "", "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", "n", "N",
        "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", "~", "null", "Null",
        "NULL", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
        "-.Inf", "-.INF", "<<",
    ];
    if WORDS.contains(&text) {
        // The library does not look at what begins like no other value.
        return text == "<<";
    }
    match text.as_bytes().first() {
        Some(b'.') => !is_float(text),
        Some(b'+' | b'-' | b'0'..=b'9') => {
            let plain = text.replace('_', "");
            !(is_time(text) || is_integer(&plain) || is_float(&plain) || is_sexagesimal(text))
        }
        _ => true,
    }
}

fn digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

/// An integer in any of Go's notations that fits into 64 bits; longer decimal ones are floats.
fn is_integer(text: &str) -> bool {
    let number = unsigned(text);
    let notations = [
        ("0x", 16),
        ("0X", 16),
        ("0b", 2),
        ("0B", 2),
        ("0o", 8),
        ("0O", 8),
        ("0", 8),
    ];
    let known = notations.iter().find_map(|(prefix, base)| {
        let rest = number.strip_prefix(prefix)?;
        (!rest.is_empty()).then_some((rest, *base))
    });
    let (number, base) = known.unwrap_or((number, 10));
    let all_digits = number.bytes().all(|byte| byte.is_ascii_alphanumeric());
    all_digits && u64::from_str_radix(number, base).is_ok()
}

fn is_float(text: &str) -> bool {
    let number = unsigned(text);
    let mantissa = match number.strip_prefix('.') {
        Some(fraction) => digits(fraction),
        None => digits(number).map(|rest| match rest.strip_prefix('.') {
            Some(fraction) => digits(fraction).unwrap_or(fraction),
            None => rest,
        }),
    };
    let Some(rest) = mantissa else {
        return false;
    };
    let has_form = match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => digits(unsigned(exponent)) == Some(""),
        None => rest.is_empty(),
    };
    has_form && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Numbers to the base 60, such as `1:30`, which other readers know.
fn is_sexagesimal(text: &str) -> bool {
    let number = unsigned(text);
    let mut parts = number.split(':');
    let first = parts.next().unwrap_or_default();
    let is_first = first.starts_with(|letter: char| letter.is_ascii_digit())
        && first
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_');
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.last_mut() else {
        return false;
    };
    if let Some((whole, fraction)) = last.split_once('.') {
        if !fraction
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
        {
            return false;
        }
        *last = whole;
    }
    let below_60 = |part: &&str| {
        let is_number = !part.is_empty() && part.len() <= 2 && digits(part) == Some("");
        is_number && part.parse::<u8>().is_ok_and(|number| number < 60)
    };
    is_first && parts.iter().all(below_60)
}

/// A date, or a date and a time.
fn is_time(text: &str) -> bool {
    let Some((date, rest)) = text.find(['T', 't', ' ']).map_or(Some((text, None)), |at| {
        Some((
            text.get(..at)?,
            Some((text[at..].starts_with(' '), text.get(at + 1..)?)),
        ))
    }) else {
        return false;
    };
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else {
        return false;
    };
    let number = |text: &str, most: usize| {
        let fits = !text.is_empty() && text.len() <= most && digits(text) == Some("");
        fits.then(|| text.parse::<i16>().ok()).flatten()
    };
    let [Some(year), Some(month), Some(day)] = [
        number(year, 4).filter(|_| year.len() == 4),
        number(month, 2),
        number(day, 2),
    ] else {
        return false;
    };
    let [Ok(month), Ok(day)] = [month, day].map(i8::try_from) else {
        return false;
    };
    if jiff::civil::Date::new(year, month, day).is_err() {
        return false;
    }
    let Some((without_zone, time)) = rest else {
        return true;
    };
    let Some(time) = in_zone(time, without_zone) else {
        return false;
    };
    let parts: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = parts[..] else {
        return false;
    };
    let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
    let below = |text: &str, limit: i16| number(text, 2).is_some_and(|number| number < limit);
    below(hour, 24) && below(minute, 60) && below(second, 60) && digits(fraction) == Some("")
}

/// The time without its zone, if it has one where it must have one, and none where it must not.
fn in_zone(time: &str, without_zone: bool) -> Option<&str> {
    if without_zone {
        return Some(time);
    }
    if let Some(time) = time.strip_suffix('Z') {
        return Some(time);
    }
    let (time, zone) = time.split_at_checked(time.len().checked_sub("+00:00".len())?)?;
    let (hour, minute) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    let is_pair = |text: &str| text.len() == 2 && digits(text) == Some("");
    (is_pair(hour) && is_pair(minute)).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_another_value_is_no_plain_string() {
        for text in [
            "",
            "yes",
            "Off",
            "null",
            "~",
            "1",
            "-1",
            "0x1f",
            "0o7",
            "017",
            "1_000",
            "1.5",
            "1e3",
            ".5",
            "+.inf",
            "1:30",
            "1:30.5",
            "2020-01-02",
            "2020-1-2T3:4:5Z",
            "2020-01-02 03:04:05",
            "2020-01-02T03:04:05.678+01:00",
            "18446744073709551616",
            "0b1",
            "-0b1",
        ] {
            assert!(!reads_as_string(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_other_value_is_a_plain_string() {
        for text in [
            "a",
            "yess",
            "v1",
            "1a",
            "0x",
            "0xg",
            "1.2.3",
            "1:60",
            "1e",
            "-",
            "+",
            ".",
            "2020-13-02",
            "2020-01-02T03:04:05",
            "2020-01-02T03:04",
            "10m",
            "<<",
            "0b2",
            "1:",
            "=",
        ] {
            assert!(reads_as_string(text), "{text}");
        }
    }
}
