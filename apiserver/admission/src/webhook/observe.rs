//! Reports webhook calls to the observer.

use kubewright_webhook_client::calling;
use serde_json::Value;
use tokio::time::Instant;

use super::answer::Answer;
use super::call::Failure;
use super::configuration::Hook;
use crate::attributes::Attributes;
use crate::observer::{Call, Observer, Verdict};

/// A call that is over.
pub(super) struct Seen<'a> {
    pub(super) hook: &'a Hook,
    pub(super) mutating: bool,
    pub(super) again: bool,
    pub(super) request: &'a Attributes,
    pub(super) started: Instant,
}

impl Seen<'_> {
    pub(super) fn allowed(&self, observer: &dyn Observer, answer: &Answer, before: Option<&Value>) {
        let patch = Some(answer.patch.as_slice()).filter(|patch| !patch.is_empty());
        self.tell(observer, Verdict::Allowed, before, patch, &answer.warnings);
    }

    pub(super) fn failed(&self, observer: &dyn Observer, failure: &Failure) {
        match failure {
            Failure::Denied { status, warnings } => {
                self.tell(
                    observer,
                    Verdict::Denied(status.message()),
                    None,
                    None,
                    warnings,
                );
            }
            Failure::Refused(status) => {
                self.tell(observer, Verdict::Failed(status.message()), None, None, &[]);
            }
            Failure::Call { why, .. } => {
                let text = calling(&self.hook.name, why);
                let verdict = if self.hook.ignore_failure {
                    Verdict::Ignored(&text)
                } else {
                    Verdict::Failed(&text)
                };
                self.tell(observer, verdict, None, None, &[]);
            }
        }
    }

    fn tell(
        &self,
        observer: &dyn Observer,
        verdict: Verdict<'_>,
        before: Option<&Value>,
        patch: Option<&[u8]>,
        warnings: &[String],
    ) {
        observer.called(&Call {
            configuration: &self.hook.configuration,
            webhook: &self.hook.name,
            mutating: self.mutating,
            again: self.again,
            request: self.request,
            before,
            verdict,
            duration: self.started.elapsed(),
            patch,
            warnings,
        });
    }
}
