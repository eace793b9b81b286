//! What a version of a program answers to a review, and whether two of them answer alike.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use kubewright_testing::Recording;
use serde_json::{Value, json};

use super::event::Event;
use crate::dev::diff;
use crate::ui::{Tone, Ui};

/// How a hook decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The API server would not call the hook.
    NotCalled,
    Allowed,
    Changed,
    Denied,
    Failed,
}

impl Decision {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::NotCalled => "not called",
            Self::Allowed => "allowed",
            Self::Changed => "changed",
            Self::Denied => "denied",
            Self::Failed => "failed",
        }
    }
}

/// A decision with everything that is compared and shown of it.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    /// Whether the hook is in shadow mode, so that the decision has no effect.
    pub(crate) is_shadow: bool,
    /// The HTTP status code of a denial or a failure.
    code: Option<u16>,
    /// The message of a denial or a failure.
    message: String,
    /// The response without the parts that differ between any two reviews.
    compared: Value,
    /// The response without sensitive values.
    shown: Value,
}

impl Answer {
    /// The API server would not call the hook, which has the effect of an answer that allows.
    pub(crate) fn not_called() -> Self {
        Self {
            decision: Decision::NotCalled,
            is_shadow: false,
            code: None,
            message: String::new(),
            compared: json!({"allowed": true}),
            shown: json!({"called": false}),
        }
    }

    /// The request would fail before the hook is called.
    pub(crate) fn unmade(message: String) -> Self {
        Self {
            decision: Decision::Failed,
            is_shadow: false,
            code: None,
            compared: json!({"failed": message}),
            shown: json!({"failed": message}),
            message,
        }
    }

    /// The answer to a review, of which `recording` has no answer.
    ///
    /// # Errors
    /// The answer is not JSON.
    pub(crate) fn read(
        recording: &Recording,
        code: StatusCode,
        body: &[u8],
    ) -> Result<(Self, Recording), serde_json::Error> {
        let is_answer = code == StatusCode::OK;
        let recorded = recording.answered(is_answer.then_some(body))?;
        if !is_answer {
            let said: Value = serde_json::from_slice(body).unwrap_or_default();
            let uid = recording.review()["request"]["uid"].as_str();
            let message = said["message"].as_str().unwrap_or_default();
            // It names the request, whose uid is another one each time.
            let message = match uid.filter(|uid| !uid.is_empty()) {
                Some(uid) => message.replace(&format!("request {uid}"), "the request"),
                None => message.to_owned(),
            };
            let failed = Self {
                decision: Decision::Failed,
                is_shadow: false,
                code: Some(code.as_u16()),
                compared: json!({"failed": code.as_u16(), "message": message}),
                shown: json!({"failed": format!("{}: {message}", code.as_u16())}),
                message,
            };
            return Ok((failed, recorded));
        }
        let mut answer: Value = serde_json::from_slice(body)?;
        let mut response = answer["response"].take();
        if let Some(members) = response.as_object_mut() {
            members.remove("uid");
            if let Some(Value::String(patch)) = members.get("patch") {
                let patch = STANDARD.decode(patch).unwrap_or_default();
                let patch = serde_json::from_slice(&patch).unwrap_or_default();
                members.insert("patch".to_owned(), patch);
            }
        }
        let mut answer = Self::of_response(recorded.answer());
        take_mode(&mut response);
        answer.compared = response;
        Ok((answer, recorded))
    }

    /// The answer that was recorded.
    pub(crate) fn of_response(response: Option<&Value>) -> Self {
        let Some(response) = response else {
            return Self::unmade("the hook gave no answer".to_owned());
        };
        let mut shown = response.clone();
        let is_shadow = take_mode(&mut shown);
        let has_patch = |patch: &Value| patch.as_array().is_some_and(|patch| !patch.is_empty());
        let status = &shown["status"];
        let (message, code) = (status["message"].as_str(), status["code"].as_u64());
        let decision = match shown["allowed"].as_bool() {
            Some(true) if shown.get("patch").is_some_and(has_patch) => Decision::Changed,
            Some(true) => Decision::Allowed,
            _ => Decision::Denied,
        };
        Self {
            decision,
            is_shadow,
            code: code.and_then(|code| u16::try_from(code).ok()),
            message: message.unwrap_or_default().to_owned(),
            compared: shown.clone(),
            shown,
        }
    }

    /// The answer of a webhook as far as an audit event has it; none if the API server refused the request for another reason.
    pub(crate) fn of_event(event: &Event, webhook: &str) -> Option<Self> {
        if let Some(decided) = event.annotations.get(&format!("{webhook}/shadow")) {
            return Some(Self::of_annotation(decided));
        }
        let said = &event.response_status;
        let quoted = format!("\"{webhook}\"");
        let about = |words: &str| {
            let (_, rest) = said.message.split_once(&format!("{words}{quoted}"))?;
            Some(rest)
        };
        if let Some(rest) = about("admission webhook ").filter(|_| event.is_refused()) {
            let message = rest
                .strip_prefix(" denied the request: ")
                .unwrap_or_default();
            let status = json!({"code": said.code, "message": message});
            let response = json!({"allowed": false, "status": status});
            return Some(Self::of_response(Some(&response)));
        }
        let failed_open =
            |(key, value): (&String, &String)| key.starts_with("failed-open.") && value == webhook;
        if about("failed calling webhook ").is_some() || event.annotations.iter().any(failed_open) {
            return Some(Self::unmade("the call of the webhook failed".to_owned()));
        }
        match logged_patch(event, webhook) {
            Some(patch) => {
                let response = json!({"allowed": true, "patch": patch});
                let answer = Self::of_response(Some(&response));
                Some(Self {
                    decision: Decision::Changed,
                    ..answer
                })
            }
            None if event.is_refused() => None,
            None => Some(Self::of_response(Some(&json!({"allowed": true})))),
        }
    }

