//! What the real server says of types and fields beyond the published specification: defaults, and the values that a field
//! can have.

use std::sync::LazyLock;

use serde_json::Value;

const TEXT: &str = include_str!("markers.tsv");

/// What is said of one type.
#[derive(Clone, Copy, Default)]
pub(super) struct Markers {
    /// A line for each field.
    lines: &'static [(&'static str, &'static str)],
}

impl Markers {
    pub(super) fn of(ty: &str) -> Self {
        static LINES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
            let lines = TEXT
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'));
            lines.filter_map(|line| line.split_once('\t')).collect()
        });
        let start = LINES.partition_point(|(name, _)| *name < ty);
        let end = LINES.partition_point(|(name, _)| *name <= ty);
        let lines = LINES.get(start..end).unwrap_or_default();
        Self { lines }
    }

    /// What is said of a field, or of the type itself.
    pub(super) fn of_field(self, name: &str) -> Option<Value> {
        self.lines.iter().find_map(|(_, line)| {
            let (field, addition) = line.split_once('\t')?;
            let is_it = field == name;
            is_it.then(|| serde_json::from_str(addition).ok()).flatten()
        })
    }
}

/// Adds to a schema; descriptions are continued.
pub(super) fn add(schema: &mut Value, addition: Value) {
    match (schema, addition) {
        (Value::Object(schema), Value::Object(addition)) => {
            for (name, addition) in addition {
                match (schema.get_mut(&name), addition) {
                    (Some(Value::String(text)), Value::String(more)) if name == "description" => {
                        text.push_str(&more);
                    }
                    (Some(have), addition) => add(have, addition),
                    (None, addition) => drop(schema.insert(name, addition)),
                }
            }
        }
        (schema, addition) => *schema = addition,
    }
}

#[cfg(test)]
mod tests {
    use kubewright_apimachinery::types;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_marker_is_of_a_field_that_there_is() {
        let lines = TEXT
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let names: Vec<&str> = lines
            .clone()
            .filter_map(|line| line.split('\t').next())
            .collect();
        assert!(names.is_sorted());
        for line in lines {
            let [name, field, _] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let ty = types::by_name(name).expect(name);
            assert!(
                field.is_empty() || ty.field(field).is_some(),
                "{name} {field}"
            );
            assert!(Markers::of(name).of_field(field).is_some(), "{line}");
        }
    }

    #[test]
    fn a_schema_keeps_what_it_says_already() {
        let mut schema = json!({"type": "string", "default": "", "description": "It is"});
        add(
            &mut schema,
            json!({"default": "TCP", "enum": ["TCP"], "description": " one of: TCP"}),
        );
        assert_eq!(
            schema,
            json!({"type": "string", "default": "TCP", "enum": ["TCP"], "description": "It is one of: TCP"})
        );
    }
}
