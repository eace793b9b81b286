//! One request on its way through the mutating policies: each sees what the one before it left.

use std::sync::Arc;

use kubewright_apiextensions::custom::{Custom, convert};
use kubewright_apimachinery::conform::Medium;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_webhook_client::Reach;
use serde_json::Value;

use super::binding::Binding;
use super::definition::{Definition, Selected};
use super::input::{self, Input};
use super::mutator::{Failure, Mutated, Mutator};
use super::params::{self, Params};
use super::refusals::Refusals;
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::expressions::{Outcome, Request};
use crate::forms::Forms;
use crate::kinds::is_built_in;
use crate::matching::Matched;
use crate::reinvocation::Calls;

type Policy = Definition<Mutator>;

/// One request in one round.
pub(super) struct Dispatch<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) cluster: &'a dyn Cluster,
    pub(super) attributes: &'a mut Attributes,
    pub(super) calls: &'a mut Calls,
}

/// A policy to call, with one of its parameters.
struct Invocation<'p> {
    policy: &'p Policy,
    binding: &'p Binding,
    params: Params,
    /// Which of the versions it gets.
    version: usize,
}

/// The objects of the request in a version that policies match.
struct Version {
    matched: Matched,
    object: Value,
    old: Value,
    mutated: bool,
    /// Its lists that were set to none at all.
    unset: Vec<String>,
}