    /// The decision that the annotation of a hook in shadow mode says.
    fn of_annotation(decided: &str) -> Self {
        let (word, detail) = decided.split_once(": ").unwrap_or((decided, ""));
        let decision = match word {
            "changed" => Decision::Changed,
            "denied" => Decision::Denied,
            "failed" => Decision::Failed,
            _ => Decision::Allowed,
        };
        Self {
            decision,
            is_shadow: true,
            code: None,
            message: detail.to_owned(),
            compared: Value::Null,
            shown: json!({"shadow": decided}),
        }
    }

    /// Whether another answer to the same review is the same, whether or not both take effect.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.compared == other.compared
    }

    /// Whether an answer is the same as this one, which an audit event has told in part.
    pub(crate) fn is_told_of(&self, other: &Self) -> bool {
        let passes =
            |answer: &Self| matches!(answer.decision, Decision::Allowed | Decision::NotCalled);
        if passes(self) || passes(other) {
            return passes(self) && passes(other);
        }
        if self.decision != other.decision {
            return false;
        }
        match self.decision {
            Decision::Failed => true,
            Decision::Denied if self.is_shadow => {
                let told = self.message.strip_suffix('…').unwrap_or(&self.message);
                other.message.starts_with(told)
            }
            Decision::Denied => self.message == other.message,
            _ if self.is_shadow => {
                paths(&other.compared).starts_with(self.message.trim_end_matches('…'))
            }
            _ => {
                let told = &self.compared["patch"];
                told.is_null() || *told == other.compared["patch"]
            }
        }
    }

    /// The decision in a word, for people.
    pub(crate) fn text(&self) -> String {
        let word = self.decision.text();
        if self.is_shadow {
            format!("{word} (shadow)")
        } else {
            word.to_owned()
        }
    }

    /// The answer for programs.
    pub(crate) fn json(&self) -> Value {
        let mode = if self.is_shadow { "shadow" } else { "enforce" };
        let decision = match self.decision {
            Decision::NotCalled => "notCalled",
            decision => decision.text(),
        };
        let mut json = json!({"decision": decision, "mode": mode});
        if let Some(code) = self.code {
            json["code"] = code.into();
        }
        if !self.message.is_empty() {
            json["message"] = self.message.as_str().into();
        }
        for member in ["patch", "warnings"] {
            if let Some(value) = self.shown.get(member) {
                json[member] = value.clone();
            }
        }
        json
    }

    /// The lines that show how another answer differs.
    pub(crate) fn difference(&self, ui: &Ui, other: &Self) -> Vec<String> {
        if self.shown == other.shown {
            return vec!["the answers differ in values that are not shown".to_owned()];
        }
        diff::lines(ui, &self.shown, &other.shown, diff::Context::Whole)
    }

    /// How the decision is meant.
    pub(crate) fn tone(&self) -> Tone {
        match self.decision {
            Decision::Denied | Decision::Failed => Tone::Bad,
            _ => Tone::Plain,
        }
    }
}

/// Takes the annotation of shadow mode out of a response, and says whether there was one.
fn take_mode(response: &mut Value) -> bool {
    let Some(members) = response.as_object_mut() else {
        return false;
    };
    let Some(annotations) = members
        .get_mut("auditAnnotations")
        .and_then(Value::as_object_mut)
    else {
        return false;
    };
    let is_shadow = annotations.remove("shadow").is_some();
    if annotations.is_empty() {
        members.remove("auditAnnotations");
    }
    is_shadow
}

/// The paths of a patch as the annotation of shadow mode has them.
fn paths(response: &Value) -> String {
    let patch = response["patch"].as_array().into_iter().flatten();
    let paths = patch.filter_map(|operation| operation["path"].as_str());
    paths.collect::<Vec<_>>().join(", ")
}

/// The operations of the patches of a webhook, if it changed the object: null if the level of the event is too low for them.
fn logged_patch(event: &Event, webhook: &str) -> Option<Value> {
    let mut operations = Vec::new();
    let mut is_changed = false;
    for (key, value) in &event.annotations {
        let is_mutation = key.starts_with("mutation.webhook.admission.k8s.io/");
        let is_patch = key.starts_with("patch.webhook.admission.k8s.io/");
        if !is_mutation && !is_patch {
            continue;
        }
        let said: Value = serde_json::from_str(value).unwrap_or_default();
        if said["webhook"] != webhook {
            continue;
        }
        is_changed |= is_patch || said["mutated"] == true;
        if let Some(patch) = said["patch"].as_array() {
            operations.extend(patch.iter().cloned());
        }
    }
    let is_known = !operations.is_empty();
    is_changed.then(|| {
        if is_known {
            operations.into()
        } else {
            Value::Null
        }
    })
}

#[cfg(test)]
mod tests;
