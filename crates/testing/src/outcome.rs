//! What became of a request: done, denied by a webhook or a policy, or failed. They are never confused with each other.

use std::fmt::Debug;

use kube::Error;
use kube::core::Status;

use crate::fail;

/// The answer to a request that passed through admission: the stored object, or the Status of a failure.
///
/// Its methods say which answer the test expects; any other answer fails the test at the line of the call.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::{TestCluster, yaml};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::start().await;
/// let map: ConfigMap = yaml("metadata: {name: web}");
/// let stored = cluster.create(&map).await.expect_allowed();
/// assert!(stored.metadata.uid.is_some());
///
/// let status = cluster.create(&map).await.expect_status();
/// assert!(status.is_already_exists());
/// # });
/// ```
#[derive(Debug)]
#[must_use = "an outcome that is not checked proves nothing"]
pub struct Outcome<K>(Result<K, Error>);

/// A denial by an admission webhook or a ValidatingAdmissionPolicy.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::{TestCluster, yaml};
/// use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
///
/// async fn frozen(_: Change<ConfigMap>, _: Review) -> Validated {
///     deny("the release is frozen")
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let webhooks = Webhooks::new("policy.example.com").with(validating("frozen", frozen));
/// let cluster = TestCluster::builder().webhooks(webhooks).start().await;
/// let map: ConfigMap = yaml("metadata: {name: web}");
/// let denied = cluster.create(&map).await.expect_denied();
/// assert_eq!(denied.by(), "frozen.policy.example.com");
/// assert_eq!(denied.message(), "the release is frozen");
/// assert_eq!(denied.code(), 403);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Denied {
    by: String,
    message: String,
    status: Box<Status>,
}

impl<K: Debug> Outcome<K> {
    pub(crate) fn new(result: Result<K, Error>) -> Self {
        Self(result)
    }

    /// Returns the object as stored, with the defaults of the API server and the changes of mutating webhooks.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Service;
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let service: Service = yaml("
    ///     metadata: {name: web}
    ///     spec: {ports: [{port: 80}]}
    /// ");
    /// let stored = cluster.create(&service).await.expect_allowed();
    /// assert_eq!(stored.spec.unwrap().type_.as_deref(), Some("ClusterIP"));
    /// # });
    /// ```
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

    /// Returns the denial, which must come from a webhook that answered.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    /// use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
    ///
    /// async fn named(change: Change<ConfigMap>, _: Review) -> Validated {
    ///     match &change.object().data {
    ///         Some(_) => Ok(()),
    ///         None => deny("a ConfigMap needs data"),
    ///     }
    /// }
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("data", named));
    /// let cluster = TestCluster::builder().webhooks(webhooks).start().await;
    /// let empty: ConfigMap = yaml("metadata: {name: web}");
    /// let denied = cluster.create(&empty).await.expect_denied();
    /// assert_eq!(denied.message(), "a ConfigMap needs data");
    /// # });
    /// ```
    ///
    /// # Panics
    /// The request was allowed, or it failed for another reason: an unreachable webhook, a policy whose expression fails, an invalid
    /// object, a missing permission. None of those is a denial.
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
                "expected a denial by a webhook or a policy, but the API server answered {} {}: {}",
                status.code, status.reason, status.message
            ))
        })
    }

    /// Returns the Status of a request that failed for any reason: validation, admission, a conflict, a missing permission.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let invalid: ConfigMap = yaml("metadata: {name: Not_A_Name}");
    /// let status = cluster.create(&invalid).await.expect_status();
    /// assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    /// # });
    /// ```
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
        let denial = by_webhook(&status.message).or_else(|| by_policy(&status.message));
        match denial.map(|(by, message)| (by.to_owned(), message.to_owned())) {
            Some((by, message)) => Ok(Self {
                by,
                message,
                status,
            }),
            None => Err(status),
        }
    }

    /// Returns the full name of the webhook that denied the request, which is the name of the hook and the domain of its
    /// [`Webhooks`](kubewright_webhook::Webhooks), or the name of the policy.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// What the webhook or the policy said; empty when a webhook gave no explanation.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the HTTP status code that the client saw: 403, unless the webhook chose another; 422 from a policy, unless the `reason` of
    /// the validation is another.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kubewright_testing::{TestCluster, yaml};
    /// use kubewright_webhook::{Change, Denial, Review, Validated, Webhooks, validating};
    ///
    /// async fn busy(_: Change<ConfigMap>, _: Review) -> Validated {
    ///     Err(Denial::new("the quota is used up").code(429).into())
    /// }
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let webhooks = Webhooks::new("policy.example.com").with(validating("busy", busy));
    /// # let cluster = TestCluster::builder().webhooks(webhooks).start().await;
    /// # let map: ConfigMap = yaml("metadata: {name: web}");
    /// assert_eq!(cluster.create(&map).await.expect_denied().code(), 429);
    /// # });
    /// ```
    pub fn code(&self) -> u16 {
        self.status.code
    }

    /// Returns the whole `Status`, as the client saw it.
    pub fn status(&self) -> &Status {
        &self.status
    }
}

/// The webhook that denied, and what it said.
fn by_webhook(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("admission webhook \"")?;
    let (webhook, rest) = rest.split_once("\" denied the request")?;
    Some((webhook, rest.strip_prefix(": ").unwrap_or_default()))
}

/// The policy that denied, and what it said. A policy that could not be evaluated has not denied, although the API server says so.
fn by_policy(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once(" is forbidden: ValidatingAdmissionPolicy '")?;
    let (policy, rest) = rest.split_once("' with binding '")?;
    let (_, said) = rest.split_once("' denied request: ")?;
    let failures = [
        "failed to configure ",
        "compilation error: ",
        "failed messageExpression: ",
    ];
    let failed = failures.iter().any(|failure| said.starts_with(failure))
        || said.starts_with("expression '") && said.contains("' resulted in error: ")
        || said.starts_with("validation failed due to running out of cost budget");
    (!failed).then_some((policy, said))
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
    fn a_denial_names_its_policy() {
        let message = "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
        let denied = refused(422, message).expect_denied();
        assert_eq!((denied.by(), denied.message()), ("p", "no"));
    }

    #[test]
    fn a_policy_that_fails_has_not_denied() {
        let by = "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p'";
        for said in [
            " denied request: failed to configure policy: no such kind",
            " with binding 'b' denied request: failed to configure binding: no params found",
            " with binding 'b' denied request: expression 'object.a' resulted in error: no such key: a",
            " with binding 'b' denied request: compilation error: compilation failed",
            " with binding 'b' denied request: validation failed due to running out of cost budget, no further validation rules will be run",
        ] {
            let message = format!("{by}{said}");
            assert_eq!(by_policy(&message), None, "{message}");
        }
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
