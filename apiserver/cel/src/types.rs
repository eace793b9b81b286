//! The types of the language, as declared and as written in messages.

use std::fmt;
use std::sync::Arc;

/// The type of an expression, a variable or a value.
///
/// ```
/// use kubewright_cel::{Environment, Type};
///
/// let labels = Type::map(Type::String, Type::String);
/// assert_eq!(labels.to_string(), "map(string, string)");
///
/// let environment = Environment::kubernetes().with_variable("labels", labels);
/// let program = environment.compile("labels.?team")?;
/// assert_eq!(*program.output_type(), Type::optional(Type::String));
/// # Ok::<(), kubewright_cel::CompileError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// Any type: checked when the expression is evaluated.
    Dyn,
    /// The type of `null`.
    Null,
    /// `true` and `false`.
    Bool,
    /// Integers of 64 bits.
    Int,
    /// Unsigned integers of 64 bits.
    Uint,
    /// Floating point numbers of 64 bits.
    Double,
    /// Strings of code points.
    String,
    /// Byte sequences.
    Bytes,
    /// Timestamps: `google.protobuf.Timestamp`.
    Timestamp,
    /// Durations: `google.protobuf.Duration`.
    Duration,
    /// Lists, with the type of their elements.
    List(Arc<Self>),
    /// Maps, with the types of their keys and values.
    Map(Arc<(Self, Self)>),
    /// A type as a value; the type itself where it is known.
    Type(Option<Arc<Self>>),
    /// An abstract type with parameters, such as `optional_type(int)` or `net.IP`.
    Opaque(Arc<str>, Arc<[Self]>),
    /// A type with declared fields, or a named type without any, such as `kubernetes.Quantity`.
    Object(Arc<str>),
    /// A parameter of a function's declaration.
    Param(Arc<str>),
    /// A type that the checker has not inferred yet. No program has it.
    Variable(u32),
    /// The type of an expression with an error; it fits everywhere, so that each mistake is reported once. No program has it.
    Error,
}

impl Type {
    /// The type of lists of `element`.
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// The type of maps from `key` to `value`.
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// The type of optional values, such as `object.?field`.
    pub fn optional(inner: Self) -> Self {
        Self::Opaque(OPTIONAL.into(), Arc::new([inner]))
    }

    /// An object type, declared by [`Environment::with_object_type`](crate::Environment::with_object_type).
    pub fn object(name: &str) -> Self {
        Self::Object(name.into())
    }

    pub(crate) fn as_optional(&self) -> Option<&Self> {
        match self {
            Self::Opaque(name, parameters) if **name == *OPTIONAL => parameters.first(),
            _ => None,
        }
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The name of the type, without its parameters, as `type(value)` gives it.
    pub fn name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Opaque(name, _) | Self::Object(name) | Self::Param(name) => name,
            Self::Dyn | Self::Variable(_) => "dyn",
            Self::Error => "error",
        }
    }

    pub(crate) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(element) => vec![element],
            Self::Map(entry) => vec![&entry.0, &entry.1],
            Self::Type(Some(inner)) => vec![inner],
            Self::Opaque(_, parameters) => parameters.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The type as the messages of the checker write it.
    pub(crate) fn in_message(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Error => "!error!".to_owned(),
            Self::Variable(number) => format!("_var{number}"),
            _ => {
                let parameters = self.parameters();
                if parameters.is_empty() {
                    return self.name().to_owned();
                }
                let parameters: Vec<String> = parameters
                    .iter()
                    .map(|parameter| parameter.in_message())
                    .collect();
                format!("{}({})", self.name(), parameters.join(", "))
            }
        }
    }
}

/// The notation of `must evaluate to bool but got <type>` in the API server.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Param(name) = self {
            return write!(f, "<{name}>");
        }
        f.write_str(self.name())?;
        let parameters = self.parameters();
        if parameters.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        for (index, parameter) in parameters.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{parameter}")?;
        }
        f.write_str(")")
    }
}

/// The name of the type of optional values.
pub(crate) const OPTIONAL: &str = "optional_type";
