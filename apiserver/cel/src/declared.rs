//! Declared values: the types of JSON that a schema describes, how it is read, and how large it can be.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::escape::{escape, unescape};
use crate::types::Type;

/// The size limit of a request in bytes: the bound of all values whose schema has none (`maxRequestSizeBytes` in the API
/// server).
pub const MAX_REQUEST_SIZE_BYTES: u64 = 3 * 1024 * 1024;

/// A value with a schema: its type for expressions, and the bounds that the cost of expressions is estimated from.
///
/// Each node of a schema becomes one `Declared`. In the rules of custom resources, `self` and `oldSelf` are such values:
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_cel::{Budget, Declared, Environment, Form, Items, Type, Variables};
/// use serde_json::json;
///
/// // {type: string, maxLength: 15}
/// let zone = Declared {
///     form: Form::Plain,
///     value_type: Some(Type::String),
///     nullable: false,
///     max_elements: 60, // bytes: a character takes up to four
///     min_serialized_size: 2,
/// };
/// // {type: array, x-kubernetes-list-type: set, maxItems: 5, items: ...}
/// let zones = Declared {
///     form: Form::List(Arc::new(zone), Items::Set),
///     value_type: Some(Type::list(Type::String)),
///     nullable: false,
///     max_elements: 5,
///     min_serialized_size: 2,
/// };
///
/// let environment = Environment::kubernetes()
///     .with_variable("self", Type::list(Type::String))
///     .with_variable("oldSelf", Type::list(Type::String));
/// let (program, max_cost) = environment.compile_with_max_cost("self == oldSelf", &zones, &Type::Bool)?;
/// assert!(max_cost < 100);
///
/// // The order of a set does not matter.
/// let (new, old) = (json!(["b", "a"]), json!(["a", "b"]));
/// let variables = Variables::new()
///     .with("self", zones.read(&new))
///     .with("oldSelf", zones.read(&old));
/// let value = program.evaluate(&variables, &mut Budget::policy())?;
/// assert_eq!(value.as_bool(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers make one for each node of their schemas"
)]
pub struct Declared {
    /// How its JSON is read.
    pub form: Form,
    /// Its type; `None` where the schema says too little, and expressions cannot select the field.
    pub value_type: Option<Type>,
    /// Whether it can be null: `nullable`. Where it cannot, a null is read as [`Value::Invalid`](crate::Value::Invalid).
    pub nullable: bool,
    /// The maximum number of items of a list, of entries of a map, or of bytes of a string; 0 for all others.
    pub max_elements: u64,
    /// The minimum number of bytes that it takes as JSON.
    pub min_serialized_size: u64,
}

/// How JSON is read as a value of the language.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "all forms that schemas can describe"
)]
pub enum Form {
    /// As its JSON type says: booleans, integers, strings, and integers or strings.
    Plain,
    /// A number, which is a double even if it has no fraction.
    Double,
    /// A base64 string: `format: byte`.
    Bytes,
    /// A day, which is a timestamp at midnight in UTC: `format: date`.
    Date,
    /// A timestamp: `format: date-time`.
    DateTime,
    /// A duration: `format: duration`.
    Duration,
    /// An array, with the declaration of its items.
    List(Arc<Declared>, Items),
    /// An object with any keys, with the declaration of its values: `additionalProperties`.
    Map(Arc<Declared>),
    /// An object with declared fields, by the names of the fields in JSON: `properties`.
    Object(BTreeMap<String, Arc<Declared>>),
    /// An object with declared fields whose type is that of a map: `properties` beside `additionalProperties`. Such a definition
    /// is refused, but its defaults are tried by its rules nevertheless.
    MapOfFields(Arc<Declared>, BTreeMap<String, Arc<Declared>>),
    /// Any JSON, which the API server holds in the Go types of a built-in kind: its lists and maps are not compared with
    /// values of other types, and its maps have no keys but strings. Fields of these names hold JSON nevertheless.
    Native(&'static [&'static str]),
}

/// The declarations behind [`Variables::with_native`](crate::Variables::with_native).
pub(crate) static NATIVE: Declared = native(&["fieldsV1"]);
pub(crate) static NATIVE_REQUEST: Declared = native(&["options"]);

