//! Durations: nanoseconds in 64 bits, written as Go writes and reads them.

/// Seconds with as many decimals as are needed, such as `1.5s`.
pub(super) fn format(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let magnitude = nanoseconds.unsigned_abs();
    let (seconds, rest) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let decimals = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", decimals.trim_end_matches('0'))
}

/// Parses a duration as Go's `time.ParseDuration` does: `1h30m`, `-1.5s`, `300ms`, `0`.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = rest.split_at(whole);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => {
                let length = after.bytes().take_while(u8::is_ascii_digit).count();
                after.split_at(length)
            }
            None => ("", after),
        };
        if digits.is_empty() && fraction.is_empty() {
            return None;
        }
        let length = after
            .bytes()
            .take_while(|byte| *byte != b'.' && !byte.is_ascii_digit())
            .count();
        let (name, after) = after.split_at(length);
        let unit = unit(name)?;
        let whole: u128 = if digits.is_empty() {
            0
        } else {
            digits.parse().ok()?
        };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        total = total.checked_add(part(fraction, unit))?;
        if total > 1 << 63 {
            return None;
        }
        rest = after;
    }
    let total = i128::try_from(total).ok()?;
    i64::try_from(if negative { -total } else { total }).ok()
}

fn unit(name: &str) -> Option<u128> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// The fraction of a unit; digits beyond what a nanosecond can show are without effect.
fn part(digits: &str, unit: u128) -> u128 {
    let digits = &digits[..digits.len().min(18)];
    let numerator: u128 = digits.parse().unwrap_or(0);
    let scale = 10_u128.pow(u32::try_from(digits.len()).unwrap_or(0));
    numerator * unit / scale
}
