//! What became of a request: done, denied by a webhook, or failed. They are never confused with each other.

use std::fmt::Debug;

use kube::Error;
use kube::core::Status;

use crate::fail;

/// The answer to a request that passed through admission.
#[derive(Debug)]
#[must_use = "an outcome that nobody looks at proves nothing"]
pub struct Outcome<K>(Result<K, Error>);

/// A refusal by an admission webhook.
#[derive(Clone, Debug)]
pub struct Denied {
    webhook: String,
    message: String,
    status: Box<Status>,
}

impl<K: Debug> Outcome<K> {
    pub(crate) fn new(result: Result<K, Error>) -> Self {
        Self(result)
    }

    /// The object as it was stored.
    ///
    /// # Panics
    /// The request was refused or failed; the message says how.
    #[track_caller]
    pub fn expect_allowed(self) -> K {
        match self.0 {
            Ok(object) => object,
            Err(error) => fail(format_args!(
                "expected the request to be allowed, but: {error}"
            )),
        }
    }

    /// The refusal, which must come from a webhook that said no.
    ///
    /// # Panics
    /// The request was allowed, or it failed for another reason: an unreachable webhook, an invalid object, a missing
    /// permission. None of those is a denial.
    #[track_caller]
    pub fn expect_denied(self) -> Denied {
        let error = match self.0 {
            Ok(object) => fail(format_args!(
                "expected a denial, but the request was allowed: {object:?}"
            )),
            Err(error) => error,
        };
        let Error::Api(status) = error else {
            fail(format_args!(
                "expected a denial, but the request failed: {error}"
            ))
        };
        Denied::read(status).unwrap_or_else(|status| {
            fail(format_args!(
                "expected a denial by a webhook, but the API server answered {} {}: {}",
                status.code, status.reason, status.message
            ))
        })
    }

    /// The Status of a request that was refused or failed, by whomever.
    ///
    /// # Panics
    /// The request was allowed, or there was no answer at all.
    #[track_caller]
    pub fn expect_status(self) -> Status {
        match self.0 {
            Ok(object) => fail(format_args!(
                "expected an error, but the request was allowed: {object:?}"
            )),
            Err(Error::Api(status)) => *status,
            Err(error) => fail(format_args!(
                "expected an answer of the API server, but: {error}"
            )),
        }
    }
}

impl Denied {
    fn read(status: Box<Status>) -> Result<Self, Box<Status>> {
        let read = || {
            let rest = status.message.strip_prefix("admission webhook \"")?;
            let (webhook, rest) = rest.split_once("\" denied the request")?;
            let message = rest.strip_prefix(": ").unwrap_or_default();
            Some((webhook.to_owned(), message.to_owned()))
        };
        match read() {
            Some((webhook, message)) => Ok(Self {
                webhook,
                message,
                status,
            }),
            None => Err(status),
        }
    }

    /// The full name of the webhook that denied.
    pub fn by(&self) -> &str {
        &self.webhook
    }

    /// What the webhook said; empty when it gave no explanation.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The HTTP status code that the client saw.
    pub fn code(&self) -> u16 {
        self.status.code
    }

    /// The whole answer.
    pub fn status(&self) -> &Status {
        &self.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, message: &str) -> Outcome<()> {
        let status = Status {
            code,
            message: message.to_owned(),
            ..Status::default()
        };
        Outcome::new(Err(Error::Api(Box::new(status))))
    }

    #[test]
    fn a_denial_names_its_webhook() {
        let denied = refused(
            402,
            r#"admission webhook "a.b.c" denied the request: no: thanks"#,
        )
        .expect_denied();
        assert_eq!(
            (denied.by(), denied.message(), denied.code()),
            ("a.b.c", "no: thanks", 402)
        );
    }

    #[test]
    fn a_denial_may_have_no_explanation() {
        let text = r#"admission webhook "a.b.c" denied the request without explanation"#;
        assert_eq!(refused(400, text).expect_denied().message(), "");
    }

    #[test]
    #[should_panic(expected = "expected a denial by a webhook")]
    fn a_failed_call_is_no_denial() {
        let text = r#"Internal error occurred: failed calling webhook "a.b.c": connection refused"#;
        let _ = refused(500, text).expect_denied();
    }

    #[test]
    #[should_panic(expected = "expected a denial, but the request was allowed")]
    fn an_allowed_request_is_no_denial() {
        let _ = Outcome::new(Ok(())).expect_denied();
    }
}
