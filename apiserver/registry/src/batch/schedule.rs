//! Schedules in cron form: five fields, or a word such as `@daily`.

use kubewright_apimachinery::go_text::quoted;

/// Checks a schedule.
///
/// # Errors
/// What is wrong, in the words of the library that Kubernetes uses.
pub(crate) fn check(schedule: &str) -> Result<(), String> {
    let zoned = ["TZ=", "CRON_TZ="]
        .iter()
        .find_map(|prefix| schedule.strip_prefix(prefix));
    let schedule = match zoned {
        None => schedule,
        Some(zoned) => {
            let Some((zone, rest)) = zoned.split_once(' ') else {
                return Err(
                    "invalid schedule format: runtime error: slice bounds out of range [:-1]"
                        .to_owned(),
                );
            };
            location(zone).map_err(|why| format!("provided bad location {zone}: {why}"))?;
            rest.trim()
        }
    };
    if let Some(word) = schedule.strip_prefix('@') {
        return match word {
            "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly" => {
                Ok(())
            }
            _ if word.starts_with("every ") => every(schedule, &word["every ".len()..]),
            _ => Err(format!("unrecognized descriptor: {schedule}")),
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    for (text, field) in fields.into_iter().zip(FIELDS) {
        for part in text.split(',') {
            range(part, field)?;
        }
    }
    Ok(())
}

/// Whether there is a time zone of this name, as Go's `time.LoadLocation` finds it.
///
/// # Errors
/// Why there is none, in Go's words.
pub(super) fn location(zone: &str) -> Result<(), String> {
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(());
    }
    if zone.starts_with(['/', '\\']) || zone.contains("..") {
        return Err("time: invalid location name".to_owned());
    }
    match jiff::tz::TimeZone::get(zone) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("unknown time zone {zone}")),
    }
}

struct Field {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const FIELDS: [&Field; 5] = [
    &Field {
        least: 0,
        most: 59,
        names: &[],
    },
    &Field {
        least: 0,
        most: 23,
        names: &[],
    },
    &Field {
        least: 1,
        most: 31,
        names: &[],
    },
    &Field {
        least: 1,
        most: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    &Field {
        least: 0,
        most: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

fn range(text: &str, field: &Field) -> Result<(), String> {
    let mut steps = text.split('/');
    let span = steps.next().unwrap_or_default();
    let step = steps.next();
    if steps.next().is_some() {
        return Err(format!("too many slashes: {text}"));
    }
    let mut bounds = span.split('-');
    let first = bounds.next().unwrap_or_default();
    let last = bounds.next();
    let (start, mut end) = if matches!(first, "*" | "?") {
        (field.least, field.most)
    } else {
        let start = number(first, field)?;
        match (last, bounds.next()) {
            (None, _) => (start, start),
            (Some(last), None) => (start, number(last, field)?),
            _ => return Err(format!("too many hyphens: {text}")),
        }
    };
    if let Some(step) = step {
        if number(
            step,
            &Field {
                names: &[],
                ..*field
            },
        )? == 0
        {
            return Err(format!("step of range should be a positive number: {text}"));
        }
        if last.is_none() {
            end = field.most;
        }
    }
    let (least, most) = (field.least, field.most);
    if start < least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({least}): {text}"
        ));
    }
    if end > most {
        return Err(format!(
            "end of range ({end}) above maximum ({most}): {text}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    Ok(())
}

fn number(text: &str, field: &Field) -> Result<u32, String> {
    let lower = text.to_lowercase();
    if let Some(index) = field.names.iter().position(|name| *name == lower) {
        return Ok(field.least + u32::try_from(index).unwrap_or(0));
    }
    let parsed: i64 = text.parse().map_err(|_| {
        let quoted = quoted(text);
        format!("failed to parse int from {text}: strconv.Atoi: parsing {quoted}: invalid syntax")
    })?;
    u32::try_from(parsed).map_err(|_| format!("negative number ({parsed}) not allowed: {text}"))
}

/// `@every 1h30m`.
fn every(schedule: &str, span: &str) -> Result<(), String> {
    let mut rest = span.trim_start_matches(['+', '-']);
    let mut valid = !rest.is_empty();
    while valid && !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"]
            .into_iter()
            .find(|unit| rest[digits..].starts_with(unit));
        valid = digits > 0 && unit.is_some();
        rest = &rest[digits + unit.map_or(0, str::len)..];
    }
    if valid || span == "0" {
        return Ok(());
    }
    let quoted = quoted(span);
    Err(format!(
        "failed to parse duration {schedule}: time: invalid duration {quoted}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_that_are_fine() {
        for schedule in [
            "* * * * *",
            "*/5 0-6,12 1 jan-mar MON",
            "0 0 ? * 0",
            "5/15 * * * *",
            "@daily",
            "@every 1h30m",
        ] {
            assert_eq!(check(schedule), Ok(()), "{schedule}");
        }
    }

    #[test]
    fn schedules_that_are_not_say_why() {
        for (schedule, problem) in [
            ("error", "expected exactly 5 fields, found 1: [error]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "a * * * *",
                "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax",
            ),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ] {
            assert_eq!(check(schedule), Err(problem.to_owned()), "{schedule}");
        }
    }
}
