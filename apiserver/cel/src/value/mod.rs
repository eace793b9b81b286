//! The values of the language. JSON is borrowed, and read only where an expression selects it.

pub(crate) mod authorization;
mod compare;
mod convert;
mod display;
mod duration;
mod lists;
mod map;
mod netip;
pub(crate) mod network;
mod quantity;
mod reading;
mod semver;
mod time;
pub(crate) mod url;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::declared::{Declared, Items};
use crate::failure::Failure;
use crate::named_format::NamedFormat;
use crate::types::Type;

use authorization::{Authority, Decision, GroupCheck, PathCheck, ResourceCheck};
pub(crate) use compare::{compare, equal};
pub(crate) use convert::convert;
pub(crate) use display::format_double;
pub(crate) use duration::parse as parse_duration;
pub(crate) use lists::join;
pub use network::{Address, Network};
pub use quantity::Quantity;
pub use semver::Semver;
pub(crate) use time::Civil;
pub use time::Timestamp;
pub use url::Url;

/// A value of the language: the result of an expression, or the value of a variable.
///
/// Values borrow the JSON that they are made from. They display as `string(value)` does in expressions, and lists and maps
/// in brackets:
///
/// ```
/// use kubewright_cel::Value;
/// use serde_json::json;
///
/// let json = json!({"name": "web", "ports": [80, 443], "ratio": 1e6});
/// let value = Value::from_json(&json);
/// assert_eq!(value.to_string(), "{name: web, ports: [80, 443], ratio: 1e+06}");
/// assert_eq!(value.type_name(), "map");
///
/// let Value::Map(map) = &value else { unreachable!() };
/// assert_eq!(map.get("name").and_then(|name| name.as_str().map(str::to_owned)), Some("web".to_owned()));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// A string.
    String(Text<'a>),
    /// A byte sequence.
    Bytes(Arc<[u8]>),
    /// A point in time.
    Timestamp(Timestamp),
    /// A duration in nanoseconds.
    Duration(i64),
    /// A list.
    List(List<'a>),
    /// A map, or an object of JSON.
    Map(Map<'a>),
    /// An optional value: `optional.none()`, or the value inside.
    Optional(Option<Arc<Self>>),
    /// A type as a value: `type(1)`.
    Type(Arc<Type>),
    /// A value of one of Kubernetes' own types, such as a quantity.
    Object(Object<'a>),
    /// A value of a declared object type, made by an expression: `Backup{keep: 3}`.
    Record(Arc<Record<'a>>),
    /// JSON that does not fit its schema, with the reason: expressions that use it fail.
    Invalid(Arc<str>),
}

impl<'a> Value<'a> {
    /// Reads JSON, without a copy. Numbers that fit into 64 signed bits are integers, all others are doubles.
    pub fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Self::Int(value),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(elements) => Self::List(List::Json(elements)),
            Json::Object(members) => Self::Map(Map::Json(members)),
        }
    }

    /// A list of values.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, Type, Value, Variables};
    ///
    /// let environment = Environment::kubernetes().with_variable("sizes", Type::list(Type::Int));
    /// let program = environment.compile("sizes.sum()")?;
    /// let sizes = Value::list(vec![Value::Int(3), Value::Int(4)]);
    /// let value = program.evaluate(&Variables::new().with("sizes", sizes), &mut Budget::policy())?;
    /// assert_eq!(value.to_string(), "7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(elements: Vec<Self>) -> Self {
        Self::List(List::Values(Arc::new(elements)))
    }

    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The name of the value's type, without parameters, as `type(value)` gives it.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Object(object) => object.type_name(),
            Self::Record(record) => &record.name,
            Self::Invalid(_) => "error",
        }
    }

    /// The name of the Go type that the reference implementation holds it in.
    pub(crate) fn go_type_name(&self) -> &str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::String(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::Timestamp(_) => "types.Timestamp",
            Self::Duration(_) => "types.Duration",
            Self::Optional(_) => "*types.Optional",
            Self::Type(_) => "*types.Type",
            Self::List(List::Json(_) | List::Values(_)) => "*types.baseList",
            Self::Map(Map::Json(_) | Map::Values(_)) => "*types.baseMap",
            Self::Map(Map::Domains(_)) => "cel.mapper",
            Self::Object(Object::Quantity(_)) => "cel.Quantity",
            Self::Object(Object::Url(_)) => "cel.URL",
            Self::Object(Object::Ip(_)) => "cel.IP",
            Self::Object(Object::Cidr(_)) => "cel.CIDR",
            Self::Object(Object::Semver(_)) => "cel.Semver",
            other => other.type_name(),
        }
    }

    /// Whether expressions can select by it: `map[value]`.
    pub(crate) fn check_qualifier(&self) -> Result<(), Failure> {
        match self {
            Self::Bool(_) | Self::Int(_) | Self::Uint(_) | Self::Double(_) | Self::String(_) => {
                Ok(())
            }
            other => {
                let of = other.go_type_name();
                Err(Failure::new(format!("invalid qualifier type: {of}")))
            }
        }
    }

    /// What Go says where it takes the value for a list: of its methods, the first that the value does not have.
    pub(crate) fn taken_for_list(&self) -> Failure {
        let has_sum = matches!(
            self,
            Self::Int(_)
                | Self::Uint(_)
                | Self::Double(_)
                | Self::String(_)
                | Self::Bytes(_)
                | Self::Timestamp(_)
                | Self::Duration(_)
        );
        let missing = if has_sum { "Contains" } else { "Add" };
        Failure::no_list(self.go_type_name(), missing)
    }

    /// Why it is no value of its type, if it is none.
    pub(crate) fn fault(&self) -> Option<&str> {
        match self {
            Self::Invalid(reason) => Some(reason),
            _ => None,
        }
    }

    /// The boolean, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The string, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The size where the language has one: code points, bytes, elements or entries.
    pub(crate) fn size(&self) -> Option<usize> {
        Some(match self {
            Self::String(text) => text.code_points(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Object(Object::Ip(address)) => address.octets(),
            Self::Object(Object::Cidr(network)) => network.octets(),
            _ => return None,
        })
    }

    /// Whether `optional.ofNonZeroValue` takes the value for nothing.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) | Self::Duration(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Timestamp(time) => time.is_zero(),
            _ => false,
        }
    }
}

