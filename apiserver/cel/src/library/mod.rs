//! The function libraries of Kubernetes: declarations and implementations.

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
use std::sync::{Arc, OnceLock};

use crate::introduced::{LIST_EXTENSION, NETWORK, TWO_VARIABLES};
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

    /// The functions that every environment has by a minor version of Kubernetes.
    pub(crate) fn introduced_by(minor: u32) -> &'static Arc<Self> {
        static BY_MINOR: [OnceLock<Arc<Functions>>; VERSIONS] =
            [const { OnceLock::new() }; VERSIONS];
        let index = (minor.saturating_sub(OLDEST) as usize).min(VERSIONS - 1);
        BY_MINOR[index].get_or_init(|| {
            let known = LIBRARIES.iter().filter(|(since, _)| *since <= minor);
            let tables: Vec<&[Declaration]> = known.map(|(_, table)| *table).collect();
            Arc::new(Self::of(&tables))
        })
    }

    /// The same with the function that mutating policies have on top.
    pub(crate) fn with_json_patch(&self) -> Arc<Self> {
        let mut by_name = self.by_name.clone();
        by_name.extend(Self::of(&[json_patch::DECLARATIONS]).by_name);
        Arc::new(Self { by_name })
    }
}

/// The oldest set of functions: what Kubernetes 1.30 has for new expressions.
const OLDEST: u32 = 29;
const VERSIONS: usize = 9;

/// The libraries with the minor version of Kubernetes that introduced each, as in `pkg/cel/environment/base.go`.
const LIBRARIES: &[(u32, &[Declaration])] = &[
    (0, operators::DECLARATIONS),
    (0, standard::DECLARATIONS),
    (0, times::DECLARATIONS),
    (0, regular::DECLARATIONS),
    (0, urls::DECLARATIONS),
    (0, lists::DECLARATIONS),
    (27, authorizer::DECLARATIONS),
    (28, optionals::DECLARATIONS),
    (28, quantity::DECLARATIONS),
    (29, strings::DECLARATIONS),
    (29, sets::DECLARATIONS),
    (NETWORK, network::DECLARATIONS),
    (31, formats::DECLARATIONS),
    (31, authorizer::SELECTORS),
    (TWO_VARIABLES, comprehensions::DECLARATIONS),
    (33, semver::DECLARATIONS),
    (LIST_EXTENSION, lists::EXTENSION),
    (37, lists::INCLUDES),
];
