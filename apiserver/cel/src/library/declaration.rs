//! Functions as the tables of the libraries declare them: overloads with their signatures and implementations.

use crate::failure::Failure;
use crate::types::Type;
use crate::value::Value;

/// The value of a call, or why it has none.
pub(crate) type Evaluated<'a> = Result<Value<'a>, Failure>;

/// What a function does. It gets as many arguments as its signature has, the target of a member function first.
pub(crate) type Run = for<'a> fn(&[Value<'a>]) -> Result<Value<'a>, Failure>;

/// One overload as the tables of the libraries write it.
pub(crate) struct Declaration {
    pub(crate) function: &'static str,
    pub(crate) id: &'static str,
    /// `(string) -> int`, or `string.(int) -> string` for a member function.
    pub(crate) signature: &'static str,
    pub(crate) run: Run,
    /// Whether the types of the arguments are looked at before the call; otherwise `run` does so itself.
    pub(crate) guarded: bool,
}

/// A function that looks at the types of its arguments itself.
pub(crate) const fn open(
    function: &'static str,
    id: &'static str,
    signature: &'static str,
    run: Run,
) -> Declaration {
    Declaration {
        function,
        id,
        signature,
        run,
        guarded: false,
    }
}

/// A function whose arguments are known to be of the declared types.
pub(crate) const fn guarded(
    function: &'static str,
    id: &'static str,
    signature: &'static str,
    run: Run,
) -> Declaration {
    Declaration {
        function,
        id,
        signature,
        run,
        guarded: true,
    }
}

/// A function with all its overloads.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
}

/// One overload, its signature read.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    pub(crate) arguments: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) run: Run,
    pub(crate) guarded: bool,
    /// Whether the signature has type parameters.
    pub(crate) generic: bool,
}

impl Function {
    /// Runs the overload of a function that fits the values.
    pub(crate) fn run<'a>(&self, overload: Option<usize>, values: &[Value<'a>]) -> Evaluated<'a> {
        let chosen = match overload {
            Some(index) => Some(&self.overloads[index])
                .filter(|one| !one.guarded || fit(&one.arguments, values)),
            None => self.overloads.iter().find(|one| {
                one.arguments.len() == values.len() && (!one.guarded || fit(&one.arguments, values))
            }),
        };
        if let Some(overload) = chosen {
            (overload.run)(values)
        } else {
            let names: Vec<&str> = values.iter().map(Value::type_name).collect();
            let message = format!("no such overload: {}({})", self.name, names.join(", "));
            Err(Failure::new(message))
        }
    }
}

fn fit(wanted: &[Type], values: &[Value<'_>]) -> bool {
    wanted
        .iter()
        .zip(values)
        .all(|(wanted, value)| fits(wanted, value))
}

/// Whether a value is of a type; of lists and maps the first entry is looked at.
fn fits(wanted: &Type, value: &Value<'_>) -> bool {
    match wanted {
        Type::Dyn | Type::Param(_) => true,
        Type::Bool => matches!(value, Value::Bool(_)),
        Type::Bytes => matches!(value, Value::Bytes(_)),
        Type::Double => matches!(value, Value::Double(_)),
        Type::Int => matches!(value, Value::Int(_)),
        Type::String => matches!(value, Value::String(_)),
        Type::Uint => matches!(value, Value::Uint(_)),
        Type::List(element) => match value {
            Value::List(list) => list.get(0).is_none_or(|first| fits(element, &first)),
            _ => false,
        },
        Type::Map(entry) => match value {
            Value::Map(map) => map
                .first()
                .is_none_or(|(key, value)| fits(&entry.0, &key) && fits(&entry.1, &value)),
            _ => false,
        },
        _ => wanted.name() == value.type_name(),
    }
}
