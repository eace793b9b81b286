//! What an environment declares: variables, object types and functions, by their names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::introduced::{KEYWORDS_AS_FIELDS, NETWORK};
use crate::library::{Function, Functions};
use crate::types::Type;

/// The type of an operation that a mutating policy makes.
pub(crate) const JSON_PATCH: &str = "JSONPatch";

/// The declarations of an environment. A clone shares object types and functions with the original.
#[derive(Clone, Debug)]
pub(crate) struct Declarations {
    pub(crate) variables: HashMap<Arc<str>, Type>,
    pub(crate) objects: Arc<HashMap<Arc<str>, Fields>>,
    pub(crate) functions: Arc<Functions>,
    /// Whether expressions can make `Object` and `JSONPatch`, and the parts of an `Object` by their paths.
    pub(crate) patches: bool,
    /// The minor version of Kubernetes that the functions are of.
    minor: u32,
}

/// The fields of an object type.
pub(crate) type Fields = Arc<BTreeMap<String, Type>>;

impl Declarations {
    pub(crate) fn new(functions: &Arc<Functions>, minor: u32) -> Self {
        Self {
            variables: HashMap::new(),
            objects: Arc::default(),
            functions: Arc::clone(functions),
            patches: false,
            minor,
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.get(name)
    }

    pub(crate) fn object(&self, name: &str) -> Option<&BTreeMap<String, Type>> {
        self.objects.get(name).map(|fields| &**fields)
    }

    /// Whether the fields of a type are not declared: it has any field, of type `dyn`.
    pub(crate) fn is_open(&self, name: &str) -> bool {
        self.patches && (name == "Object" || name.starts_with("Object."))
    }

    /// The type that an expression makes by `name{..}`.
    pub(crate) fn made_type(&self, name: &str) -> Option<Type> {
        if self.is_open(name) {
            return Some(Type::object(name));
        }
        self.named_type(name)
    }

    /// Whether words of the language name fields of object types without being escaped, too.
    pub(crate) fn has_keywords_as_fields(&self) -> bool {
        self.minor >= KEYWORDS_AS_FIELDS
    }

    pub(crate) fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.find(name)
    }

    /// The type that a name stands for when it is written in an expression.
    pub(crate) fn named_type(&self, name: &str) -> Option<Type> {
        Some(match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "google.protobuf.Duration" => Type::Duration,
            "int" => Type::Int,
            "list" => Type::list(Type::Dyn),
            "map" => Type::map(Type::Dyn, Type::Dyn),
            "null_type" => Type::Null,
            "string" => Type::String,
            "google.protobuf.Timestamp" => Type::Timestamp,
            "type" => Type::Type(None),
            "uint" => Type::Uint,
            "optional_type" => Type::optional(Type::Dyn),
            "net.IP" | "net.CIDR" if self.minor >= NETWORK => {
                Type::Opaque(name.into(), Arc::new([]))
            }
            _ if self.objects.contains_key(name) => Type::object(name),
            _ => return None,
        })
    }
}
