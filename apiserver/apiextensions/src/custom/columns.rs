//! The columns of custom resources, and their cells (spec section D.8).

use std::sync::LazyLock;

use jiff::Timestamp;
use kubewright_apimachinery::{descriptions, view::View};
use serde_json::{Value, json};

use super::Custom;
use super::json_path::JsonPath;

/// The description of the column of names.
static NAME: LazyLock<String> = LazyLock::new(|| descriptions::of_metadata("name"));

/// One column beside the name.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    name: String,
    type_name: String,
    format: String,
    description: String,
    priority: i64,
    kind: Kind,
    path: JsonPath,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Boolean,
    Date,
    Integer,
    Number,
    String,
}

impl Column {
    /// The columns that a definition has, or the age where it has none. A path that cannot be read takes them all away, as
    /// on a real server.
    pub(super) fn of(columns: &[Value]) -> Vec<Self> {
        if columns.is_empty() {
            let age = json!({
                "name": "Age",
                "type": "date",
                "description": descriptions::of_metadata("creationTimestamp"),
                "jsonPath": ".metadata.creationTimestamp",
            });
            return Self::read(&age).into_iter().collect();
        }
        let mut out = Vec::with_capacity(columns.len());
        for column in columns {
            match Self::read(column) {
                Some(column) => out.push(column),
                // The real server stops at the first, and keeps those before it.
                None => break,
            }
        }
        out
    }

    fn read(column: &Value) -> Option<Self> {
        let text = column.text("jsonPath");
        let path = JsonPath::parse(text).ok()?;
        let mut description = column.text("description").to_owned();
        if description.is_empty() {
            description = format!("Custom resource definition column (in JSONPath format): {text}");
        }
        let kind = match column.text("type") {
            "boolean" => Kind::Boolean,
            "date" => Kind::Date,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            _ => Kind::String,
        };
        Some(Self {
            name: column.text("name").to_owned(),
            type_name: column.text("type").to_owned(),
            format: column.text("format").to_owned(),
            description,
            priority: column.int("priority").unwrap_or(0),
            kind,
            path,
        })
    }

    fn described(&self) -> kubewright_registry::Column<'_> {
        kubewright_registry::Column {
            name: &self.name,
            kind: &self.type_name,
            format: &self.format,
            description: &self.description,
            priority: self.priority,
        }
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.find(object);
        let Some(value) = found.first() else {
            return Value::Null;
        };
        match (self.kind, value) {
            (Kind::String, Value::Null) => "<no value>".into(),
            (Kind::String, Value::String(_))
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Number, Value::Number(_)) => (*value).clone(),
            (Kind::String, other) => other.to_string().into(),
            (Kind::Integer, Value::Number(number)) => whole(number),
            (Kind::Date, Value::String(text)) => age(text, now).into(),
            _ => Value::Null,
        }
    }
}

fn whole(number: &serde_json::Number) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "as Go cuts it")]
    let cut = || number.as_f64().map(|number| number as i64);
    number
        .as_i64()
        .or_else(cut)
        .map_or(Value::Null, Value::from)
}

fn age(text: &str, now: Timestamp) -> String {
    match text.parse::<Timestamp>() {
        Ok(time) => kubewright_registry::duration(now.duration_since(time).as_secs()),
        Err(_) => "<invalid>".to_owned(),
    }
}

impl Custom {
    /// The definitions of the columns, the name's first.
    pub(super) fn column_definitions(&self) -> Vec<kubewright_registry::Column<'_>> {
        let name = kubewright_registry::Column {
            name: "Name",
            kind: "string",
            format: "name",
            description: &NAME,
            priority: 0,
        };
        let others = self.columns.iter().map(Column::described);
        std::iter::once(name).chain(others).collect()
    }

    /// The cells of an object.
    pub(super) fn cells_of(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let name = object.at("metadata").text("name");
        let mut cells = vec![name.into()];
        cells.extend(self.columns.iter().map(|column| column.cell(object, now)));
        cells
    }
}
