//! When a task runs, as command lines, the record and Rust say it.

use std::time::Duration;

/// When a task runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// When it begins, and not again.
    Once,
    Every(Duration),
    /// At the times of a schedule in cron form.
    Cron(String),
}

impl Schedule {
    /// A period as it is said on a command line and in the record: `90s`, `5m`, `1h30m`.
    pub(crate) fn every(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no period such as 90s, 5m or 1h30m");
        let (mut total, mut rest) = (0_u64, text);
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
            let seconds = match rest.as_bytes()[digits] {
                b's' => 1,
                b'm' => 60,
                b'h' => 3600,
                b'd' => 86_400,
                _ => return Err(wrong()),
            };
            let more = number.checked_mul(seconds).ok_or_else(wrong)?;
            total = total.checked_add(more).ok_or_else(wrong)?;
            rest = &rest[digits + 1..];
        }
        if total == 0 {
            return Err(wrong());
        }
        Ok(Self::Every(Duration::from_secs(total)))
    }
}

/// A duration in its largest unit, as Rust says it.
pub(super) fn in_rust(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (name, number) = match seconds {
        _ if seconds.is_multiple_of(3600) => ("hours", seconds / 3600),
        _ if seconds.is_multiple_of(60) => ("mins", seconds / 60),
        _ => ("secs", seconds),
    };
    format!("Duration::from_{name}({number})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_as_people_write_them() {
        for (text, rust) in [
            ("90s", "Duration::from_secs(90)"),
            ("5m", "Duration::from_mins(5)"),
            ("1h30m", "Duration::from_mins(90)"),
            ("120m", "Duration::from_hours(2)"),
            ("2d", "Duration::from_hours(48)"),
        ] {
            let Ok(Schedule::Every(period)) = Schedule::every(text) else {
                panic!("{text} is a period");
            };
            assert_eq!(in_rust(period), rust);
        }
        for wrong in [
            "",
            "5",
            "m",
            "0s",
            "5 m",
            "5ü",
            "1w",
            "99999999999999999999s",
            "999999999999999999h",
        ] {
            assert!(Schedule::every(wrong).is_err(), "{wrong}");
        }
    }
}
