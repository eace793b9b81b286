//! Puts the defaults of a schema into an object, and takes nulls out that stand for nothing.

use serde_json::Value;

use super::schema::Schema;

/// Puts defaults where fields are missing, and where a null stands that the schema does not allow.
pub(super) fn default(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                let missing = match members.get(name) {
                    None => true,
                    Some(found) => found.is_null() && !property.nullable,
                };
                if missing {
                    members.insert(name.clone(), default.clone());
                }
            }
            for (key, value) in members {
                if let Some(property) = schema.properties.get(key) {
                    default(value, property);
                } else if let Some(additional) = schema.additional.schema() {
                    default_entry(value, additional);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                for item in items {
                    default_entry(item, schema);
                }
            }
        }
        _ => {}
    }
}

/// An entry of a map or a list that is null gets its default, too.
fn default_entry(value: &mut Value, schema: &Schema) {
    if value.is_null()
        && schema.replaces_null()
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
    default(value, schema);
}

/// Takes nulls out of objects where the schema neither allows one nor has a default to put there.
pub(super) fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => members.retain(|key, value| {
            let Some(below) = schema.child(key) else {
                return true;
            };
            if value.is_null() && !below.nullable && below.default.is_none() {
                return false;
            }
            drop_nulls(value, below);
            true
        }),
        Value::Array(items) => {
            if let Some(below) = schema.items.as_deref() {
                for item in items {
                    drop_nulls(item, below);
                }
            }
        }
        _ => {}
    }
}
