//! The columns of custom resources, and their cells (spec section D.8).

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::{Value, json};

use super::Custom;
use super::json_path::JsonPath;
use crate::kinds::columns;
use crate::openapi;

/// One column beside the name.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    described: Value,
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
                "description": openapi::description_of_metadata("creationTimestamp"),
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
        let described = json!({
            "name": column.text("name"),
            "type": column.text("type"),
            "format": column.text("format"),
            "description": description,
            "priority": column.int("priority").unwrap_or(0),
        });
        Some(Self {
            described,
            kind,
            path,
        })
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
        Ok(time) => columns::duration(now.duration_since(time).as_secs()),
        Err(_) => "<invalid>".to_owned(),
    }
}

impl Custom {
    /// The definitions of the columns, the name's first.
    pub(crate) fn column_definitions(&self) -> Vec<Value> {
        let name = json!({
            "name": "Name",
            "type": "string",
            "format": "name",
            "description": openapi::description_of_metadata("name"),
            "priority": 0,
        });
        let others = self.columns.iter().map(|column| column.described.clone());
        std::iter::once(name).chain(others).collect()
    }

    /// The cells of an object.
    pub(crate) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let name = object.at("metadata").text("name");
        let mut cells = vec![name.into()];
        cells.extend(self.columns.iter().map(|column| column.cell(object, now)));
        cells
    }
}
