//! What expressions see of a schema: its types, and the bounds of its values.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_cel::{Declared, Environment, Form, Items, MAX_REQUEST_SIZE_BYTES, Type};

use super::schema::{Additional, ListType, Schema};

/// The longest text in the body of a request, without its quotes.
const LONGEST_TEXT: u64 = MAX_REQUEST_SIZE_BYTES - 2;
const LONGEST_NAME: u64 = 253;
/// A character can take that many.
const BYTES_OF_CHARACTER: u64 = 4;
const TIME: u64 = 32;
const DATE: u64 = 12;

/// Declares a schema and all of its parts, and keeps what is declared beside the rules. Answers where to compile them.
pub(super) fn declare(root: &mut Schema) -> Environment {
    let names = [("name", Type::String), ("generateName", Type::String)];
    let mut names = Names {
        environment: Environment::kubernetes().with_object_type(METADATA, names),
        objects: 0,
    };
    names.node(root, true);
    names.environment
}

struct Names {
    environment: Environment,
    objects: usize,
}

impl Names {
    fn node(&mut self, schema: &mut Schema, is_object: bool) -> Arc<Declared> {
        let properties: BTreeMap<String, Arc<Declared>> = schema
            .properties
            .iter_mut()
            .map(|(name, property)| (name.clone(), self.node(property, property.embedded)))
            .collect();
        let items = schema
            .items
            .as_deref_mut()
            .map(|items| self.node(items, items.embedded));
        let additional = match &mut schema.additional {
            Additional::Schema(below) => Some(self.node(below, below.embedded)),
            _ => None,
        };
        let declared = Arc::new(self.declared(schema, is_object, properties, items, additional));
        schema.rules.declared(&declared);
        declared
    }

    fn declared(
        &mut self,
        schema: &Schema,
        is_object: bool,
        mut properties: BTreeMap<String, Arc<Declared>>,
        items: Option<Arc<Declared>>,
        additional: Option<Arc<Declared>>,
    ) -> Declared {
        let scalar = |form, of, max_elements, min_serialized_size| Declared {
            form,
            value_type: Some(of),
            nullable: schema.nullable,
            max_elements,
            min_serialized_size,
        };
        if schema.int_or_string {
            let most = code_points(schema).unwrap_or(LONGEST_TEXT);
            return scalar(Form::Plain, Type::Dyn, most, 1);
        }
        match schema.kind.as_str() {
            "boolean" => scalar(Form::Plain, Type::Bool, 0, 4),
            "integer" => scalar(Form::Plain, Type::Int, 0, 1),
            "number" => scalar(Form::Double, Type::Double, 0, 1),
            "string" => match schema.format.as_str() {
                "byte" => {
                    let limit = schema.limits.max_length;
                    let most = limit.map_or(LONGEST_TEXT, not_negative);
                    scalar(Form::Bytes, Type::Bytes, most, 2)
                }
                "duration" => scalar(Form::Duration, Type::Duration, TIME, 3),
                "date" => scalar(Form::Date, Type::Timestamp, DATE, DATE),
                "date-time" => scalar(Form::DateTime, Type::Timestamp, TIME, 21),
                _ => scalar(Form::Plain, Type::String, longest(schema), 2),
            },
            "array" => match items {
                Some(items) => list(schema, items),
                None => unknown(schema),
            },
            "object" => {
                if is_object {
                    add_own_fields(&mut properties);
                }
                match additional {
                    // Expressions have the type of a map, and read the properties alone.
                    Some(values) if !properties.is_empty() => Declared {
                        form: Form::MapOfFields(values.clone(), properties),
                        ..map(schema, values)
                    },
                    Some(values) => map(schema, values),
                    None => self.object(schema, properties),
                }
            }
            _ => unknown(schema),
        }
    }

    fn object(&mut self, schema: &Schema, properties: BTreeMap<String, Arc<Declared>>) -> Declared {
        let mut least = 2;
        for (name, property) in &properties {
            let has_default = schema
                .properties
                .get(name)
                .is_some_and(|property| property.default.is_some());
            if schema.required.contains(name) && !has_default && property.value_type.is_some() {
                least += name.len() as u64 + property.min_serialized_size + 4;
            }
        }
        self.objects += 1;
        let name = format!("{SELF_TYPE}{}", self.objects);
        let declared = Declared {
            form: Form::Object(properties),
            value_type: Some(Type::object(&name)),
            nullable: schema.nullable,
            max_elements: 0,
            min_serialized_size: least,
        };
        let fields: Vec<(String, Type)> = declared.fields().collect();
        let fields = fields.iter().map(|(name, of)| (name.as_str(), of.clone()));
        let environment = std::mem::replace(&mut self.environment, Environment::kubernetes());
        self.environment = environment.with_object_type(&name, fields);
        declared
    }
}

