//! Policies and their bindings, read from the store and compiled once per change.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_apimachinery::view::View as _;
use parking_lot::Mutex;
use serde_json::Value;

use super::binding::Binding;
use super::coverage::ExpressionCoverage;
use super::definition::{Compile, Definition};
use crate::cluster::Cluster;

const GROUP: &str = "admissionregistration.k8s.io";

/// All policies of one sort that have a binding, as of the last change.
#[derive(Debug)]
pub(super) struct Source<E> {
    policies: &'static str,
    bindings: &'static str,
    coverage: bool,
    compiled: Mutex<Option<Compiled<E>>>,
}

/// The policies, ordered by name, and the change numbers of policies and of bindings that they are of.
#[derive(Debug)]
struct Compiled<E> {
    of: [u64; 2],
    definitions: Arc<[Definition<E>]>,
}

impl<E: Compile> Source<E> {
    pub(super) fn new(policies: &'static str, bindings: &'static str, coverage: bool) -> Self {
        Self {
            policies,
            bindings,
            coverage,
            compiled: Mutex::new(None),
        }
    }

    /// The policies as of now.
    pub(super) fn current(&self, cluster: &dyn Cluster) -> Arc<[Definition<E>]> {
        let now = [self.policies, self.bindings].map(|name| cluster.change_number(GROUP, name));
        let mut compiled = self.compiled.lock();
        match &*compiled {
            Some(Compiled { of, definitions }) if *of == now => Arc::clone(definitions),
            _ => {
                let definitions = self.read(cluster);
                *compiled = Some(Compiled {
                    of: now,
                    definitions: Arc::clone(&definitions),
                });
                definitions
            }
        }
    }

    /// The expressions of the policies as of the last request, and the values that their conditions have had.
    pub(super) fn coverage(&self, kind: &'static str) -> Vec<ExpressionCoverage> {
        let compiled = self.compiled.lock();
        let definitions = compiled
            .iter()
            .flat_map(|compiled| compiled.definitions.iter());
        let expressions = definitions.flat_map(|definition| {
            let fields = definition.expressions.fields().0.into_iter();
            fields.map(|(field, conditions)| ExpressionCoverage {
                kind,
                policy: definition.name.clone(),
                field,
                conditions,
            })
        });
        expressions.collect()
    }

    fn read(&self, cluster: &dyn Cluster) -> Arc<[Definition<E>]> {
        let mut bound: BTreeMap<String, Vec<Binding>> = BTreeMap::new();
        for binding in cluster.list(GROUP, self.bindings, "") {
            let policy = binding.at("spec").text("policyName").to_owned();
            let bindings = bound.entry(policy).or_default();
            bindings.push(Binding::from_object(&binding));
        }
        let read = |(name, bindings): (String, Vec<Binding>)| {
            let policy: Arc<Value> = cluster.get(GROUP, self.policies, "", &name)?;
            Some(Definition::from_object(
                name,
                &policy,
                bindings,
                self.coverage,
            ))
        };
        bound.into_iter().filter_map(read).collect()
    }
}
