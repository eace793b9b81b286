//! Query parameters: the options of each verb, checked as the real server checks them.

use std::num::{IntErrorKind, ParseIntError};

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::{
    field::{FieldError, Path},
    percent,
};
use kubewright_validation::metadata::field_manager;
use serde_json::{Map, Value};
use tokio::time::Duration;

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// What to do with fields that the kind does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The options that create, update and patch share.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    /// Whether an apply takes fields from other managers.
    pub(crate) force: bool,
    given: Map<String, Value>,
}

impl Query {
    /// Splits a query text.
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let pairs = text
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (
                        percent::decode_query(name).into_owned(),
                        percent::decode_query(value).into_owned(),
                    )
                })
                .collect(),
        )
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, empty if it is not there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Every value of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// A flag: there, and neither `false` nor `0`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| !value.eq_ignore_ascii_case("false") && value != "0")
    }

    /// A whole number.
    ///
    /// # Errors
    /// 400 with Go's words if it is not one.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|error| {
            let (text, why) = (quoted(text), go_words(&error));
            Status::bad_request(format!("strconv.ParseInt: parsing {text}: {why}"))
        })
    }

    /// The time that the client gives the request, `default` if it says nothing usable.
    ///
    /// # Errors
    /// 400 if it is not a Go duration.
    pub(crate) fn timeout(&self, default: Duration) -> Result<Duration> {
        const MAXIMUM: Duration = Duration::from_mins(1);
        let text = self.text("timeout");
        if text.is_empty() {
            return Ok(default);
        }
        let timeout = go_duration(text).map_err(|why| {
            Status::bad_request(format!(
                "invalid timeout specified in the request URL - {why}"
            ))
        })?;
        Ok(match timeout {
            Some(timeout) if !timeout.is_zero() && timeout <= MAXIMUM => timeout,
            _ => default,
        })
    }
}

impl WriteOptions {
    /// Reads the options of a write; `kind` is the word in error messages: `CreateOptions`.
    ///
    /// # Errors
    /// 422 for values that do not exist.
    pub(crate) fn read(query: &Query, kind: &str) -> Result<Self> {
        Self::read_besides(query, kind, Vec::new())
    }

    /// The same for a request that was found to be wrong in other options already.
    ///
    /// # Errors
    /// 422 for those and for values that do not exist.
    pub(crate) fn read_besides(
        query: &Query,
        kind: &str,
        mut errors: Vec<FieldError>,
    ) -> Result<Self> {
        let mut given = Map::new();
        let manager = query.text("fieldManager");
        if !manager.is_empty() {
            field_manager(manager, &Path::new("fieldManager"), &mut errors);
            given.insert("fieldManager".to_owned(), manager.into());
        }
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        if !dry_run.is_empty() {
            check_dry_run(&dry_run, &mut errors);
            given.insert("dryRun".to_owned(), dry_run.clone().into());
        }
        let word = query.text("fieldValidation");
        let field_validation = match word {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                let path = Path::new("fieldValidation");
                errors.push(FieldError::not_supported(&path, other, &supported));
                FieldValidation::Warn
            }
        };
        if !word.is_empty() {
            given.insert("fieldValidation".to_owned(), word.into());
        }
        if !errors.is_empty() {
            return Err(Status::invalid("meta.k8s.io", kind, "", &errors));
        }
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_validation,
            force: query.flag("force"),
            given,
        })
    }

    /// The field manager that the request names; empty if it names none.
    pub(crate) fn manager(&self) -> &str {
        self.given
            .get("fieldManager")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The options as an admission review shows them: never PatchOptions (spec section A.2.3).
    pub(crate) fn to_value(&self, kind: &str) -> Value {
        let mut options = self.given.clone();
        options.insert("kind".to_owned(), kind.into());
        options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
        Value::Object(options)
    }
}

/// What Go says of a number that cannot be parsed.
pub(crate) fn go_words(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

/// Only `All` is a dry run.
pub(crate) fn check_dry_run(values: &[&str], errors: &mut Vec<FieldError>) {
    if values.iter().any(|value| *value != "All") {
        let path = Path::new("dryRun");
        let values = Value::from(values.to_vec());
        errors.push(FieldError::not_supported(&path, values, &["All"]));
    }
}

/// A Go duration such as `1m30s`; none if it is negative.
fn go_duration(text: &str) -> std::result::Result<Option<Duration>, String> {
    let invalid = || format!("time: invalid duration {}", quoted(text));
    let (negative, mut rest) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(Some(Duration::ZERO));
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut seconds = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let number: f64 = rest[..digits].parse().map_err(|_| invalid())?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = &rest[..letters];
        seconds += number
            * match unit {
                "ns" => 1e-9,
                "us" | "µs" | "μs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "" => {
                    let text = quoted(text);
                    return Err(format!("time: missing unit in duration {text}"));
                }
                other => {
                    let (other, text) = (quoted(other), quoted(text));
                    return Err(format!("time: unknown unit {other} in duration {text}"));
                }
            };
        rest = &rest[letters..];
    }
    if negative {
        return Ok(None);
    }
    Duration::try_from_secs_f64(seconds)
        .map(Some)
        .map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let ok = |text, milliseconds| {
            assert_eq!(
                go_duration(text),
                Ok(Some(Duration::from_millis(milliseconds))),
                "{text}"
            );
        };
        ok("10s", 10_000);
        ok("1m30s", 90_000);
        ok("1.5s", 1_500);
        ok("0", 0);
        assert_eq!(go_duration("-1s"), Ok(None));
        let text = |text| go_duration(text).unwrap_err();
        assert_eq!(text("abc"), "time: invalid duration \"abc\"");
        assert_eq!(text("10"), "time: missing unit in duration \"10\"");
        assert_eq!(text("1d"), "time: unknown unit \"d\" in duration \"1d\"");
    }

    #[test]
    fn an_unusable_timeout_is_the_default() {
        let timeout = |text| {
            Query::parse(Some(text))
                .timeout(Duration::from_secs(34))
                .unwrap()
        };
        assert_eq!(timeout("timeout=2s"), Duration::from_secs(2));
        for text in ["", "timeout=", "timeout=0", "timeout=61s", "timeout=-1s"] {
            assert_eq!(timeout(text), Duration::from_secs(34), "{text}");
        }
    }

    #[test]
    fn unknown_options_are_refused_in_the_servers_words() {
        let read = |text| WriteOptions::read(&Query::parse(Some(text)), "CreateOptions");
        let options = read("dryRun=All&fieldManager=me&fieldValidation=Strict").unwrap();
        assert!(options.dry_run);
        assert_eq!(options.field_validation, FieldValidation::Strict);
        assert_eq!(
            read("dryRun=x").unwrap_err().message(),
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported values: \"All\"",
        );
        assert_eq!(read("fieldValidation=x").unwrap_err().code(), 422);
    }
}
