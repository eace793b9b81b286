//! The declarations of values by the keywords of a schema, with the bounds that Kubernetes gives them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::declared::{Declared, Form, Items, MAX_REQUEST_SIZE_BYTES};
use crate::types::Type;

/// The longest string in the body of a request, without its quotes.
const MAX_STRING: u64 = MAX_REQUEST_SIZE_BYTES - 2;
/// The most bytes of a character.
const BYTES_OF_CHARACTER: u64 = 4;
const TIME: u64 = 32;
const DATE: u64 = 12;
const MAX_NAME: u64 = 253;
/// The type of the metadata of every resource.
const METADATA: &str = "selfType.metadata";

impl Declared {
    /// A value of a type without parts: `boolean`, `integer`, `number` or `string`, with its `format`. None for all other types.
    ///
    /// The bound of a string is its `maxLength`, or else the longest of its `enum`.
    ///
    /// ```
    /// use kubewright_cel::{Declared, Type};
    ///
    /// let name = Declared::scalar("string", "", Some(63), None).ok_or("no scalar")?;
    /// assert_eq!((name.value_type, name.max_elements), (Some(Type::String), 4 * 63));
    /// let since = Declared::scalar("string", "date-time", None, None).ok_or("no scalar")?;
    /// assert_eq!(since.value_type, Some(Type::Timestamp));
    /// # Ok::<(), &str>(())
    /// ```
    pub fn scalar(
        kind: &str,
        format: &str,
        max_length: Option<i64>,
        longest_choice: Option<usize>,
    ) -> Option<Self> {
        let (form, of, max_elements, min_serialized_size) = match (kind, format) {
            ("boolean", _) => (Form::Plain, Type::Bool, 0, 4),
            ("integer", _) => (Form::Plain, Type::Int, 0, 1),
            ("number", _) => (Form::Double, Type::Double, 0, 1),
            ("string", "byte") => {
                let most = max_length.map_or(MAX_STRING, not_negative);
                (Form::Bytes, Type::Bytes, most, 2)
            }
            ("string", "duration") => (Form::Duration, Type::Duration, TIME, 3),
            ("string", "date") => (Form::Date, Type::Timestamp, DATE, DATE),
            ("string", "date-time") => (Form::DateTime, Type::Timestamp, TIME, 21),
            ("string", _) => {
                let most = match (max_length, longest_choice) {
                    (Some(limit), _) => bytes(limit),
                    (None, Some(longest)) => longest as u64,
                    (None, None) => MAX_STRING,
                };
                (Form::Plain, Type::String, most, 2)
            }
            _ => return None,
        };
        Some(Self {
            form,
            value_type: Some(of),
            nullable: false,
            max_elements,
            min_serialized_size,
        })
    }

    /// An integer or a string: `x-kubernetes-int-or-string`.
    ///
    /// ```
    /// use kubewright_cel::{Declared, Type};
    ///
    /// assert_eq!(Declared::int_or_string(None).value_type, Some(Type::Dyn));
    /// ```
    pub fn int_or_string(max_length: Option<i64>) -> Self {
        Self {
            form: Form::Plain,
            value_type: Some(Type::Dyn),
            nullable: false,
            max_elements: max_length.map_or(MAX_STRING, bytes),
            min_serialized_size: 1,
        }
    }

    /// An array. Without `maxItems`, its bound is the size limit of requests.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use kubewright_cel::{Declared, Items, Type};
    ///
    /// let flag = Declared::scalar("boolean", "", None, None).ok_or("no scalar")?;
    /// let flags = Declared::list(Arc::new(flag), Items::Ordered, Some(8));
    /// assert_eq!((flags.value_type, flags.max_elements), (Some(Type::list(Type::Bool)), 8));
    /// # Ok::<(), &str>(())
    /// ```
    pub fn list(items: Arc<Self>, identity: Items, max_items: Option<i64>) -> Self {
        let most = max_items.map_or_else(
            || MAX_STRING / (items.min_serialized_size + 1),
            not_negative,
        );
        Self {
            value_type: items.value_type.clone().map(Type::list),
            form: Form::List(items, identity),
            nullable: false,
            max_elements: most,
            min_serialized_size: 2,
        }
    }