/// A string, which dereferences to `str`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Text<'a> {
    /// A string of a JSON document or of the expression.
    Borrowed(&'a str),
    /// A string that an evaluation made.
    Shared(Arc<str>),
}

impl Text<'_> {
    pub(crate) fn code_points(&self) -> usize {
        if self.is_ascii() {
            self.len()
        } else {
            self.chars().count()
        }
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

/// A list.
///
/// ```
/// use kubewright_cel::{Budget, Environment, Value, Variables};
///
/// let program = Environment::kubernetes().compile("['a', 'b'].map(x, x + '!')")?;
/// let value = program.evaluate(&Variables::new(), &mut Budget::policy())?;
///
/// let Value::List(list) = &value else { unreachable!() };
/// let items: Vec<String> = list.iter().map(|item| item.to_string()).collect();
/// assert_eq!(items, ["a!", "b!"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum List<'a> {
    /// An array of JSON.
    Json(&'a [Json]),
    /// A list that an expression or a caller made.
    Values(Arc<Vec<Value<'a>>>),
    /// An array of JSON with its declaration.
    Declared(&'a [Json], &'a Declared),
    /// The sum of two lists of which the first one is a set or a map.
    Joined(Arc<Vec<Value<'a>>>, Items),
}

impl<'a> List<'a> {
    /// Whether the API server holds it in Go types: see [`Variables::with_native`](crate::Variables::with_native).
    pub fn is_native(&self) -> bool {
        matches!(self, Self::Declared(_, of) if of.is_native())
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(elements) | Self::Declared(elements, _) => elements.len(),
            Self::Values(elements) | Self::Joined(elements, _) => elements.len(),
        }
    }

    /// Whether the list has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at an index.
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(elements) => elements.get(index).map(Value::from_json),
            Self::Values(elements) | Self::Joined(elements, _) => elements.get(index).cloned(),
            Self::Declared(elements, of) => {
                let element = elements.get(index)?;
                Some(match of.element() {
                    Some(of) => of.read(element),
                    None => Value::from_json(element),
                })
            }
        }
    }

    /// How the items are told apart.
    pub(super) fn kind(&self) -> &Items {
        match self {
            Self::Json(_) | Self::Values(_) => &Items::Ordered,
            Self::Declared(_, of) => of.items(),
            Self::Joined(_, items) => items,
        }
    }

    /// The items in their order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// A map, or an object of JSON.
///
/// ```
/// use kubewright_cel::{Budget, Environment, Value, Variables};
///
/// let program = Environment::kubernetes().compile("{'a': 1, 'b': 2}")?;
/// let value = program.evaluate(&Variables::new(), &mut Budget::policy())?;
///
/// let Value::Map(map) = &value else { unreachable!() };
/// let entries = map.entries().into_iter().map(|(key, value)| format!("{key}={value}"));
/// assert_eq!(entries.collect::<Vec<_>>(), ["a=1", "b=2"]);
/// assert!(map.get("c").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Map<'a> {
    /// An object of JSON.
    Json(&'a serde_json::Map<String, Json>),
    /// A map that an expression made.
    Values(Arc<BTreeMap<Key<'a>, Value<'a>>>),
    /// An object of JSON with its declaration.
    Declared(&'a serde_json::Map<String, Json>, &'a Declared),
    /// The attributes or the capacities of a device by their domains. An unknown domain has an empty map.
    Domains(Arc<BTreeMap<Key<'a>, Value<'a>>>),
}

/// The key of a map that an expression made. Two numbers of different types with the same value are the same key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Key<'a> {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A string.
    String(Text<'a>),
}

/// A value of one of Kubernetes' own types.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Object<'a> {
    /// `quantity(..)`.
    Quantity(Arc<Quantity>),
    /// `url(..)`.
    Url(Arc<Url>),
    /// `ip(..)`.
    Ip(Address),
    /// `cidr(..)`.
    Cidr(Network),
    /// `format.named(..)`.
    Format(&'static NamedFormat),
    /// `semver(..)`.
    Semver(Arc<Semver>),
    /// `authorizer`.
    Authorizer(Arc<Authority<'a>>),
    /// `authorizer.path(..)`.
    PathCheck(Arc<PathCheck<'a>>),
    /// `authorizer.group(..)`.
    GroupCheck(Arc<GroupCheck<'a>>),
    /// `authorizer.group(..).resource(..)`.
    ResourceCheck(Arc<ResourceCheck<'a>>),
    /// The answer to `check(..)`.
    Decision(Arc<Decision>),
    /// `variables`, whose fields are evaluated when they are selected.
    Variables,
}

impl Object<'_> {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::PathCheck(_) => "kubernetes.authorization.PathCheck",
            Self::GroupCheck(_) => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck(_) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
            Self::Variables => "kubernetes.variables",
        }
    }
}

/// A value of a declared object type, made by an expression.
///
/// ```
/// use kubewright_cel::{Budget, Environment, Type, Value, Variables};
///
/// let environment = Environment::kubernetes().with_object_type("Backup", [("keep", Type::Int)]);
/// let program = environment.compile("Backup{keep: 3}")?;
/// let value = program.evaluate(&Variables::new(), &mut Budget::policy())?;
///
/// let Value::Record(backup) = &value else { unreachable!() };
/// let fields: Vec<String> = backup.fields().map(|(name, value)| format!("{name}={value}")).collect();
/// assert_eq!((backup.name(), fields.join(",")), ("Backup", "keep=3".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Record<'a> {
    pub(crate) name: Arc<str>,
    pub(crate) fields: BTreeMap<Arc<str>, Value<'a>>,
}

impl<'a> Record<'a> {
    /// The name of the type.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fields that the expression set, in the order of their names.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.fields.iter().map(|(name, value)| (&**name, value))
    }
}
