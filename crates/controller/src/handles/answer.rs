//! Why a request failed, fit for a log: what the API server says of an object that it refuses quotes the object.

use std::error::Error;
use std::fmt;

use kube::core::Status;

use super::undecodable::Undecodable;

/// A request that failed. It shows no values of objects, neither as text nor for debugging.
pub(crate) struct Answer(pub(crate) kube::Error);

impl Answer {
    pub(crate) fn status(&self) -> Option<&Status> {
        match &self.0 {
            kube::Error::Api(status) => Some(status),
            _ => None,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            kube::Error::Api(status) => describe(status, formatter),
            kube::Error::SerdeError(error) => {
                let error = Undecodable::from(error);
                write!(formatter, "the answer cannot be read: {error}")
            }
            other => {
                write!(formatter, "{other}")?;
                // kube's messages include that of the direct cause, but not those of its causes.
                let mut cause = other.source().and_then(Error::source);
                while let Some(error) = cause {
                    write!(formatter, ": {error}")?;
                    cause = error.source();
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Error for Answer {}

fn describe(status: &Status, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(formatter, "the API server answers {}", status.code)?;
    if !status.reason.is_empty() {
        write!(formatter, " {}", status.reason)?;
    }
    // `Invalid value: "…"` in the one, and lines of the body in the other.
    if !matches!(status.code, 400 | 422) {
        return match &*status.message {
            "" => Ok(()),
            message => write!(formatter, ": {message}"),
        };
    }
    let details = status.details.iter();
    for (number, cause) in details.flat_map(|details| &details.causes).enumerate() {
        let joint = if number == 0 { ":" } else { "," };
        write!(formatter, "{joint} {} ({})", cause.field, cause.reason)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: serde_json::Value) -> Answer {
        let status: Status = serde_json::from_value(status).unwrap();
        Answer(kube::Error::Api(Box::new(status)))
    }

    #[test]
    fn what_is_invalid_is_named_and_not_quoted() {
        let answer = answer(json!({
            "status": "Failure", "code": 422, "reason": "Invalid",
            "message": "Widget \"a\" is invalid: spec.password: Invalid value: \"hunter2\": too short",
            "details": {"causes": [
                {"reason": "FieldValueInvalid", "message": "Invalid value: \"hunter2\": too short", "field": "spec.password"},
                {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.user"},
            ]},
        }));
        assert_eq!(
            answer.to_string(),
            "the API server answers 422 Invalid: spec.password (FieldValueInvalid), spec.user (FieldValueRequired)"
        );
        assert!(!format!("{answer:?}").contains("hunter2"));
    }

    #[test]
    fn other_refusals_are_told_as_the_api_server_words_them() {
        let forbidden = answer(json!({
            "status": "Failure", "code": 403, "reason": "Forbidden", "message": "pods is forbidden: no",
        }));
        assert_eq!(
            forbidden.to_string(),
            "the API server answers 403 Forbidden: pods is forbidden: no"
        );
    }

    #[test]
    fn an_answer_of_another_type_is_not_quoted() {
        let error = serde_json::from_str::<u8>(r#""hunter2""#).unwrap_err();
        let answer = Answer(kube::Error::SerdeError(error));
        assert!(!answer.to_string().contains("hunter2"), "{answer}");
    }
}
