//! The formats that expressions name: `format.dns1123Label()` and others.

use std::sync::LazyLock;

use regex::Regex;

use crate::value::Url;

/// A format of strings, as expressions name it by `format.named(..)`.
///
/// ```
/// use kubewright_cel::formats::NamedFormat;
///
/// let date = NamedFormat::named("date").expect("a format of Kubernetes");
/// assert_eq!(date.validate("2026-02-30"), ["invalid date"]);
/// assert!(NamedFormat::named("postcode").is_none());
/// ```
#[derive(Debug)]
pub struct NamedFormat {
    pub(crate) name: &'static str,
    problems: fn(&str) -> Vec<String>,
    /// The length of the longest pattern, which the cost depends on.
    pub(crate) max_regex_size: u64,
}

impl NamedFormat {
    /// The format that expressions name so: `dns1123Label`, `dns1123Subdomain`, `dns1035Label`, `qualifiedName`,
    /// `dns1123LabelPrefix`, `dns1123SubdomainPrefix`, `dns1035LabelPrefix`, `labelValue`, `uri`, `uuid`, `byte`, `date`
    /// or `datetime`.
    pub fn named(name: &str) -> Option<&'static Self> {
        let found = FORMATS.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| format)
    }

    /// Validates a string, and returns what is wrong with it in Kubernetes' words. A valid string has no errors.
    pub fn validate(&self, text: &str) -> Vec<String> {
        (self.problems)(text)
    }
}

const fn format(
    name: &'static str,
    max_regex_size: u64,
    problems: fn(&str) -> Vec<String>,
) -> NamedFormat {
    NamedFormat {
        name,
        problems,
        max_regex_size,
    }
}

pub(crate) static FORMATS: [(&str, NamedFormat); 13] = [
    ("dns1123Label", format("DNS1123Label", 30, dns1123_label)),
    (
        "dns1123Subdomain",
        format("DNS1123Subdomain", 60, dns1123_subdomain),
    ),
    ("dns1035Label", format("DNS1035Label", 30, dns1035_label)),
    ("qualifiedName", format("QualifiedName", 60, qualified_name)),
    (
        "dns1123LabelPrefix",
        format("DNS1123LabelPrefix", 30, |text| {
            dns1123_label(&masked(text))
        }),
    ),
    (
        "dns1123SubdomainPrefix",
        format("DNS1123SubdomainPrefix", 60, |text| {
            dns1123_subdomain(&masked(text))
        }),
    ),
    (
        "dns1035LabelPrefix",
        format("DNS1035LabelPrefix", 30, |text| {
            dns1035_label(&masked(text))
        }),
    ),
    ("labelValue", format("LabelValue", 40, label_value)),
    (
        "uri",
        format("URI", 1_103, |text| {
            Url::parse_request(text).err().into_iter().collect()
        }),
    ),
    (
        "uuid",
        format("uuid", UUID.len() as u64, |text| {
            problem(is_uuid(text), "does not match the UUID format")
        }),
    ),
    (
        "byte",
        format("byte", 84, |text| {
            problem(is_base64(text), "invalid base64")
        }),
    ),
    (
        "date",
        format("date", DATE_TIME.len() as u64, |text| {
            problem(is_date(text), "invalid date")
        }),
    ),
    (
        "datetime",
        format("datetime", DATE_TIME.len() as u64, |text| {
            problem(is_date_time(text), "invalid datetime")
        }),
    ),
];

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const UUID: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const DATE_TIME: &str = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";

/// Whether a text is the name of a namespace.
pub(crate) fn is_dns1123_label(text: &str) -> bool {
    dns1123_label(text).is_empty()
}

/// Whether a text is the name of most objects.
pub(crate) fn is_dns1123_subdomain(text: &str) -> bool {
    dns1123_subdomain(text).is_empty()
}

fn problem(fits: bool, otherwise: &str) -> Vec<String> {
    if fits {
        Vec::new()
    } else {
        vec![otherwise.to_owned()]
    }
}

/// A prefix may end with a dash, since something will follow it.
fn masked(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let kept: String = rest.chars().take(rest.chars().count() - 1).collect();
            format!("{kept}a")
        }
        _ => text.to_owned(),
    }
}

/// Names are told how many characters they may have, and the parts of labels how many bytes.
fn too_long(text: &str, limit: usize, unit: &str) -> Option<String> {
    (text.len() > limit).then(|| format!("must be no more than {limit} {unit}"))
}

fn with_pattern(message: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples
        .iter()
        .map(|example| format!("'{example}', "))
        .collect();
    format!(
        "{message} (e.g. {}regex used for validation is '{pattern}')",
        examples.join(" or ")
    )
}

fn is_label(text: &str, first: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.first().is_some_and(|byte| first(*byte))
        && bytes.last().is_some_and(|byte| edge(*byte))
        && bytes.iter().all(|byte| edge(*byte) || *byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(|label| {
        is_label(label, |byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit()
        })
    })
}

fn dns1123_label(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63, "characters").into_iter().collect();
    if !is_subdomain(text) || text.contains('.') {
        problems.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            with_pattern(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    problems
}

fn dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain(text, "characters")
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 253, unit).into_iter().collect();
    if !is_subdomain(text) {
        problems.push(with_pattern(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            DNS1123_SUBDOMAIN,
            &["example.com"],
        ));
    }
    problems
}

fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63, "characters").into_iter().collect();
    if !is_label(text, |byte| byte.is_ascii_lowercase()) {
        problems.push(with_pattern(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            DNS1035_LABEL,
            &["my-name", "abc-123"],
        ));
    }
    problems
}

fn is_name_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn qualified_name(text: &str) -> Vec<String> {
    const RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    let pattern = || with_pattern(RULE, QUALIFIED_NAME, &["MyName", "my.name", "123-abc"]);
    let mut problems = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(
                    subdomain(prefix, "bytes")
                        .into_iter()
                        .map(|one| format!("prefix part {one}")),
                );
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                pattern()
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if let Some(long) = too_long(name, 63, "bytes") {
        problems.push(format!("name part {long}"));
    }
    if !is_name_part(name) {
        problems.push(format!("name part {}", pattern()));
    }
    problems
}

fn label_value(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63, "bytes").into_iter().collect();
    if !text.is_empty() && !is_name_part(text) {
        problems.push(with_pattern(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            LABEL_VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    problems
}

fn is_uuid(text: &str) -> bool {
    static PATTERN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(UUID).expect("a constant pattern"));
    PATTERN.is_match(text)
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

/// A day of the years 0 to 9999.
pub(crate) fn is_date(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = text.split('-').collect::<Vec<_>>()[..] else {
        return false;
    };
    let written = [(year, 4), (month, 2), (day, 2)];
    if !written
        .iter()
        .all(|(part, length)| part.len() == *length && digits(part))
    {
        return false;
    }
    let (year, month, day) = (year.parse(), month.parse(), day.parse());
    let (Ok(year), Ok(month), Ok(day)) = (year, month, day) else {
        return false;
    };
    jiff::civil::Date::new(year, month, day).is_ok()
}

pub(crate) fn is_date_time(text: &str) -> bool {
    static PATTERN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(DATE_TIME).expect("a constant pattern"));
    let lower = text.to_ascii_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    if text.len() < 4 || !is_date(date) {
        return false;
    }
    PATTERN.captures(time).is_some_and(|found| {
        let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
        part(1) <= "23" && part(2) <= "59" && part(3) <= "59"
    })
}
