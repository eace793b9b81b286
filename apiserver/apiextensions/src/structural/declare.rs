//! What expressions see of a schema: its types, and the bounds of its values.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_cel::{Declared, Environment, Form, Items};
use serde_json::Value;

use super::schema::{Additional, ListType, Schema};

/// Declares a schema and all of its parts, and keeps what is declared beside the rules. Answers where to compile them.
pub(super) fn declare(root: &mut Schema) -> Environment {
    let mut names = Names { objects: 0 };
    let declared = names.node(root, true);
    Environment::kubernetes().with_declared_types(&declared)
}

struct Names {
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
        let limits = &schema.limits;
        if schema.int_or_string {
            return Declared::int_or_string(limits.max_length).with_nullable(schema.nullable);
        }
        let declared = match (schema.kind.as_str(), items) {
            ("array", Some(items)) => {
                Declared::list(items, identity(&schema.list), limits.max_items)
            }
            ("object", _) => {
                if is_object {
                    Declared::add_resource_properties(&mut properties);
                }
                match additional {
                    // Expressions have the type of a map, and read the properties alone.
                    Some(values) if !properties.is_empty() => Declared {
                        form: Form::MapOfFields(Arc::clone(&values), properties),
                        ..Declared::map(values, limits.max_properties)
                    },
                    Some(values) => Declared::map(values, limits.max_properties),
                    None => self.object(schema, properties),
                }
            }
            (kind, _) => {
                let longest = longest_choice(&schema.choices);
                Declared::scalar(kind, &schema.format, limits.max_length, longest)
                    .unwrap_or_else(Declared::unseen)
            }
        };
        declared.with_nullable(schema.nullable)
    }

    fn object(&mut self, schema: &Schema, properties: BTreeMap<String, Arc<Declared>>) -> Declared {
        self.objects += 1;
        let name = format!("{SELF_TYPE}{}", self.objects);
        Declared::object(&name, properties, |name| {
            let property = schema.properties.get(name);
            let has_default = property.is_some_and(|property| property.default.is_some());
            !has_default && schema.required.iter().any(|one| one == name)
        })
    }
}

/// What the types of objects are called: this with a number.
pub(super) const SELF_TYPE: &str = "selfType";

fn identity(list: &ListType) -> Items {
    match list {
        ListType::Atomic => Items::Ordered,
        ListType::Set => Items::Set,
        ListType::Map(keys) => Items::Keyed(Arc::clone(keys)),
        ListType::Unknown(kind) => Items::Unknown(Arc::clone(kind)),
    }
}

fn longest_choice(choices: &[Value]) -> Option<usize> {
    let lengths = choices
        .iter()
        .filter_map(|choice| choice.as_str().map(str::len));
    (!choices.is_empty()).then(|| lengths.max().unwrap_or(0))
}
