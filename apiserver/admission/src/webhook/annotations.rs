//! Audit annotations of mutating webhook calls, with the keys and values of the real server (A.14).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::configuration::Hook;
use crate::level::Level;
use crate::notes::Notes;

const MUTATION: &str = "mutation.webhook.admission.k8s.io";
const PATCH: &str = "patch.webhook.admission.k8s.io";
const FAILED_OPEN: &str = "failed-open.mutation.webhook.admission.k8s.io";

/// One call: of which webhook, in which round, and its number among all webhooks.
#[derive(Clone, Copy)]
pub(super) struct Annotator<'a> {
    pub(super) notes: &'a Notes,
    pub(super) hook: &'a Hook,
    pub(super) round: u8,
    pub(super) index: usize,
}

/// The order of the members is the real server's.
#[derive(Serialize)]
struct Mutation<'a> {
    configuration: &'a str,
    webhook: &'a str,
    mutated: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchSent<'a> {
    configuration: &'a str,
    webhook: &'a str,
    patch: Vec<BTreeMap<String, Option<&'a RawValue>>>,
    patch_type: &'a str,
}

impl Annotator<'_> {
    /// The webhook was called.
    pub(super) fn called(self, mutated: bool) {
        let mutation = Mutation {
            configuration: &self.hook.configuration,
            webhook: &self.hook.name,
            mutated,
        };
        self.annotate(Level::Metadata, MUTATION, || {
            serde_json::to_string(&mutation).ok()
        });
    }

    /// The webhook sent a patch that was applied.
    pub(super) fn patched(self, patch: &[u8]) {
        self.annotate(Level::Request, PATCH, || {
            let sent = PatchSent {
                configuration: &self.hook.configuration,
                webhook: &self.hook.name,
                patch: serde_json::from_slice(patch).ok()?,
                patch_type: "JSONPatch",
            };
            Some(as_go_writes(&serde_json::to_string(&sent).ok()?))
        });
    }

    /// The webhook failed, and its failure policy lets the request pass.
    pub(super) fn failed_open(self) {
        self.annotate(Level::Metadata, FAILED_OPEN, || {
            Some(self.hook.name.clone())
        });
    }

    fn annotate(self, level: Level, prefix: &str, text: impl FnOnce() -> Option<String>) {
        if !self.notes.keeps(level) {
            return;
        }
        if let Some(text) = text() {
            let key = format!("{prefix}/round_{}_index_{}", self.round, self.index);
            self.notes.annotate(&key, text);
        }
    }
}

/// JSON without blanks, and without what a browser could take for a script.
fn as_go_writes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            c if !in_string && c.is_ascii_whitespace() => continue,
            _ => {}
        }
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::as_go_writes;

    #[test]
    fn blanks_go_and_signs_of_scripts_are_escaped() {
        let text = "{ \"a b\" : \"<\\\" &\u{2028}\" ,\n \"c\\\\\" : [ 1, 2 ] }";
        assert_eq!(
            as_go_writes(text),
            r#"{"a b":"\u003c\" \u0026\u2028","c\\":[1,2]}"#
        );
    }
}
