//! Names: a definition gets those that no other one of its group has.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_storage::Object;
use kubewright_validation::semantic::same;
use serde_json::Value;

use super::conditions::{self, Condition};
use super::write::Storage;

/// A definition as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub(super) stored: Arc<Object>,
    pub(super) value: Arc<Value>,
}

/// The names that a group's definitions have.
#[derive(Debug, Default)]
struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

/// What a definition gets of the names that it asks for.
struct Outcome {
    names: Value,
    /// The reason and the message of the last conflict.
    conflict: Option<(&'static str, String)>,
}

/// Accepts the names that a definition asks for, as far as they are free.
pub(super) fn accept(
    storage: &Storage,
    stored: &Object,
    definition: &Value,
    all: &HashMap<String, Parsed>,
) -> bool {
    let asked = definition.at("spec").at("names");
    let had = definition.at("status").at("acceptedNames");
    if same(asked, had) {
        return false;
    }
    let outcome = settle(
        asked,
        had,
        &Taken::of(definition.at("spec").text("group"), all),
    );
    let accepted = match &outcome.conflict {
        None => Condition {
            kind: "NamesAccepted",
            status: "True",
            reason: "NoConflicts",
            message: "no conflicts found",
        },
        Some((reason, message)) => Condition {
            kind: "NamesAccepted",
            status: "False",
            reason,
            message,
        },
    };
    if accepted.is_in(definition) && same(&outcome.names, had) {
        return false;
    }
    let unset = Condition {
        kind: "Established",
        status: "False",
        reason: "NotAccepted",
        message: "not all names are accepted",
    };
    let mut established = conditions::current(definition, "Established").unwrap_or(unset);
    if established.status != "True" && accepted.status == "True" {
        established = Condition {
            reason: "Installing",
            message: "the initial names have been accepted",
            ..unset
        };
    }
    let mut new = definition.clone();
    accepted.set(&mut new);
    established.set(&mut new);
    if let Some(status) = new.part("status") {
        status.put("acceptedNames", outcome.names);
    }
    storage.write_status(stored, definition, new)
}

impl Taken {
    fn of(group: &str, all: &HashMap<String, Parsed>) -> Self {
        let mut taken = Self::default();
        for Parsed { value, .. } in all.values() {
            let definition = &**value;
            if definition.at("spec").text("group") != group {
                continue;
            }
            let names = definition.at("status").at("acceptedNames");
            let word = |field: &str| names.text(field).to_owned();
            let short = names.list("shortNames").iter();
            let short = short.filter_map(|name| name.as_str().map(str::to_owned));
            taken.resources.extend(short);
            taken.resources.extend([word("plural"), word("singular")]);
            taken.kinds.extend([word("kind"), word("listKind")]);
        }
        taken
    }
}

fn settle(asked: &Value, had: &Value, taken: &Taken) -> Outcome {
    let mut names = had.clone();
    let mut conflict = None;
    let mut one = |field: &str, reason, taken: &BTreeSet<String>, names: &mut Value| {
        let (wanted, own) = (asked.text(field), had.text(field));
        if wanted == own || !taken.contains(wanted) {
            names.put(field, wanted);
        } else {
            conflict = Some((reason, in_use(wanted)));
        }
    };
    one("plural", "PluralConflict", &taken.resources, &mut names);
    one("singular", "SingularConflict", &taken.resources, &mut names);
    let short = short_names(asked, had, taken);
    one("kind", "KindConflict", &taken.kinds, &mut names);
    one("listKind", "ListKindConflict", &taken.kinds, &mut names);
    match short {
        Ok(()) => take(asked, &mut names, "shortNames"),
        // The condition reports the last conflict, and the server checks the kinds after the short names.
        Err(why) if !matches!(conflict, Some(("KindConflict" | "ListKindConflict", _))) => {
            conflict = Some(("ShortNamesConflict", why));
        }
        Err(_) => {}
    }
    take(asked, &mut names, "categories");
    Outcome { names, conflict }
}

fn take(asked: &Value, names: &mut Value, field: &str) {
    if asked.list(field).is_empty() {
        names.drop_field(field);
    } else {
        names.put(field, asked.at(field).clone());
    }
}

fn short_names(asked: &Value, had: &Value, taken: &Taken) -> Result<(), String> {
    let mut conflicts: Vec<String> = Vec::new();
    for name in asked.list("shortNames") {
        let text = name.as_str().unwrap_or_default();
        if !had.list("shortNames").contains(name) && taken.resources.contains(text) {
            let why = in_use(text);
            if !conflicts.contains(&why) {
                conflicts.push(why);
            }
        }
    }
    match conflicts.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", quoted(name))
}
