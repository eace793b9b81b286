//! The functions that Kubernetes 1.36 gives to expressions: how they are declared and what they do.

pub(super) mod authorizer;
mod comprehensions;
mod format_string;
pub(super) mod formats;
mod json_patch;
mod lists;
pub(super) mod network;
mod operators;
mod optionals;
pub(super) mod quantity;
pub(super) mod regular;
pub(super) mod semver;
mod sets;
mod signature;
mod standard;
mod strings;
mod times;
pub(super) mod urls;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::eval::Failure;
use super::types::Type;
use super::value::Value;

pub(super) use comprehensions::insert_entries;
pub(super) use format_string::{Clause, clauses};

/// What a function does. It gets as many arguments as its signature has, the target of a member function first.
pub(super) type Run = for<'a> fn(&[Value<'a>]) -> Result<Value<'a>, Failure>;

/// One overload as the tables of the libraries write it.
pub(super) struct Declaration {
    pub(super) function: &'static str,
    pub(super) id: &'static str,
    /// `(string) -> int`, or `string.(int) -> string` for a member function.
    pub(super) signature: &'static str,
    pub(super) run: Run,
    /// Whether the types of the arguments are looked at before the call; otherwise `run` does so itself.
    pub(super) guarded: bool,
}

/// A function that looks at the types of its arguments itself.
pub(super) const fn open(
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
pub(super) const fn guarded(
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
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) overloads: Vec<Overload>,
}

/// One overload, its signature read.
#[derive(Debug)]
pub(super) struct Overload {
    pub(super) id: &'static str,
    pub(super) member: bool,
    pub(super) arguments: Vec<Type>,
    pub(super) result: Type,
    pub(super) run: Run,
    pub(super) guarded: bool,
    /// Whether the signature has type parameters.
    pub(super) generic: bool,
}

/// All functions of an environment, by name.
#[derive(Debug)]
pub(super) struct Functions {
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

    pub(super) fn find(&self, name: &str) -> Option<&Arc<Function>> {
        self.by_name.get(name)
    }

    /// What every environment of Kubernetes 1.36 has.
    pub(super) fn kubernetes() -> &'static Arc<Self> {
        static FUNCTIONS: LazyLock<Arc<Functions>> =
            LazyLock::new(|| Arc::new(Functions::of(BASE)));
        &FUNCTIONS
    }

    /// What mutating policies have on top.
    pub(super) fn with_json_patch() -> &'static Arc<Self> {
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
