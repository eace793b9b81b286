//! The change that a webhook made, as the lines of YAML that came and went.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::ui::{Tone, Ui};

/// The lines that differ between two objects, with `context` unchanged lines around them.
///
/// The objects are compared as YAML, the form people know them in. Nothing is returned for equal ones.
pub(crate) fn lines(ui: &Ui, before: &Value, after: &Value, context: usize) -> Vec<String> {
    let (before, after) = (yaml(before), yaml(after));
    let diff = TextDiff::from_lines(&before, &after);
    let mut lines = Vec::new();
    for (index, group) in diff.grouped_ops(context).iter().enumerate() {
        if index > 0 {
            lines.push(ui.paint(Tone::Faint, "  …"));
        }
        for change in group
            .iter()
            .flat_map(|operation| diff.iter_changes(operation))
        {
            let (mark, tone) = match change.tag() {
                ChangeTag::Insert => ('+', Tone::Added),
                ChangeTag::Delete => ('-', Tone::Removed),
                ChangeTag::Equal => (' ', Tone::Plain),
            };
            let text = change.to_string();
            lines.push(ui.paint(tone, &format!("{mark} {}", text.trim_end_matches('\n'))));
        }
    }
    lines
}

/// An object as YAML.
pub(crate) fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string())
}