impl Dispatch<'_> {
    pub(super) async fn run(mut self, policies: &[Policy]) -> Result<()> {
        let mut refusals = Refusals::default();
        let mut versions = Vec::new();
        let invocations = self.select(policies, &mut versions, &mut refusals).await;
        if !invocations.is_empty() {
            self.calls.begin(&self.attributes.object);
            let last = self.invoke(&invocations, &mut versions, &mut refusals)?;
            if let Some(version) = last.map(|last| versions.swap_remove(last))
                && version.mutated
            {
                self.calls.changed();
                self.put_back(version).await?;
            }
            self.calls.end(&self.attributes.object, true);
        }
        match refusals.into_status(self.attributes) {
            Some(status) => Err(status),
            None => Ok(()),
        }
    }

    /// The policies that are for the request, each once for each parameter. All are chosen before the first one is called.
    async fn select<'p>(
        &mut self,
        policies: &'p [Policy],
        versions: &mut Vec<Version>,
        refusals: &mut Refusals,
    ) -> Vec<Invocation<'p>> {
        let (cluster, attributes) = (self.cluster, &*self.attributes);
        let mut forms = Forms::default();
        let mut invocations = Vec::new();
        for policy in policies {
            let Selected {
                matched,
                params: resource,
            } = match policy.matches(cluster, attributes) {
                Ok(Some(selected)) => selected,
                Ok(None) => continue,
                Err(why) => {
                    refusals.misconfigured(policy, None, &why);
                    continue;
                }
            };
            for binding in &policy.bindings {
                match binding.matches(cluster, attributes) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(why) => {
                        refusals.misconfigured(policy, Some(binding), why.message());
                        continue;
                    }
                }
                let is_known = |version: &Version| version.matched.kind == matched.kind;
                let version = match versions.iter().position(is_known) {
                    Some(known) => known,
                    None => match forms.of(self.reach, attributes, &matched, true).await {
                        Ok(form) => {
                            versions.push(Version {
                                matched: matched.clone(),
                                object: form.object.clone(),
                                old: form.old.clone(),
                                mutated: false,
                                unset: Vec::new(),
                            });
                            versions.len() - 1
                        }
                        Err(why) => {
                            refusals.misconfigured(policy, None, why.message());
                            continue;
                        }
                    },
                };
                let reference = binding.param_ref.as_ref();
                let collected = params::collect(
                    self.reach,
                    cluster,
                    attributes,
                    resource.as_ref(),
                    reference,
                );
                match collected.await {
                    Ok(params) => invocations.extend(params.into_iter().map(|params| Invocation {
                        policy,
                        binding,
                        params: params.native(),
                        version,
                    })),
                    Err(why) => refusals.misconfigured(policy, Some(binding), &why),
                }
            }
        }
        invocations
    }

    /// Calls the policies; answers which version of the object was the last to be given to a mutation.
    ///
    /// # Errors
    /// The request fails whatever the failure policies say.
    fn invoke(
        &mut self,
        invocations: &[Invocation<'_>],
        versions: &mut [Version],
        refusals: &mut Refusals,
    ) -> Result<Option<usize>> {
        let namespace = input::namespace(self.cluster, self.attributes)?;
        let registry = self.cluster.registry();
        let mut last = None;
        for invocation in invocations {
            let (policy, binding) = (invocation.policy, invocation.binding);
            let mutator = &policy.expressions;
            let version = &mut versions[invocation.version];
            match self.with_input(invocation, version, &namespace, |input| {
                mutator.conditions(input)
            }) {
                Outcome::Call => {}
                Outcome::Skip => continue,
                Outcome::Failed(_) if policy.ignore_failure => continue,
                Outcome::Failed(why) => {
                    refusals.refuse(policy, Some(binding), &why, true);
                    continue;
                }
            }
            let id = invocation.id();
            if !self.calls.calls(&id) {
                continue;
            }
            for mutation in &mutator.mutations {
                last = Some(invocation.version);
                if version.object.is_null() {
                    continue;
                }
                let mutated = self.with_input(invocation, version, &namespace, |input| {
                    let (matched, object) = (&version.matched, &version.object);
                    mutator.mutated(mutation, input, &registry, matched, object, &version.unset)
                });
                let mutated = mutated.and_then(|object| {
                    self.in_own_version(&version.matched, object.as_ref())
                        .map(|()| object)
                        .map_err(Failure::Policy)
                });
                match mutated {
                    Ok(object) => {
                        version.mutated = true;
                        if let Some(mutated) = object {
                            version.object = mutated.object;
                            version.unset = mutated.unset;
                        }
                        let Matched { resource, kind } = &version.matched;
                        if kind.kind == resource.kind {
                            resource.default(&mut version.object);
                        }
                    }
                    Err(Failure::Refused(status)) => return Err(status),
                    Err(Failure::Policy(why)) => {
                        refusals.refuse(policy, Some(binding), &why, true);
                    }
                }
            }
            self.calls.called(&id, false, mutator.if_needed);
        }
        Ok(last)
    }

    fn with_input<T>(
        &self,
        invocation: &Invocation<'_>,
        version: &Version,
        namespace: &input::Namespace,
        with: impl FnOnce(&Input<'_>) -> T,
    ) -> T {
        let attributes = &*self.attributes;
        let request = Request::new(attributes, &version.matched, &version.object, &version.old);
        // Who evaluates match conditions leaves the objects in Go types behind.
        let request = if invocation.policy.expressions.has_conditions() {
            request
        } else {
            request.with_json_objects()
        };
        with(&Input {
            cluster: self.cluster,
            attributes,
            request: &request,
            namespace,
            params: &invocation.params,
        })
    }

    /// The real server brings what a mutation made of a built-in kind into the version of the request, and knows no conversion
    /// from one version to another there, nor of a scale of a custom resource, unless nothing was made of it.
    fn in_own_version(
        &self,
        matched: &Matched,
        made: Option<&Mutated>,
    ) -> std::result::Result<(), String> {
        let (from, to) = (&matched.kind, &self.attributes.kind);
        if Custom::of(&matched.resource).is_some() && is_built_in(from) {
            if made.is_none() {
                return Ok(());
            }
            return Err(format!(
                "request to convert CR to an invalid group/version: {}",
                from.api_version()
            ));
        }
        if from == to || !is_built_in(from) {
            return Ok(());
        }
        Err(format!(
            "converting ({}.{}) to ({}.{}): unknown conversion",
            from.version, from.kind, to.version, to.kind
        ))
    }

    /// Makes a mutated version the object of the request.
    async fn put_back(&mut self, version: Version) -> Result<()> {
        let attributes = &mut *self.attributes;
        attributes.write_empties(Medium::Json);
        attributes.include_managed_fields();
        if attributes.unpatched_managed_fields.is_none() {
            let before = attributes.object.at("metadata").at("managedFields");
            attributes.unpatched_managed_fields = Some(before.clone());
        }
        let Version {
            matched,
            mut object,
            unset,
            ..
        } = version;
        attributes.unset_lists.extend(unset);
        object.fill_text("kind", &matched.kind.kind);
        object.fill_text("apiVersion", &matched.kind.api_version());
        if matched.kind != attributes.kind {
            let (from, to) = (&matched.resource, &attributes.resource);
            let converted = convert::between(self.reach, from, to, object).await;
            let failed = |why: Status| {
                Status::internal(&format!("failed to convert object: {}", why.message()))
            };
            object = converted.map_err(failed)?;
        }
        attributes.object = object;
        // Bytes that a patch set to null are read back as empty ones.
        attributes.empties = is_built_in(&attributes.kind);
        attributes.patched = true;
        Ok(())
    }
}

impl Invocation<'_> {
    /// What tells it from others between the rounds.
    fn id(&self) -> Arc<str> {
        let metadata = self.params.metadata();
        let (namespace, name) = (metadata.text("namespace"), metadata.text("name"));
        let (policy, binding) = (&self.policy.name, &self.binding.name);
        format!("{policy}/{binding}/{namespace}/{name}").into()
    }
}
