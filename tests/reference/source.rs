//! Values from the source: those of private constants, and of fields in defaults.

use std::path::PathBuf;

/// The value of `name` in a source file below `crates/`, as people write it: a constant, or a field where a default is made.
///
/// # Panics
///
/// If the file has no such thing, or it is no number and no time.
#[must_use]
pub fn value(file: &str, name: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates")).join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let found = expression(&text, name).unwrap_or_else(|| panic!("{file} has no `{name}`"));
    written(found).unwrap_or_else(|| panic!("{file}: what is `{name}` = `{found}`?"))
}

fn expression<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let constant = format!("const {name}: ");
    let field = format!("{name}: ");
    text.lines().map(str::trim).find_map(|line| {
        if let Some((_, rest)) = line.split_once(&constant) {
            return rest.split_once(" = ")?.1.strip_suffix(';');
        }
        let value = line.strip_prefix(&field)?.strip_suffix(',')?;
        value
            .contains(|c: char| c.is_ascii_digit())
            .then_some(value)
    })
}

/// A number, a number of bytes, or a time, as people write it.
fn written(expression: &str) -> Option<String> {
    if let Some(count) = expression.strip_suffix(" * MIB") {
        return Some(format!("{count} MiB"));
    }
    if let Some(days) = expression.strip_suffix(" * DAY") {
        return Some(format!("{days} days"));
    }
    if let Some((count, "20")) = expression.split_once(" << ") {
        return Some(format!("{count} MiB"));
    }
    if let Some(count) = expression.strip_suffix(" * 1024 * 1024") {
        return Some(format!("{count} MiB"));
    }
    if expression == "1024 * 1024" {
        return Some("1 MiB".to_owned());
    }
    if let Some(count) = expression.strip_suffix(" * 1024") {
        return Some(format!("{count} KiB"));
    }
    if let Some(both) = expression.strip_prefix("Backoff::new(") {
        let (first, longest) = both.strip_suffix(')')?.split_once(", ")?;
        return Some(format!("{} to {}", written(first)?, written(longest)?));
    }
    let Some(time) = expression.strip_prefix("Duration::from_") else {
        let number = expression.replace('_', "");
        return number.parse::<u64>().is_ok().then_some(number);
    };
    let (unit, count) = time.strip_suffix(')')?.split_once('(')?;
    let unit = match unit {
        "millis" => "ms",
        "secs" => "s",
        "mins" => "min",
        "hours" => "h",
        _ => return None,
    };
    let count = count.replace('_', "");
    count.parse::<u64>().ok()?;
    Some(format!("{count} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_people_write_them() {
        for (expression, text) in [
            ("7 * MIB", "7 MiB"),
            ("4 << 20", "4 MiB"),
            ("256 * 1024 * 1024", "256 MiB"),
            ("1024 * 1024", "1 MiB"),
            ("64 * 1024", "64 KiB"),
            ("3650 * DAY", "3650 days"),
            ("10_000", "10000"),
            ("Duration::from_millis(15_500)", "15500 ms"),
            ("Duration::from_mins(2)", "2 min"),
            (
                "Backoff::new(Duration::from_millis(100), Duration::from_secs(4))",
                "100 ms to 4 s",
            ),
        ] {
            assert_eq!(written(expression).as_deref(), Some(text));
        }
        for expression in ["true", "Duration::ZERO", "seconds(3)", ""] {
            assert_eq!(written(expression), None);
        }
    }

    #[test]
    fn constants_and_fields_of_defaults_are_found() {
        let text = "pub(crate) const FREE: usize = 64 * 1024;\nstruct Limits {\n    body: usize,\n}\n        body: 7 * MIB,\n";
        assert_eq!(expression(text, "FREE"), Some("64 * 1024"));
        assert_eq!(expression(text, "body"), Some("7 * MIB"));
        assert_eq!(expression(text, "FRE"), None);
        assert_eq!(expression(text, "bodies"), None);
    }
}
