//! Errors of server-side apply.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::json::write_string;
use kubewright_apimachinery::status::Status;
use serde_json::{Value, json};

use super::element::Element;
use super::entries::{Identity, Operation};

/// Error of a server-side apply.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApplyError {
    /// The apply would change the values of fields that other managers own.
    Conflicts(Vec<Conflict>),
    /// The request is invalid.
    BadRequest(String),
    /// A failure for which the real server returns 500.
    Failed(String),
}

/// A field that another manager owns.
#[derive(Clone, Debug)]
pub struct Conflict {
    pub(super) manager: Identity,
    pub(super) path: Vec<Element>,
}

impl Conflict {
    fn field(&self) -> String {
        self.path.iter().map(ToString::to_string).collect()
    }

    fn manager(&self) -> String {
        let Identity {
            manager,
            operation,
            api_version,
            subresource,
        } = &self.manager;
        let mut text = quoted(manager);
        if !subresource.is_empty() {
            text = format!("{text} with subresource {}", quoted(subresource));
        }
        if *operation == Operation::Update {
            text = format!("{text} using {api_version}");
        }
        text
    }
}

impl ApplyError {
    /// Converts the error to the status that the client gets.
    pub fn into_status(self) -> Status {
        match self {
            Self::Conflicts(mut conflicts) => {
                conflicts.sort_by_cached_key(|conflict| place(&conflict.manager));
                refused(&conflicts)
            }
            Self::BadRequest(why) => Status::bad_request(why),
            Self::Failed(why) => Status::plain(why),
        }
    }
}

/// Key that sorts managers as the real server does: by the JSON of their entries, which leaves out an empty subresource, so
/// that a comma is compared with the closing brace.
fn place(manager: &Identity) -> impl Ord + use<> {
    let text = |text: &str| {
        let mut json = Vec::new();
        write_string(&mut json, text);
        json
    };
    (
        text(&manager.manager),
        manager.operation,
        text(&manager.api_version),
        manager.subresource.is_empty(),
        text(&manager.subresource),
    )
}

fn refused(conflicts: &[Conflict]) -> Status {
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|conflict| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {}", conflict.manager()),
                "field": conflict.field(),
            })
        })
        .collect();
    let message = match conflicts {
        [conflict] => format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            conflict.manager(),
            conflict.field()
        ),
        conflicts => {
            let mut lines = Vec::new();
            let mut last = None;
            for conflict in conflicts {
                if last != Some(&conflict.manager) {
                    lines.push(format!("conflicts with {}:", conflict.manager()));
                    last = Some(&conflict.manager);
                }
                lines.push(format!("- {}", conflict.field()));
            }
            format!(
                "Apply failed with {} conflicts: {}",
                conflicts.len(),
                lines.join("\n")
            )
        }
    };
    let details = serde_json::Map::from_iter([("causes".to_owned(), Value::Array(causes))]);
    Status::new(409, "Conflict", message).with_details(details)
}
