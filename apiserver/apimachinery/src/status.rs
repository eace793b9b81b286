//! `metav1.Status`: all errors that a client sees, with the messages of the real API server.
//!
//! The constructors cover every kind of error. Handlers return an error as a value; only the listener serializes it.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::field::FieldError;
use crate::go_text::quoted;

/// A failure as the client sees it.
///
/// ```
/// use kubewright_apimachinery::status::Status;
///
/// let status = Status::not_found("apps", "deployments", "web");
/// assert_eq!(status.code(), 404);
/// assert_eq!(status.to_value()["message"], r#"deployments.apps "web" not found"#);
/// assert_eq!(status.to_value()["details"]["kind"], "deployments");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Status(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    code: u16,
    reason: String,
    message: String,
    details: Option<Map<String, Value>>,
    metadata: Map<String, Value>,
    status: String,
    refuses_access: bool,
}

/// Result of a handler: a value, or the failure to return to the client.
pub type Result<T> = std::result::Result<T, Status>;

impl Status {
    /// A failure with any code, reason (empty for none) and message.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: None,
            metadata: Map::new(),
            status: "Failure".to_owned(),
            refuses_access: false,
        }))
    }

    /// 404: `<resource[.group]> "<name>" not found`.
    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {} not found", qualified(plural, group), quoted(name));
        Self::new(404, "NotFound", message).about(group, plural, name)
    }

    /// 404 for a path below a known group and version that names nothing.
    pub fn no_such_resource() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_details(Map::new())
    }

    /// 409: `<resource[.group]> "<name>" already exists`.
    pub fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let message = format!(
            "{} {} already exists",
            qualified(plural, group),
            quoted(name)
        );
        Self::new(409, "AlreadyExists", message).about(group, plural, name)
    }

    /// 409: `Operation cannot be fulfilled on <resource[.group]> "<name>": <why>`.
    pub fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let on = qualified(plural, group);
        let message = format!(
            "Operation cannot be fulfilled on {on} {}: {why}",
            quoted(name)
        );
        Self::new(409, "Conflict", message).about(group, plural, name)
    }

    /// 422: `<Kind[.group]> "<name>" is invalid: …`, with one cause per field error.
    ///
    /// Lists repeated errors once, in the order in which validation found them.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let mut messages: Vec<String> = Vec::new();
        let mut causes = Vec::new();
        for error in errors {
            let message = error.to_string();
            if !messages.contains(&message) {
                messages.push(message);
            }
            causes.push(json!({
                "reason": error.reason().as_str(),
                "message": error.body(),
                "field": error.field(),
            }));
        }
        let list = if messages.len() == 1 {
            messages.remove(0)
        } else {
            format!("[{}]", messages.join(", "))
        };
        let message = format!(
            "{} {} is invalid: {list}",
            qualified(kind, group),
            quoted(name)
        );
        let mut status = Self::new(422, "Invalid", message).about(group, kind, name);
        if !causes.is_empty() {
            status
                .details_mut()
                .insert("causes".to_owned(), Value::Array(causes));
        }
        status
    }

    /// 403: `<resource[.group]> "<name>" is forbidden: <why>`; without a name, `<resource[.group]> is forbidden: <why>`.
    pub fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let on = qualified(plural, group);
        let message = if name.is_empty() {
            format!("{on} is forbidden: {why}")
        } else {
            format!("{on} {} is forbidden: {why}", quoted(name))
        };
        Self::new(403, "Forbidden", message).about(group, plural, name)
    }

    /// 400 with the given text.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401 `Unauthorized`.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 405: `<verb> is not supported on resources of kind "<resource[.group]>"`.
    pub fn verb_not_supported(group: &str, plural: &str, verb: &str) -> Self {
        let on = quoted(&qualified(plural, group));
        let message = format!("{verb} is not supported on resources of kind {on}");
        Self::new(405, "MethodNotAllowed", message).about(group, plural, "")
    }

    /// 405: the path exists, the method does not.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_details(Map::new())
    }

    /// 410 Expired with the given text.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 406: `only the following media types are accepted: …`.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            accepted.join(", ")
        );
        Self::new(406, "NotAcceptable", message)
    }

    /// 413: `Request entity too large: <why>`.
    pub fn too_large(why: &str) -> Self {
        let message = format!("Request entity too large: {why}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 415: `the body of the request was in an unknown format - accepted media types include: …`.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 500: `Internal error occurred: <why>`, with the text as its cause.
    pub fn internal(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        let mut status = Self::new(500, "InternalError", message);
        status
            .details_mut()
            .insert("causes".to_owned(), json!([{ "message": why }]));
        status
    }

    /// Returns the failure that the real server makes of an unexpected error with this message: an internal error, unless it is one.
    #[must_use]
    pub fn into_internal(self) -> Self {
        if self.code() != 500 {
            return self;
        }
        Self::internal(self.message())
    }

    /// 500 with a plain text and no reason: what the real server does with an error that is not a Status.
    pub fn plain(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 504: `Timeout: <why>`.
    pub fn timeout(why: &str) -> Self {
        Self::new(504, "Timeout", format!("Timeout: {why}")).with_details(Map::new())
    }

    /// The HTTP status code.
    #[inline]
    pub fn code(&self) -> u16 {
        self.0.code
    }

    /// The reason word; empty where the real server sends none.
    #[inline]
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The sentence for people.
    #[inline]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The details, to add to.
    pub fn details_mut(&mut self) -> &mut Map<String, Value> {
        self.0.details.get_or_insert_default()
    }

    /// The list metadata (`continue` of an expired page).
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0.metadata
    }

    /// Replaces the code and the reason.
    #[must_use]
    pub fn with_reason(mut self, code: u16, reason: &str) -> Self {
        self.0.code = code;
        reason.clone_into(&mut self.0.reason);
        self
    }

    /// Puts a text before the message.
    #[must_use]
    pub fn with_message_before(mut self, text: &str) -> Self {
        self.0.message.insert_str(0, text);
        self
    }

    /// Puts a text behind the message.
    #[must_use]
    pub fn with_message_behind(mut self, text: &str) -> Self {
        self.0.message.push_str(text);
        self
    }

    /// Replaces the details.
    #[must_use]
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.0.details = Some(details);
        self
    }

    /// Replaces the word in `status`, which a webhook may choose freely.
    #[must_use]
    pub fn with_status_word(mut self, word: &str) -> Self {
        word.clone_into(&mut self.0.status);
        self
    }

    /// Marks the failure as one of authentication or authorization, which no handler has seen. Clients do not see the mark.
    #[must_use]
    pub fn refusing_access(mut self) -> Self {
        self.0.refuses_access = true;
        self
    }

    /// Returns whether authentication or authorization refused the request.
    #[inline]
    pub fn refuses_access(&self) -> bool {
        self.0.refuses_access
    }

    /// The object as the client reads it.
    pub fn to_value(&self) -> Value {
        let Inner {
            code,
            reason,
            message,
            details,
            metadata,
            status,
            refuses_access: _,
        } = &*self.0;
        let mut object = Map::new();
        object.insert("kind".to_owned(), "Status".into());
        object.insert("apiVersion".to_owned(), "v1".into());
        object.insert("metadata".to_owned(), Value::Object(metadata.clone()));
        object.insert("status".to_owned(), status.as_str().into());
        object.insert("message".to_owned(), message.as_str().into());
        if !reason.is_empty() {
            object.insert("reason".to_owned(), reason.as_str().into());
        }
        if let Some(details) = details {
            object.insert("details".to_owned(), Value::Object(details.clone()));
        }
        object.insert("code".to_owned(), (*code).into());
        Value::Object(object)
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let details = self.details_mut();
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
        self
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Status {}

/// `deployments.apps`, or `pods` for the core group.
pub fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}
