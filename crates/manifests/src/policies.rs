//! Policies and their bindings from the policies of a program.

use kubewright_webhook::{
    FailurePolicy, MatchPolicy, PolicyDeclaration, Reinvocation, Role, Webhooks,
};
use serde_json::{Value, json};

use crate::webhooks::{rule, selector};
use crate::{ManifestError, Manifests, names};

/// The policies of a program that API servers evaluate: each with a binding of the same name. Those that are webhooks of the program
/// ([`Webhooks::for_kubernetes`]) are left out.
///
/// The objects belong to the cluster, as webhook configurations do. Two installations of one program differ by the name of their
/// webhook configurations, which is `prefix` if it is not that of the program.
///
/// ```
/// use kubewright_manifests::policies;
#[doc = include_str!("images.md")]
/// use kubewright_webhook::{ClusterPolicy, Webhooks, validating};
/// use serde_json::json;
///
/// let spec = json!({"validations": [{"expression": "object.spec.hostNetwork != true"}]});
/// let policy = ClusterPolicy::new(validating("images", images), spec, json!({"validationActions": ["Deny"]}));
/// let webhooks = Webhooks::new("policy.example.com").with(policy);
/// let manifests = policies(&webhooks, None)?;
/// let [policy, binding] = manifests.objects() else { panic!() };
/// assert_eq!(policy["kind"], "ValidatingAdmissionPolicy");
/// assert_eq!(policy["spec"]["matchConstraints"]["resourceRules"][0]["resources"][0], "pods");
/// assert_eq!(binding["spec"]["policyName"], "images.policy.example.com");
///
/// let blue = policies(&webhooks, Some("policy-of-blue"))?;
/// assert_eq!(blue.objects()[0]["metadata"]["name"], "policy-of-blue.images.policy.example.com");
/// # Ok::<(), kubewright_manifests::ManifestError>(())
/// ```
///
/// # Errors
///
/// When the API server would not accept a policy ([`Webhooks::check`]), or its name.
pub fn policies(webhooks: &Webhooks, prefix: Option<&str>) -> Result<Manifests, ManifestError> {
    webhooks.check()?;
    let mut objects = Vec::new();
    for policy in webhooks.policies() {
        let own = &policy.declaration.name;
        let name = match prefix {
            Some(prefix) => format!("{prefix}.{own}"),
            None => own.clone(),
        };
        if !names::is_subdomain(&name) {
            return Err(ManifestError::Name(name));
        }
        objects.extend(pair(&policy, &name));
    }
    Ok(Manifests::new(objects))
}

/// A policy and its binding.
fn pair(policy: &PolicyDeclaration, name: &str) -> [Value; 2] {
    let declaration = &policy.declaration;
    let kind = match declaration.role {
        Role::Validating => "ValidatingAdmissionPolicy",
        Role::Mutating => "MutatingAdmissionPolicy",
    };
    let rules: Vec<Value> = declaration.rules.iter().map(rule).collect();
    let mut spec = policy.spec.clone();
    spec["matchConstraints"] = json!({
        "resourceRules": rules,
        "namespaceSelector": selector(&declaration.namespace_selector),
        "objectSelector": selector(&declaration.object_selector),
        "matchPolicy": match declaration.match_policy {
            MatchPolicy::Exact => "Exact",
            MatchPolicy::Equivalent => "Equivalent",
        },
    });
    spec["failurePolicy"] = json!(match declaration.failure_policy {
        FailurePolicy::Fail => "Fail",
        FailurePolicy::Ignore => "Ignore",
    });
    if declaration.role == Role::Mutating {
        spec["reinvocationPolicy"] = json!(match declaration.reinvocation {
            Reinvocation::Never => "Never",
            Reinvocation::IfNeeded => "IfNeeded",
        });
    }
    let mut binding = policy.binding.clone();
    binding["policyName"] = json!(name);
    let object = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        })
    };
    [
        object(kind, spec),
        object(&format!("{kind}Binding"), binding),
    ]
}
