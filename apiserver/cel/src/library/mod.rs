//! The function libraries of Kubernetes 1.36: declarations and implementations.

pub(crate) mod authorizer;
mod comprehensions;
mod format_string;
pub(crate) mod formats;
mod json_patch;
mod lists;
pub(crate) mod network;
mod operators;
mod optionals;
pub(crate) mod quantity;
pub(crate) mod regular;
pub(crate) mod semver;
mod sets;
mod signature;
mod standard;
mod strings;
mod times;
pub(crate) mod urls;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::eval::Failure;
use crate::types::Type;
use crate::value::Value;

pub(crate) use comprehensions::insert_entries;
pub(crate) use format_string::{Clause, clauses};

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

/// All functions of an environment, by name.
#[derive(Debug)]
pub(crate) struct Functions {
    by_name: HashMap<&'static str, Arc<Function>>,
}

impl Functions {
    fn of(tables: &[&[Declaration]]) -> Self {
        let mut by_name: HashMap<&'static str, Function> = HashMap::new();
        for declaration in tables.iter().copied().flatten() {
            by_name
                .entry(declaration.function)
                .or_insert_with(|| Function {
                    name: declaration.function,
                    overloads: Vec::new(),
                })
                .overloads
                .push(signature::overload(declaration));
        }
        Self {
            by_name: by_name
                .into_iter()
                .map(|(name, one)| (name, Arc::new(one)))
                .collect(),
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Function>> {
        self.by_name.get(name)
    }

    /// What every environment of Kubernetes 1.36 has.
    pub(crate) fn kubernetes() -> &'static Arc<Self> {
        static FUNCTIONS: LazyLock<Arc<Functions>> =
            LazyLock::new(|| Arc::new(Functions::of(BASE)));
        &FUNCTIONS
    }

    /// What mutating policies have on top.
    pub(crate) fn with_json_patch() -> &'static Arc<Self> {
        static FUNCTIONS: LazyLock<Arc<Functions>> = LazyLock::new(|| {
            let mut tables = BASE.to_vec();
            tables.push(json_patch::DECLARATIONS);
            Arc::new(Functions::of(&tables))
        });
        &FUNCTIONS
    }
}

const BASE: &[&[Declaration]] = &[
    operators::DECLARATIONS,
    standard::DECLARATIONS,
    times::DECLARATIONS,
    optionals::DECLARATIONS,
    strings::DECLARATIONS,
    lists::DECLARATIONS,
    sets::DECLARATIONS,
    comprehensions::DECLARATIONS,
    regular::DECLARATIONS,
    urls::DECLARATIONS,
    quantity::DECLARATIONS,
    network::DECLARATIONS,
    formats::DECLARATIONS,
    semver::DECLARATIONS,
    authorizer::DECLARATIONS,
];
