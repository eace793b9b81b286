//! Type checking of ValidatingAdmissionPolicies: expressions are compiled again, with the types of the kinds that a policy
//! matches, and what does not compile becomes a warning in the policy's status.

mod kinds;
mod schemas;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_cel::{CompileError, Composition, Environment, Type};
use serde_json::{Value, json};

use super::client::{Api, Who};
use super::graph::{Change, Graph};
use super::object::{Item, list, number, text};
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome};
use schemas::Schema;

/// The controller of the status of policies.
#[derive(Debug)]
pub(super) struct TypeChecking;

const TABLE: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";
const NAME: &str = "validatingadmissionpolicy-status-controller";
const API: Api = Api::of_cluster_in(
    "/apis/admissionregistration.k8s.io/v1",
    "validatingadmissionpolicies",
);

impl Controller for TypeChecking {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE)
            && let Some(policy) = &change.after
        {
            keys.add(policy);
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(policy) => check(cx, &policy).await,
                None => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

async fn check(cx: &Context, item: &Item) -> Outcome {
    let policy = item.object.value();
    let generation = number(&policy, "/metadata/generation");
    if generation <= number(&policy, "/status/observedGeneration") {
        return Ok(Next::Done);
    }
    let spec = &policy["spec"];
    let matched = kinds::matched(spec, &cx.served.now());
    let params = kinds::of_params(spec);
    let mut documents = Documents::default();
    for kind in matched.iter().chain(&params) {
        documents.read(cx, kind).await;
    }
    let warnings = warnings(spec, &matched, params.as_ref(), &documents);
    let mut checking = json!({});
    if !warnings.is_empty() {
        checking["expressionWarnings"] = warnings.into();
    }
    let applied = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": item.name()},
        "status": {"observedGeneration": generation, "typeChecking": checking},
    });
    let path = format!("{}/status", API.path("", item.name()));
    let who = Who::Controller(NAME);
    match cx.client.apply(who, &path, NAME, &applied).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(Next::Done),
    }
}

/// The OpenAPI documents of the groups and versions of a policy, by their paths.
#[derive(Debug, Default)]
struct Documents {
    read: HashMap<String, Value>,
}

impl Documents {
    async fn read(&mut self, cx: &Context, kind: &GroupVersionKind) {
        if let Entry::Vacant(unread) = self.read.entry(Self::path(kind)) {
            let document = cx.client.get(Who::Controller(NAME), unread.key()).await;
            // Kinds without a schema are not checked.
            unread.insert(document.unwrap_or_default());
        }
    }

    fn schema(&self, kind: &GroupVersionKind) -> Option<Schema<'_>> {
        Schema::find(self.read.get(&Self::path(kind))?, kind)
    }

    fn path(kind: &GroupVersionKind) -> String {
        if kind.group.is_empty() {
            format!("/openapi/v3/api/{}", kind.version)
        } else {
            format!("/openapi/v3/apis/{}/{}", kind.group, kind.version)
        }
    }
}

/// One warning for each expression that does not compile for one of the kinds or more.
fn warnings(
    spec: &Value,
    kinds: &[GroupVersionKind],
    params: Option<&GroupVersionKind>,
    documents: &Documents,
) -> Vec<Value> {
    let kinds: Vec<(&GroupVersionKind, Composition)> = kinds
        .iter()
        .filter_map(|kind| {
            let schema = documents.schema(kind)?;
            Some((kind, composition(spec, kind, schema, params, documents)))
        })
        .collect();
    let mut warnings = Vec::new();
    for (index, validation) in list(spec, "/validations").iter().enumerate() {
        for field in ["expression", "messageExpression"] {
            let expression = text(validation, &format!("/{field}"));
            if expression.is_empty() {
                continue;
            }
            let found: Vec<String> = kinds
                .iter()
                .filter_map(|(kind, composition)| {
                    let issues = issues(composition.environment(), expression)?;
                    let GroupVersionKind {
                        group,
                        version,
                        kind,
                    } = kind;
                    Some(format!("{group}/{version}, Kind={kind}: {issues}\n"))
                })
                .collect();
            if !found.is_empty() {
                warnings.push(json!({
                    "fieldRef": format!("spec.validations[{index}].{field}"),
                    "warning": found.join("\n"),
                }));
            }
        }
    }
    warnings
}

fn issues(environment: &Environment, expression: &str) -> Option<String> {
    match environment.compile(expression) {
        Err(CompileError::Issues(issues)) => Some(issues.to_string()),
        // Programs are not made by the type checker of Kubernetes.
        Ok(_) | Err(CompileError::Output(_) | CompileError::Instantiation(_)) => None,
    }
}

/// What the expressions of a policy see of objects of a kind. Types have numbers, so that parameters may be of the same kind.
fn composition(
    spec: &Value,
    kind: &GroupVersionKind,
    schema: Schema<'_>,
    params: Option<&GroupVersionKind>,
    documents: &Documents,
) -> Composition {
    let environment = Environment::admission()
        .clone()
        .without_variable("authorizer.requestResource");
    let (environment, object) = schema.declare(environment, &format!("{}1", kind.kind));
    let object = object.unwrap_or(Type::Dyn);
    let mut environment = environment
        .with_variable("object", object.clone())
        .with_variable("oldObject", object);
    if let Some(kind) = params {
        let mut params = None;
        if let Some(schema) = documents.schema(kind) {
            (environment, params) = schema.declare(environment, &format!("{}2", kind.kind));
        }
        environment = environment.with_variable("params", params.unwrap_or(Type::Dyn));
    }
    let mut composition = Composition::in_environment(environment);
    for variable in list(spec, "/variables") {
        // A variable that does not compile is `dyn`, and no warning tells of it.
        let _ = composition.declare(text(variable, "/name"), text(variable, "/expression"));
    }
    composition
}
