//! One webhook call, from the dry-run check to a judged answer (A.10, A.11).

use bytes::Bytes;
use kubewright_apimachinery::status::Status;
use kubewright_webhook_client::{Reach, ReviewVersion, calling};
use tokio::time::Instant;
use uuid::Uuid;

use super::answer::{self, Answer, Sort};
use super::configuration::{DryRun, Hook};
use super::select::Invocation;
use super::{denial, review};
use crate::attributes::Attributes;
use crate::forms::Form;
use crate::notes::Notes;

/// Why a webhook did not let the request pass.
#[derive(Debug)]
pub(super) enum Failure {
    /// The call failed; `failurePolicy` decides. The code is for metrics alone.
    Call { code: u16, why: String },
    /// The webhook refused the request.
    Denied {
        status: Status,
        warnings: Vec<String>,
    },
    /// The request fails whatever the policy says.
    Refused(Status),
}

/// A call that is ready to be sent.
pub(super) struct Prepared {
    version: ReviewVersion,
    uid: String,
    body: Bytes,
}

impl Prepared {
    /// The review.
    pub(super) fn into_body(self) -> Bytes {
        self.body
    }
}

/// The code of a call that a webhook gave none.
pub(super) const UNAVAILABLE: u16 = 503;

impl Failure {
    pub(super) fn call(code: u16, why: impl Into<String>) -> Self {
        let why = why.into();
        Self::Call { code, why }
    }

    /// What the client reads.
    pub(super) fn into_status(self, webhook: &str) -> Status {
        match self {
            Self::Call { why, .. } => Status::internal(&calling(webhook, &why)),
            Self::Denied { status, .. } | Self::Refused(status) => status,
        }
    }
}

/// Checks that the call may be made and writes the review.
pub(super) fn prepare(
    attributes: &Attributes,
    invocation: &Invocation,
    form: &mut Form<'_>,
) -> Result<Prepared, Failure> {
    let hook = &invocation.hook;
    if attributes.dry_run {
        match hook.dry_run {
            DryRun::Supported => {}
            DryRun::Unsupported => {
                return Err(Failure::Refused(denial::dry_run_unsupported(&hook.name)));
            }
            DryRun::Unknown => return Err(Failure::call(400, "Webhook SideEffects is nil")),
        }
    }
    let version = hook.review.ok_or_else(|| {
        Failure::call(
            400,
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
        )
    })?;
    let uid = Uuid::new_v4().to_string();
    let (object, old) = form.encoded();
    let body = review::write(
        version,
        &uid,
        attributes,
        &invocation.matched,
        &object,
        &old,
    );
    Ok(Prepared { version, uid, body })
}

/// Adds an audit annotation if a serving certificate relies on the Common Name, which is no longer accepted.
fn warn_of_certificate(hook: &Hook, why: &str, notes: &Notes) {
    if why.contains("x509: certificate relies on legacy Common Name field")
        && let Some(host) = hook.target.host()
    {
        notes.annotate(
            &format!("missing-san.invalid-cert.kubernetes.io/{host}"),
            "relies on a legacy Common Name field instead of the SAN extension for subject validation",
        );
    }
}

/// Sends the review and judges the answer up to `allowed`; what the answer says on the side goes to `notes`.
pub(super) async fn call(
    reach: Reach<'_>,
    prepared: Prepared,
    sort: Sort,
    invocation: &Invocation,
    request_deadline: Instant,
    notes: &Notes,
) -> Result<Answer, Failure> {
    let hook = &invocation.hook;
    let endpoint = reach.client.endpoint(&hook.target).map_err(|why| {
        let why = why.shown(&hook.name);
        Failure::call(500, format!("could not get REST client: {why}"))
    })?;
    let deadline = request_deadline.min(Instant::now() + hook.timeout);
    let failed = |code, why: &str| Failure::call(code, format!("failed to call webhook: {why}"));
    let reply = endpoint
        .post(reach.cluster, prepared.body, deadline)
        .await
        .map_err(|error| {
            let why = error.to_string();
            warn_of_certificate(hook, &why, notes);
            failed(error.code().unwrap_or(UNAVAILABLE), &why)
        })?;
    let review = answer::decode(&reply, prepared.version);
    let review = review.map_err(|why| failed(UNAVAILABLE, &why))?;
    let answer = review.verify(sort, &prepared.uid).map_err(|why| {
        Failure::call(
            UNAVAILABLE,
            format!("received invalid webhook response: {why}"),
        )
    })?;
    for (key, value) in &answer.audit_annotations {
        notes.annotate(&format!("{}/{key}", hook.name), value.as_str());
    }
    for warning in &answer.warnings {
        notes.warn(warning);
    }
    if answer.allowed {
        Ok(answer)
    } else {
        let status = denial::denied(&hook.name, answer.result.as_ref());
        Err(Failure::Denied {
            status,
            warnings: answer.warnings,
        })
    }
}