const fn native(raw: &'static [&'static str]) -> Declared {
    Declared {
        form: Form::Native(raw),
        value_type: None,
        nullable: true,
        max_elements: 0,
        min_serialized_size: 0,
    }
}

/// What identifies an item of a list: `x-kubernetes-list-type`. Equality and `+` of lists depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the types that a list can say")]
pub enum Items {
    /// Its index: `atomic`.
    Ordered,
    /// Its value: `set`.
    Set,
    /// The values of these fields: `map` with `x-kubernetes-list-map-keys`.
    Keyed(Arc<[String]>),
    /// Something else. Such a definition is refused, but its defaults are tried by its rules nevertheless: its lists cannot
    /// be read.
    Unknown(Arc<str>),
}

impl Declared {
    /// The fields that expressions can select, under their names there and with their types: the fields of
    /// [`Environment::with_object_type`](crate::Environment::with_object_type).
    ///
    /// Names that are no identifiers of the language are escaped: `x-prop` is `x__dash__prop` in expressions.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    ///
    /// use kubewright_cel::{Declared, Form, Type};
    ///
    /// let text = Declared {
    ///     form: Form::Plain,
    ///     value_type: Some(Type::String),
    ///     nullable: false,
    ///     max_elements: 100,
    ///     min_serialized_size: 2,
    /// };
    /// let object = Declared {
    ///     form: Form::Object(BTreeMap::from([("x-prop".to_owned(), Arc::new(text))])),
    ///     value_type: Some(Type::object("example")),
    ///     nullable: false,
    ///     max_elements: 0,
    ///     min_serialized_size: 2,
    /// };
    /// let fields: Vec<_> = object.fields().collect();
    /// assert_eq!(fields, [("x__dash__prop".to_owned(), Type::String)]);
    /// ```
    pub fn fields(&self) -> impl Iterator<Item = (String, Type)> {
        let fields = match &self.form {
            Form::Object(fields) => Some(fields),
            _ => None,
        };
        fields
            .into_iter()
            .flatten()
            .filter_map(|(name, field)| Some((escape(name)?, field.value_type.clone()?)))
    }

    /// The field that expressions name so.
    pub(crate) fn field(&self, identifier: &str) -> Option<&Self> {
        match &self.form {
            Form::Object(fields) => {
                let field = fields.get(&unescape(identifier)?)?;
                field.value_type.is_some().then_some(field)
            }
            _ => None,
        }
    }

    /// Whether it has no schema, but Go types.
    pub(crate) fn is_native(&self) -> bool {
        matches!(self.form, Form::Native(_))
    }

    /// The declaration of the items of a list or the values of a map.
    pub(crate) fn element(&self) -> Option<&Self> {
        match &self.form {
            Form::List(element, _) | Form::Map(element) | Form::MapOfFields(element, _) => {
                Some(element)
            }
            Form::Native(_) => Some(self),
            _ => None,
        }
    }

    /// The maximum number of such values in one object, by the size limit of requests.
    ///
    /// ```
    /// use kubewright_cel::{Declared, Form, MAX_REQUEST_SIZE_BYTES, Type};
    ///
    /// let flag = Declared {
    ///     form: Form::Plain,
    ///     value_type: Some(Type::Bool),
    ///     nullable: false,
    ///     max_elements: 0,
    ///     min_serialized_size: 4, // true
    /// };
    /// // Each with a comma.
    /// assert_eq!(flag.max_cardinality(), MAX_REQUEST_SIZE_BYTES / 5);
    /// ```
    pub fn max_cardinality(&self) -> u64 {
        MAX_REQUEST_SIZE_BYTES / (self.min_serialized_size + 1)
    }

    /// The keys that expressions see.
    pub(crate) fn keys(&self, members: &serde_json::Map<String, Json>) -> Vec<String> {
        members
            .keys()
            .filter_map(|name| match &self.form {
                Form::Object(fields) | Form::MapOfFields(_, fields) => fields
                    .contains_key(name)
                    .then(|| escape(name).unwrap_or_else(|| name.clone())),
                _ => Some(name.clone()),
            })
            .collect()
    }

    /// How the items of a list are told apart.
    pub(crate) fn items(&self) -> &Items {
        match &self.form {
            Form::List(_, items) => items,
            _ => &Items::Ordered,
        }
    }
}