    /// An object with any keys: `additionalProperties`. Without `maxProperties`, its bound is the size limit of requests.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use kubewright_cel::{Declared, Type};
    ///
    /// let label = Declared::scalar("string", "", None, None).ok_or("no scalar")?;
    /// let labels = Declared::map(Arc::new(label), Some(10));
    /// assert_eq!(labels.value_type, Some(Type::map(Type::String, Type::String)));
    /// # Ok::<(), &str>(())
    /// ```
    pub fn map(values: Arc<Self>, max_properties: Option<i64>) -> Self {
        let most = max_properties.map_or_else(
            || MAX_STRING / (values.min_serialized_size + 6),
            not_negative,
        );
        Self {
            value_type: values
                .value_type
                .clone()
                .map(|of| Type::map(Type::String, of)),
            form: Form::Map(values),
            nullable: false,
            max_elements: most,
            min_serialized_size: 2,
        }
    }

    /// An object with `properties`, whose type has a name. `is_required` are the properties that every object has, and that have
    /// no default.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    ///
    /// use kubewright_cel::{Declared, Type};
    ///
    /// let keep = Declared::scalar("integer", "", None, None).ok_or("no scalar")?;
    /// let properties = BTreeMap::from([("keep".to_owned(), Arc::new(keep))]);
    /// let backup = Declared::object("Backup", properties, |name| name == "keep");
    /// assert_eq!(backup.value_type, Some(Type::object("Backup")));
    /// assert_eq!(backup.min_serialized_size, r#"{"keep":1}"#.len() as u64 + 1);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn object(
        name: &str,
        properties: BTreeMap<String, Arc<Self>>,
        is_required: impl Fn(&str) -> bool,
    ) -> Self {
        let required = properties
            .iter()
            .filter(|(name, property)| property.value_type.is_some() && is_required(name));
        let sizes = required.map(|(name, one)| name.len() as u64 + one.min_serialized_size + 4);
        let min_serialized_size = 2 + sizes.sum::<u64>();
        Self {
            form: Form::Object(properties),
            value_type: Some(Type::object(name)),
            nullable: false,
            max_elements: 0,
            min_serialized_size,
        }
    }

    /// A value that expressions cannot select, because its schema has no type.
    ///
    /// ```
    /// assert_eq!(kubewright_cel::Declared::unseen().value_type, None);
    /// ```
    pub fn unseen() -> Self {
        Self {
            form: Form::Plain,
            value_type: None,
            nullable: false,
            max_elements: 0,
            min_serialized_size: 0,
        }
    }

    /// The same value, which can be null if `nullable` is set.
    ///
    /// ```
    /// use kubewright_cel::{Declared, Value};
    ///
    /// let nullable = Declared::int_or_string(None).with_nullable(true);
    /// assert!(matches!(nullable.read(&serde_json::Value::Null), Value::Null));
    /// ```
    #[must_use]
    pub fn with_nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// Adds the properties that every resource has, which schemas need not declare: `apiVersion`, `kind`, `metadata.name` and
    /// `metadata.generateName`. Expressions see no other part of the metadata.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// let mut properties = BTreeMap::new();
    /// kubewright_cel::Declared::add_resource_properties(&mut properties);
    /// assert_eq!(properties.into_keys().collect::<Vec<_>>(), ["apiVersion", "kind", "metadata"]);
    /// ```
    pub fn add_resource_properties(properties: &mut BTreeMap<String, Arc<Self>>) {
        let is_text = |field: Option<&Arc<Self>>| {
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
        let names = [("name", MAX_NAME), ("generateName", MAX_NAME - 1)].map(|(name, most)| {
            let most = most * BYTES_OF_CHARACTER;
            let most = known(name).map_or(most, |known| known.max_elements.min(most));
            (name.to_owned(), text(most))
        });
        for name in ["kind", "apiVersion"] {
            properties.insert(name.to_owned(), text(MAX_STRING));
        }
        let metadata = Self::object(METADATA, names.into(), |_| false);
        properties.insert("metadata".to_owned(), Arc::new(metadata));
    }
}

fn text(max_elements: u64) -> Arc<Declared> {
    Arc::new(Declared {
        form: Form::Plain,
        value_type: Some(Type::String),
        nullable: false,
        max_elements,
        min_serialized_size: 2,
    })
}

/// The most bytes of a string with so many characters.
fn bytes(limit: i64) -> u64 {
    not_negative(limit).saturating_mul(BYTES_OF_CHARACTER)
}

fn not_negative(limit: i64) -> u64 {
    u64::try_from(limit).unwrap_or(0)
}
