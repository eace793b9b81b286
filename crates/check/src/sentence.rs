//! The sentences of the API server, taken apart: which rule spoke, and of which field.

use std::sync::LazyLock;

use kubewright_apimachinery::view::View as _;
use regex::Regex;
use serde_json::Value;

/// One thing that the API server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) rule: String,
    pub(crate) message: String,
    pub(crate) field: Option<String>,
    /// Whether the name of the field is at fault, rather than its value.
    pub(crate) of_name: bool,
}

impl Sentence {
    fn new(rule: &str, message: impl Into<String>, field: Option<&str>) -> Self {
        Self {
            rule: rule.to_owned(),
            message: message.into(),
            field: field.filter(|field| !field.is_empty()).map(str::to_owned),
            of_name: false,
        }
    }

    fn of_name(mut self) -> Self {
        self.of_name = true;
        self
    }

    /// The policy that spoke: its kind, its name, and what its validation says.
    pub(crate) fn policy(&self) -> Option<(&str, &str, &str)> {
        let (kind, name) = self.rule.split_once('/')?;
        let (_, said) = self
            .message
            .split_once("denied request: ")
            .unwrap_or(("", &self.message));
        kind.ends_with("AdmissionPolicy")
            .then_some((kind, name, said))
    }
}

/// What a Status with a failure says.
pub(crate) fn of_status(status: &Value) -> Vec<Sentence> {
    let message = status.text("message");
    if let Some(why) = of_patch(status) {
        return vec![Sentence::new("FieldValueInvalid", why, None)];
    }
    let causes = status.at("details").list("causes");
    let of_fields: Vec<Sentence> = causes
        .iter()
        .filter(|cause| !cause.text("field").is_empty())
        .map(|cause| {
            let field = cause.text("field");
            let field = if field == "<nil>" { "" } else { field };
            Sentence::new(cause.text("reason"), cause.text("message"), Some(field))
        })
        .collect();
    if !of_fields.is_empty() {
        return of_fields;
    }
    if let Some((_, strict)) = message.split_once("strict decoding error: ") {
        let found: Vec<Sentence> = STRICT
            .captures_iter(strict)
            .map(|found| strict_error(&found[1], &found[2]))
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    if let Some(found) = GO_FIELD.captures(message) {
        return vec![Sentence::new(
            "FieldValueTypeInvalid",
            &found[0],
            Some(&found[2]),
        )];
    }
    if let Some(found) = POLICY.captures(message) {
        let rule = format!("{}/{}", &found[1], &found[2]);
        return vec![Sentence::new(&rule, &found[0], None)];
    }
    if let Some((_, violated)) = message.split_once("violates PodSecurity ") {
        let message = format!("violates PodSecurity {violated}");
        return vec![Sentence::new("PodSecurity", message, None)];
    }
    if is_of_quota(status) {
        return vec![Sentence::new("ResourceQuota", message, None)];
    }
    if let Some(found) = WEBHOOK.captures(message) {
        let rule = format!("webhook/{}", &found[1]);
        return vec![Sentence::new(&rule, message, None)];
    }
    if message == "resource name may not be empty" {
        return vec![Sentence::new("Required", message, Some("metadata"))];
    }
    let reason = match status.text("reason") {
        "" => "Unknown",
        reason => reason,
    };
    vec![Sentence::new(reason, message, None)]
}

/// What could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable {
    why: String,
    /// The JSON type of the value, if it is the wrong one.
    pub(crate) of_type: Option<String>,
    /// How many names lead to the field, if it is named.
    pub(crate) names: usize,
}

/// What a Status says of a value that could not be decoded.
pub(crate) fn undecodable(status: &Value) -> Option<Undecodable> {
    let message = status.text("message");
    if let Some(found) = GO_FIELD.captures(message) {
        return Some(Undecodable {
            why: found[0].to_owned(),
            of_type: Some(found[1].to_owned()),
            names: found[2].split('.').count(),
        });
    }
    let why = of_patch(status).or_else(|| {
        let is_it = message.contains(" cannot be handled as a ") && !is_of_strict_decoding(status);
        is_it.then_some(message)
    })?;
    Some(Undecodable {
        why: why.to_owned(),
        of_type: None,
        names: 0,
    })
}

/// Why a patch could not be applied. The API server shows the patch as if it were the value of a field.
fn of_patch(status: &Value) -> Option<&str> {
    let [cause] = status.at("details").list("causes") else {
        return None;
    };
    let (_, why) = cause.text("message").rsplit_once("\": ")?;
    (cause.text("field") == "patch").then_some(why)
}

/// Whether a Status is about unknown or repeated fields, before anything else was looked at.
pub(crate) fn is_of_strict_decoding(status: &Value) -> bool {
    status.text("message").contains("strict decoding error: ")
}

/// Whether a Status is about what is left of a ResourceQuota.
pub(crate) fn is_of_quota(status: &Value) -> bool {
    status
        .text("message")
        .contains("is forbidden: exceeded quota: ")
}

/// What a warning says.
pub(crate) fn of_warning(text: &str) -> Sentence {
    if let Some(found) = WARNED_POLICY.captures(text) {
        let rule = format!("{}/{}", &found[1], &found[2]);
        return Sentence::new(&rule, &found[3], None);
    }
    if text.starts_with("would violate PodSecurity ") {
        return Sentence::new("PodSecurity", text, None);
    }
    if DEPRECATED_KIND.is_match(text) {
        return Sentence::new("Deprecated", text, Some("apiVersion"));
    }
    let rule = if text.contains("deprecated") {
        "Deprecated"
    } else {
        "Warning"
    };
    match WARNED_FIELD.captures(text) {
        Some(found) => Sentence::new(rule, &found[2], Some(&found[1])),
        None => Sentence::new(rule, text, None),
    }
}

fn strict_error(what: &str, field: &str) -> Sentence {
    let rule = if what == "unknown" {
        "UnknownField"
    } else {
        "DuplicateField"
    };
    Sentence::new(rule, format!("{what} field \"{field}\""), Some(field)).of_name()
}

fn pattern(text: &str) -> Regex {
    #[expect(
        clippy::expect_used,
        reason = "the patterns are constants, which the tests compile"
    )]
    Regex::new(text).expect("a pattern of this file is valid")
}

static STRICT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(unknown|duplicate) field "([^"]*)""#));
static GO_FIELD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"json: cannot unmarshal (\w+).* into Go struct field \w+\.(\S+) of type \S+")
});
static POLICY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?s)((?:Validating|Mutating)AdmissionPolicy) '([^']*)' with binding '[^']*' denied request: .*",
    )
});
static WARNED_POLICY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?s)^Validation failed for (ValidatingAdmissionPolicy) '([^']*)' with binding '[^']*': (.*)",
    )
});
static WEBHOOK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"admission webhook "([^"]*)" denied the request"#));
static DEPRECATED_KIND: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\S+ \w+ is deprecated in v\d"));
static WARNED_FIELD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?s)^((?:metadata|spec|status|data|webhooks|rules|subsets|template)\S*): (.*)")
});
