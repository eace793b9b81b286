//! The last reviews that were denied or failed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use kubewright_webhook::{Answered, Decision};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::moment::Moment;
use super::text::shown;

/// The last reviews of each hook that were not allowed, by the path of the hook. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct LastReviews(Arc<Mutex<HashMap<String, VecDeque<Refused>>>>);

/// A review that was denied or failed. The message of a denial is not kept: it may quote the object.
#[derive(Debug)]
struct Refused {
    at: Instant,
    uid: String,
    operation: &'static str,
    kind: String,
    namespace: Option<String>,
    name: Option<String>,
    is_dry_run: bool,
    decision: Decision,
    mode: &'static str,
    code: u16,
    /// Why it failed, as the API server was told.
    failure: Option<String>,
    denial: Denial,
}

/// The machine-readable part of a denial.
#[derive(Debug, Default)]
struct Denial {
    reason: String,
    causes: Vec<Cause>,
}

#[derive(Debug)]
struct Cause {
    field: String,
    reason: String,
}

impl LastReviews {
    /// Keeps a review if it was not allowed.
    pub(super) fn keep(&self, answered: &Answered<'_>) {
        if !matches!(answered.decision, Decision::Denied | Decision::Failed) {
            return;
        }
        let refused = Refused {
            at: Instant::now(),
            uid: cut(answered.uid),
            operation: answered.operation.as_str(),
            kind: cut(answered.kind),
            namespace: answered.namespace.map(cut),
            name: answered.name.map(cut),
            is_dry_run: answered.is_dry_run,
            decision: answered.decision,
            mode: answered.mode.as_str(),
            code: answered.code,
            failure: answered.failure.map(cut),
            denial: answered.answer.map(denial).unwrap_or_default(),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = all.entry(answered.path.to_owned()).or_default();
        last.truncate(LAST - 1);
        last.push_front(refused);
    }

    pub(super) fn of(&self, path: &str, now: &Moment) -> Vec<Value> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_hook = all.get(path).into_iter().flatten();
        of_hook.map(|refused| refused.show(now)).collect()
    }
}

impl Refused {
    fn show(&self, now: &Moment) -> Value {
        let causes = self.denial.causes.iter();
        let causes: Vec<Value> = causes
            .map(|cause| json!({"field": shown(&cause.field), "reason": shown(&cause.reason)}))
            .collect();
        json!({
            "at": now.ago(Instant::now().saturating_duration_since(self.at)),
            "uid": shown(&self.uid),
            "operation": self.operation,
            "kind": shown(&self.kind),
            "namespace": self.namespace.as_deref().map(shown),
            "name": self.name.as_deref().map(shown),
            "dryRun": self.is_dry_run,
            "decision": self.decision.as_str(),
            "mode": self.mode,
            "code": self.code,
            "reason": shown(&self.denial.reason),
            "causes": causes,
            "failure": self.failure.as_deref().map(shown),
        })
    }
}

fn denial(answer: &[u8]) -> Denial {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let status = &answer["response"]["status"];
    let text = |of: &Value, field| cut(of[field].as_str().unwrap_or_default());
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let causes = causes.take(CAUSES).map(|cause| Cause {
        field: text(cause, "field"),
        reason: text(cause, "reason"),
    });
    Denial {
        reason: text(status, "reason"),
        causes: causes.collect(),
    }
}

/// What callers send may have any length.
fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(LONGEST)].to_owned()
}

/// So many are kept of each hook.
const LAST: usize = 20;
const CAUSES: usize = 8;
/// The longest name that an object can have.
const LONGEST: usize = 253;
