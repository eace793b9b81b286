//! The change that a webhook made, as the lines of YAML that came and went.

use std::borrow::Cow;

use diffy::{DiffOptions, Line};
use serde_json::Value;

use crate::ui::{Tone, Ui};

/// How much of what did not change is shown around what did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    Around,
    Whole,
}

/// Two objects as one text: lines that came, lines that went, and the context.
///
/// The objects are compared as YAML, the form people know them in.
pub(crate) fn lines(ui: &Ui, before: &Value, after: &Value, context: Context) -> Vec<String> {
    let (before, after) = (yaml(before), yaml(after));
    let mut options = DiffOptions::new();
    options.set_context_len(match context {
        Context::Around => 2,
        Context::Whole => before.lines().count() + after.lines().count(),
    });
    let mut lines = Vec::new();
    let patch = options.create_patch(&before, &after);
    for (index, hunk) in patch.hunks().iter().enumerate() {
        if index > 0 {
            lines.push(ui.paint(Tone::Faint, "  …"));
        }
        for line in hunk.lines() {
            let (mark, tone, text) = match line {
                Line::Insert(text) => ('+', Tone::Added, text),
                Line::Delete(text) => ('-', Tone::Removed, text),
                Line::Context(text) => (' ', Tone::Plain, text),
            };
            lines.push(ui.paint(tone, &format!("{mark} {}", text.trim_end_matches('\n'))));
        }
    }
    lines
}

/// An object as YAML, without `managedFields`: kubectl does not show who set what either, unless it is asked to.
pub(crate) fn yaml(value: &Value) -> String {
    let mut value = Cow::Borrowed(value);
    if value.pointer("/metadata/managedFields").is_some()
        && let Some(metadata) = value.to_mut()["metadata"].as_object_mut()
    {
        metadata.remove("managedFields");
    }
    serde_saphyr::to_string(&value).unwrap_or_else(|_| value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_set_what_is_not_shown() {
        let object = json!({"metadata": {"managedFields": [{"manager": "kubectl"}], "name": "a"}});
        assert_eq!(yaml(&object), yaml(&json!({"metadata": {"name": "a"}})));
    }

    fn shown(context: Context) -> String {
        let before = json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": {"f": 5}});
        let after = json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": {"f": 6}});
        lines(&Ui::new(), &before, &after, context).join("\n")
    }

    #[test]
    fn a_change_is_shown_with_what_stands_around_it() {
        assert_eq!(shown(Context::Around), "  d: 4\n  e:\n-   f: 5\n+   f: 6");
    }

    #[test]
    fn a_whole_object_is_shown_with_its_change() {
        let shown = shown(Context::Whole);
        assert_eq!(
            shown,
            "  a: 1\n  b: 2\n  c: 3\n  d: 4\n  e:\n-   f: 5\n+   f: 6"
        );
    }
}
