//! Diagnostics as a compiler prints them: the sentence, the place, and the excerpt underlined.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::checker::Report;
use crate::finding::{Finding, Location, Severity};

/// The longest line of an excerpt that is shown whole, in bytes.
const LONGEST_LINE: usize = 400;

/// Renders the findings for a terminal, with or without colour.
#[must_use]
pub fn text(report: &Report, colour: bool) -> String {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&renderer.render(&groups(report, finding)));
        text.push_str("\n\n");
    }
    text
}

/// The last line: how many objects were checked, and what was found.
#[must_use]
pub fn summary(report: &Report) -> String {
    let counted = |number: usize, noun: &str| match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    };
    let mut summary = format!(
        "{} checked: {}, {}",
        counted(report.checked.len(), "object"),
        counted(report.count(Severity::Error), "error"),
        counted(report.count(Severity::Warning), "warning"),
    );
    if report.ignored > 0 {
        let ignored = counted(report.ignored, "object");
        summary.push_str("; ");
        summary.push_str(&ignored);
        summary.push_str(" without a definition ignored");
    }
    summary
}

fn groups<'a>(report: &'a Report, finding: &'a Finding) -> Vec<Group<'a>> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(&finding.message).id(&finding.rule);
    let mut groups = Vec::new();
    let main = match &finding.location {
        Some(location) => title.element(snippet(
            report,
            location,
            AnnotationKind::Primary,
            label(finding),
        )),
        None => Group::with_title(title),
    };
    groups.push(main);
    for related in &finding.related {
        let note = Level::NOTE.secondary_title(&related.message);
        let kind = AnnotationKind::Primary;
        groups.push(note.element(snippet(report, &related.location, kind, String::new())));
    }
    if let Some(help) = &finding.help {
        groups.push(Group::with_title(Level::HELP.secondary_title(help)));
    }
    groups
}

/// What is underlined: the field, and the object that it is of.
fn label(finding: &Finding) -> String {
    match (&finding.field, &finding.object) {
        (Some(field), Some(object)) => format!("{field} of {object}"),
        (None, Some(object)) => object.to_string(),
        _ => String::new(),
    }
}

/// The lines of a location, without the rest of the source.
fn snippet<'a>(
    report: &'a Report,
    location: &'a Location,
    kind: AnnotationKind,
    label: String,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let source = report
        .sources
        .iter()
        .find(|source| source.name == location.source);
    let text = source.map_or("", |source| source.text.as_str());
    let bytes = &location.bytes;
    let start = text[..bytes.start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = text[bytes.end..]
        .find('\n')
        .map_or(text.len(), |newline| bytes.end + newline);
    // Of a very long line, such as JSON on one line, only what is near.
    let start = start.max(text.floor_char_boundary(bytes.start.saturating_sub(LONGEST_LINE)));
    let end = end.min(
        text.ceil_char_boundary(bytes.start + LONGEST_LINE)
            .max(bytes.end),
    );
    let lines = text[start..end].trim_end_matches('\r');
    let underlined = bytes.start - start..(bytes.end - start).min(lines.len());
    let annotation = kind.span(underlined);
    let annotation = if label.is_empty() {
        annotation
    } else {
        annotation.label(label)
    };
    Snippet::source(lines)
        .line_start(location.start.line)
        .path(location.source.as_str())
        .annotation(annotation)
}
