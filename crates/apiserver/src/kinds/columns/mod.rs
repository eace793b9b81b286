//! The columns that `kubectl get` shows for each kind, and their cells.

use jiff::Timestamp;
use serde_json::Value;

use super::Resource;

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the five members of a TableColumnDefinition"
)]
pub struct Column {
    /// The title, such as `Up-to-date`.
    pub name: &'static str,
    /// `string`, `integer`, `boolean` or `date`.
    pub kind: &'static str,
    /// `name` for the object's name, otherwise empty.
    pub format: &'static str,
    /// What the column shows.
    pub description: &'static str,
    /// 0, or 1 for a column that only the wide output shows.
    pub priority: i32,
}

/// The columns of a kind.
pub fn definitions(resource: &Resource) -> &'static [Column] {
    let _ = resource;
    NAME_AND_AGE
}

/// The cells of one object, one per column of [`definitions`].
pub fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let _ = (resource, now);
    vec![
        object["metadata"]["name"].clone(),
        object["metadata"]["creationTimestamp"].clone(),
    ]
}

const NAME_AND_AGE: &[Column] = &[
    Column {
        name: "Name",
        kind: "string",
        format: "name",
        description: "the object's name, unique within its namespace",
        priority: 0,
    },
    Column {
        name: "Created At",
        kind: "date",
        format: "",
        description: "when the object was created",
        priority: 0,
    },
];
