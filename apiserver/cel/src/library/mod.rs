//! The function libraries of Kubernetes 1.37: declarations and implementations.

mod authorizer;
mod comprehensions;
mod declaration;
mod format_string;
mod formats;
mod json_patch;
mod lists;
mod network;
mod operators;
mod optionals;
mod quantity;
pub(crate) mod regular;
mod semver;
mod sets;
mod signature;
mod standard;
mod strings;
mod times;
mod urls;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use declaration::Declaration;

pub(crate) use comprehensions::insert_entries;
pub(crate) use declaration::{Evaluated, Function, Overload};
pub(crate) use format_string::{Clause, clauses};

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

    /// What every environment of Kubernetes 1.37 has.
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