/// What every object has: its type, and the names in its metadata.
fn add_own_fields(properties: &mut BTreeMap<String, Arc<Declared>>) {
    let is_text = |field: Option<&Arc<Declared>>| {
        field.is_some_and(|field| field.value_type == Some(Type::String))
    };
    let metadata = properties.get("metadata").map(|metadata| &metadata.form);
    let known = |name| match metadata {
        Some(Form::Object(fields)) => fields.get(name),
        _ => None,
    };
    let has_names = is_text(known("name")) && is_text(known("generateName"));
    if is_text(properties.get("kind")) && is_text(properties.get("apiVersion")) && has_names {
        return;
    }
    // A name is made of the base of names and one more character at least.
    let names = [("name", LONGEST_NAME), ("generateName", LONGEST_NAME - 1)].map(|(name, most)| {
        let most = most * BYTES_OF_CHARACTER;
        let most = known(name).map_or(most, |known| known.max_elements.min(most));
        (name.to_owned(), text(most))
    });
    for name in ["kind", "apiVersion"] {
        properties.insert(name.to_owned(), text(LONGEST_TEXT));
    }
    let metadata = Declared {
        form: Form::Object(names.into()),
        value_type: Some(Type::object(METADATA)),
        nullable: false,
        max_elements: 0,
        min_serialized_size: 2,
    };
    properties.insert("metadata".to_owned(), Arc::new(metadata));
}

/// What the types of objects are called: this with a number.
pub(super) const SELF_TYPE: &str = "selfType";
const METADATA: &str = "selfType.metadata";

fn text(max_elements: u64) -> Arc<Declared> {
    Arc::new(Declared {
        form: Form::Plain,
        value_type: Some(Type::String),
        nullable: false,
        max_elements,
        min_serialized_size: 2,
    })
}

fn list(schema: &Schema, items: Arc<Declared>) -> Declared {
    let kind = match &schema.list {
        ListType::Atomic => Items::Ordered,
        ListType::Set => Items::Set,
        ListType::Map(keys) => Items::Keyed(Arc::clone(keys)),
        ListType::Unknown(kind) => Items::Unknown(Arc::clone(kind)),
    };
    let most = match schema.limits.max_items {
        Some(limit) => not_negative(limit),
        None => LONGEST_TEXT / (items.min_serialized_size + 1),
    };
    Declared {
        value_type: items.value_type.clone().map(Type::list),
        nullable: schema.nullable,
        form: Form::List(items, kind),
        max_elements: most,
        min_serialized_size: 2,
    }
}

fn map(schema: &Schema, values: Arc<Declared>) -> Declared {
    let most = match schema.limits.max_properties {
        Some(limit) => not_negative(limit),
        None => LONGEST_TEXT / (values.min_serialized_size + 6),
    };
    Declared {
        value_type: values
            .value_type
            .clone()
            .map(|of| Type::map(Type::String, of)),
        nullable: schema.nullable,
        form: Form::Map(values),
        max_elements: most,
        min_serialized_size: 2,
    }
}

/// What expressions do not see.
fn unknown(schema: &Schema) -> Declared {
    Declared {
        form: Form::Plain,
        value_type: None,
        nullable: schema.nullable,
        max_elements: 0,
        min_serialized_size: 0,
    }
}

fn code_points(schema: &Schema) -> Option<u64> {
    schema
        .limits
        .max_length
        .map(|limit| not_negative(limit).saturating_mul(BYTES_OF_CHARACTER))
}

fn longest(schema: &Schema) -> u64 {
    let choices = schema.choices.iter().filter_map(|choice| choice.as_str());
    match code_points(schema) {
        Some(limit) => limit,
        None if schema.choices.is_empty() => LONGEST_TEXT,
        None => choices.map(str::len).max().unwrap_or(0) as u64,
    }
}

fn not_negative(limit: i64) -> u64 {
    u64::try_from(limit).unwrap_or(0)
}
