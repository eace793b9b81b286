//! The result of a replay, as a table and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::answer::Answer;
use crate::ui::{Tone, Ui};

/// How many differences the JSON lists; the number of all is always told.
const MOST_LISTED: usize = 10_000;

/// The request that a review is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Where it was found: a file and a line, or a recording.
    pub(crate) source: String,
    pub(crate) audit_id: String,
    pub(crate) operation: String,
    /// With the sub-resource.
    pub(crate) resource: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) time: String,
}

/// The columns of the table and their widths; longer cells push the rest to the right.
const COLUMNS: [(&str, usize); 4] = [("REQUEST", 40), ("USER", 24), ("TIME", 20), ("HOOK", 32)];

/// What has been found so far.
pub(crate) struct Report<'a> {
    ui: &'a Ui,
    is_json: bool,
    requests: usize,
    reviews: usize,
    different: usize,
    listed: Vec<Value>,
    skipped: BTreeMap<String, Group>,
    assumed: BTreeMap<String, Group>,
    modes: BTreeSet<String>,
    notes: Vec<String>,
}

/// How often something was so, and the first request.
#[derive(Debug, Default)]
struct Group {
    count: usize,
    first: String,
}

impl<'a> Report<'a> {
    pub(crate) fn new(ui: &'a Ui, is_json: bool) -> Self {
        Self {
            ui,
            is_json,
            requests: 0,
            reviews: 0,
            different: 0,
            listed: Vec::new(),
            skipped: BTreeMap::new(),
            assumed: BTreeMap::new(),
            modes: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    /// Counts a request that concerns a hook.
    pub(crate) fn request(&mut self) {
        self.requests += 1;
    }

    pub(crate) fn reviews(&self) -> usize {
        self.reviews
    }

    pub(crate) fn different(&self) -> usize {
        self.different
    }

    /// Whether there was something that could not be replayed.
    pub(crate) fn first_skipped(&self) -> Option<&str> {
        self.skipped.keys().next().map(String::as_str)
    }

    /// Counts a request that could not be replayed.
    pub(crate) fn skip(&mut self, why: &str, row: &Row) {
        count(&mut self.skipped, why, row);
    }

    /// Counts an assumption about a request.
    pub(crate) fn assume(&mut self, what: &str, row: &Row) {
        count(&mut self.assumed, what, row);
    }

    /// Adds a sentence to the summary.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds a sentence to the summary, unless it is there already.
    pub(crate) fn note_mode(&mut self, note: String) {
        self.modes.insert(note);
    }

    /// Counts a review that two versions answered alike.
    pub(crate) fn same(&mut self) {
        self.reviews += 1;
    }

    /// Shows a review that two versions answered otherwise.
    pub(crate) fn differs(&mut self, row: &Row, hook: &str, before: &Answer, after: &Answer) {
        self.reviews += 1;
        self.different += 1;
        if self.is_json {
            if self.listed.len() < MOST_LISTED {
                self.listed.push(listed(row, hook, before, after));
            }
            return;
        }
        let ui = self.ui;
        ui.clear_progress();
        if self.different == 1 {
            let names = COLUMNS.map(|(name, width)| format!("{name:<width$}"));
            let head = format!("  {}  BEFORE → AFTER", names.join("  "));
            ui.line(ui.paint(Tone::Faint, &head));
        }
        let cells = [
            row.request(),
            row.user.clone(),
            seconds(&row.time),
            hook.to_owned(),
        ];
        let cells = cells.map(|cell| plain(&cell));
        let cells = cells.iter().zip(COLUMNS);
        let cells: Vec<_> = cells
            .map(|(cell, (_, width))| format!("{cell:<width$}"))
            .collect();
        let [was, is] = [before, after].map(|answer| ui.paint(answer.tone(), &answer.text()));
        let mark = ui.paint(Tone::Bad, "✗");
        ui.line(format!("{mark} {}  {was} → {is}", cells.join("  ")));
        for line in before.difference(ui, after) {
            ui.line(format!("    {}", lines_of(&line)));
        }
    }

    /// Prints the summary, or the JSON.
    pub(crate) fn finish(&self) {
        if self.is_json {
            let groups = |groups: &BTreeMap<String, Group>, name: &str| {
                let groups = groups.iter().map(
                    |(text, group)| json!({name: text, "count": group.count, "first": group.first}),
                );
                groups.collect::<Vec<_>>()
            };
            let notes: Vec<_> = self.modes.iter().chain(&self.notes).collect();
            return self.ui.json(&json!({
                "requests": self.requests,
                "reviews": self.reviews,
                "different": self.different,
                "differences": self.listed,
                "notReplayed": groups(&self.skipped, "reason"),
                "assumptions": groups(&self.assumed, "assumption"),
                "notes": notes,
            }));
        }
        let ui = self.ui;
        for (head, groups) in [("not replayed", &self.skipped), ("assumed", &self.assumed)] {
            for (text, group) in groups {
                let first = ui.paint(Tone::Faint, &format!("(first: {})", plain(&group.first)));
                ui.line(format!("{head}: {} × {text} {first}", group.count));
            }
        }
        for note in self.modes.iter().chain(&self.notes) {
            ui.line(format!("note: {}", plain(note)));
        }
        let requests = match self.requests {
            1 => "1 request".to_owned(),
            all => format!("{all} requests"),
        };
        let reviews = match (self.reviews, self.different) {
            (0, _) => "no review was asked".to_owned(),
            (1, 0) => "the one review is answered as it was".to_owned(),
            (all, 0) => format!("all {all} reviews are answered as they were"),
            (all, different) => format!("{all} reviews, {different} answered otherwise"),
        };
        ui.line(format!("{requests}: {reviews}"));
    }
}

impl Row {
    /// Such as `CREATE pods blue/web`.
    fn request(&self) -> String {
        let place = match &*self.namespace {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        };
        format!("{} {} {place}", self.operation, self.resource)
    }
}

fn count(groups: &mut BTreeMap<String, Group>, text: &str, row: &Row) {
    let group = groups.entry(text.to_owned()).or_default();
    if group.count == 0 {
        group.first = format!("{} in {}", row.request(), row.source);
    }
    group.count += 1;
}

fn listed(row: &Row, hook: &str, before: &Answer, after: &Answer) -> Value {
    json!({
        "source": row.source,
        "auditID": row.audit_id,
        "operation": row.operation,
        "group": row.group,
        "version": row.version,
        "resource": row.resource,
        "namespace": row.namespace,
        "name": row.name,
        "user": row.user,
        "time": row.time,
        "hook": hook,
        "before": before.json(),
        "after": after.json(),
    })
}

/// A time of an audit event, without fractions of seconds.
fn seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    }
}

/// Text of others as one line without control characters.
fn plain(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}

/// A line of a difference, whose only control characters are those of colours.
fn lines_of(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\u{1b}' => character,
            character if character.is_control() => ' ',
            character => character,
        })
        .collect()
}
