//! The timeout that the API server passes in the query of a call: `?timeout=10s`.

use std::time::Duration;

use crate::refusal::Refusal;

/// Returns the timeout in a query, if it has one that is not zero.
///
/// # Errors
///
/// If it is not a duration as Go writes it, such as `1m30s` or `500ms`, or longer than any duration.
pub(crate) fn of(query: &str) -> Result<Option<Duration>, Refusal> {
    let value = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("timeout="));
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let timeout = duration(value).ok_or_else(|| Refusal::timeout(value))?;
    Ok(Some(timeout).filter(|timeout| !timeout.is_zero()))
}

fn duration(mut rest: &str) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let number = rest.find(|byte: char| !byte.is_ascii_digit() && byte != '.')?;
        let (amount, unit) = rest.split_at(number);
        let unit_end = unit
            .find(|byte: char| byte.is_ascii_digit() || byte == '.')
            .unwrap_or(unit.len());
        let seconds = match &unit[..unit_end] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let amount: f64 = amount.parse().ok()?;
        let part = Duration::try_from_secs_f64(amount * seconds).ok()?;
        sum = sum.checked_add(part)?;
        rest = &unit[unit_end..];
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(query: &str) -> Option<u128> {
        of(query).unwrap().map(|timeout| timeout.as_millis())
    }

    #[test]
    fn the_timeout_is_a_go_duration() {
        assert_eq!(millis("timeout=10s"), Some(10_000));
        assert_eq!(millis("a=b&timeout=1m30s"), Some(90_000));
        assert_eq!(millis("timeout=500ms"), Some(500));
        assert_eq!(millis("timeout=1.5s"), Some(1_500));
        assert_eq!(millis("timeout=1s.5s"), Some(1_500));
    }

    #[test]
    fn a_missing_empty_or_zero_timeout_sets_none() {
        for none in ["", "a=b", "timeout=", "timeout=0s"] {
            assert_eq!(millis(none), None, "{none}");
        }
    }

    #[test]
    fn a_timeout_that_is_no_duration_or_longer_than_any_is_refused() {
        let long = "9999999999999999999s";
        for bad in [
            "10",
            "s",
            "10x",
            "-1s",
            "9e99s",
            ".s",
            "1..5s",
            &format!("{long}{long}"),
            &format!("{}s", "9".repeat(400)),
        ] {
            let refusal = of(&format!("timeout={bad}")).unwrap_err();
            assert_eq!(refusal.code(), 400, "{bad}");
        }
    }
}
