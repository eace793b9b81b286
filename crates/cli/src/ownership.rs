//! Which installation an object belongs to. An object of another owner is changed or deleted only if `--adopt` names it.

use anyhow::Context as _;
use clap::Args;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::current::called;
use crate::failure::{Failure, Outcome};

/// A program in a namespace. A namespace that is deleted and created again is another one, which its UID tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    program: String,
    namespace: String,
    /// Missing while the namespace does not exist.
    uid: Option<String>,
}

/// The objects of other owners that a command may take over.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Adopt {
    /// Take over these objects, which this installation did not create, such as `ClusterRole/policy`
    #[arg(
        id = "adopt",
        long,
        value_name = "KIND/[NAMESPACE/]NAME",
        value_delimiter = ','
    )]
    names: Vec<String>,
}

impl Installation {
    /// The installation that these objects make up: their Deployment says its namespace. `program` is its name unless the
    /// objects are labelled with another one.
    pub(crate) async fn of(client: &Client, program: &str, objects: &[Value]) -> Outcome<Self> {
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
        let metadata = deployment.map(|object| &object["metadata"]);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let labelled = text(metadata.map(|metadata| &metadata["labels"][NAME]));
        let namespace = text(metadata.map(|metadata| &metadata["namespace"]));
        let mut installation = Self {
            program: labelled.unwrap_or_else(|| program.to_owned()),
            namespace: namespace.unwrap_or_else(|| client.default_namespace().to_owned()),
            uid: None,
        };
        installation.find_namespace(client).await?;
        Ok(installation)
    }

    /// Looks for the namespace, which a command may have created since.
    pub(crate) async fn find_namespace(&mut self, client: &Client) -> Outcome {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let found = namespaces.get_metadata_opt(&self.namespace).await;
        let found = found.with_context(|| format!("reading the Namespace {}", self.namespace))?;
        self.uid = found.and_then(|found| found.metadata.uid);
        Ok(())
    }

    /// Whether the namespace exists.
    pub(crate) fn has_namespace(&self) -> bool {
        self.uid.is_some()
    }

    /// The installation that an object says it belongs to.
    pub(crate) fn owner(object: &Value) -> Option<Self> {
        let mark = object["metadata"]["annotations"][INSTALLATION].as_str()?;
        let mut parts = mark.splitn(3, '/').map(str::to_owned);
        Some(Self {
            program: parts.next()?,
            namespace: parts.next()?,
            uid: parts.next(),
        })
    }

    /// Whether a stored object belongs to this installation.
    pub(crate) fn owns(&self, stored: &Value) -> bool {
        Self::owner(stored).is_some_and(|owner| {
            owner.program == self.program
                && owner.namespace == self.namespace
                && (owner.uid.is_none() || owner.uid == self.uid)
        })
    }

    /// The object with the annotation that says whose it is.
    pub(crate) fn marked(&self, object: &Value) -> Value {
        let mut marked = object.clone();
        let annotations = &mut marked["metadata"]["annotations"];
        if annotations.is_null() {
            *annotations = json!({});
        }
        annotations[INSTALLATION] = self.mark(object).into();
        marked
    }

    /// The merge patch that hands an object over from another installation, or from none; nothing if it is not marked or has the
    /// right mark.
    pub(crate) fn hand_over(&self, stored: &Value) -> Option<Value> {
        let known = stored["metadata"]["annotations"][INSTALLATION].as_str()?;
        let mark = self.mark(stored);
        (known != mark).then(|| json!({"metadata": {"annotations": {INSTALLATION: mark}}}))
    }

    /// The same installation before its namespace existed, to which an object belongs that outlives it.
    pub(crate) fn without_namespace(&self) -> Self {
        Self {
            uid: None,
            ..self.clone()
        }
    }

    fn mark(&self, object: &Value) -> String {
        let Self {
            program, namespace, ..
        } = self;
        match &self.uid {
            // The UID of a namespace is its own.
            Some(uid) if object["kind"] != "Namespace" => format!("{program}/{namespace}/{uid}"),
            _ => format!("{program}/{namespace}"),
        }
    }
}

impl Adopt {
    /// Whether an object may be taken over.
    pub(crate) fn names(&self, object: &Value) -> bool {
        let reference = reference(object);
        self.names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(&reference))
    }

    /// Checks that every name is that of one of these objects.
    pub(crate) fn check(&self, objects: &[Value]) -> Outcome {
        let is_known = |name: &&String| {
            let mut references = objects.iter().map(reference);
            references.any(|reference| reference.eq_ignore_ascii_case(name))
        };
        match self.names.iter().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => Err(Failure::new(format!(
                "--adopt names {name}, which is not an object of the program"
            ))
            .hint("write it as KIND/NAME, or KIND/NAMESPACE/NAME for an object in a namespace")),
        }
    }
}

/// The failure of a command that would change objects of other owners.
pub(crate) fn refusal(others: &[Value]) -> Failure {
    let lines = others.iter().map(|other| format!("the {}", belongs(other)));
    let text = match others {
        [_] => lines.collect::<String>(),
        _ => format!(
            "{} objects belong to other owners:\n  {}",
            others.len(),
            lines.collect::<Vec<_>>().join("\n  ")
        ),
    };
    let mut failure = Failure::new(format!("{text}; nothing was changed"));
    let owners = others.iter().filter_map(Installation::owner);
    let mut namespaces: Vec<String> = owners.map(|owner| owner.namespace).collect();
    namespaces.sort();
    namespaces.dedup();
    for namespace in namespaces {
        failure = failure.hint(format!(
            "give this program another name, or run `kubewright undeploy --namespace {namespace}` first"
        ));
    }
    let references: Vec<String> = others.iter().map(reference).collect();
    failure.hint(format!(
        "pass --adopt {} to take over what is named",
        references.join(",")
    ))
}

/// Such as `ClusterRole policy belongs to the program policy in the namespace blue`.
pub(crate) fn belongs(object: &Value) -> String {
    let called = called(object);
    if let Some(owner) = Installation::owner(object) {
        let Installation {
            program, namespace, ..
        } = owner;
        return format!("{called} belongs to the program {program} in the namespace {namespace}");
    }
    let entries = object["metadata"]["managedFields"].as_array();
    let mut managers: Vec<&str> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["manager"].as_str())
        .collect();
    managers.dedup();
    if managers.is_empty() {
        return format!("{called} exists and was not installed by kubewright");
    }
    let managers = managers.join(", ");
    format!("{called} exists and was not installed by kubewright (field managers: {managers})")
}

fn reference(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{kind}/{namespace}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

/// The annotation that says which installation an object belongs to.
const INSTALLATION: &str = "kubewright.dev/installation";
/// The label with the name of a program.
const NAME: &str = "app.kubernetes.io/name";

#[cfg(test)]
mod tests {
    use super::*;

    fn installation(uid: Option<&str>) -> Installation {
        Installation {
            program: "gardens".to_owned(),
            namespace: "green".to_owned(),
            uid: uid.map(str::to_owned),
        }
    }

    #[test]
    fn an_installation_owns_what_it_marked_and_nothing_else() {
        let object = json!({"kind": "ClusterRole", "metadata": {"name": "gardens"}});
        let green = installation(Some("1"));
        assert!(!green.owns(&object));
        assert!(green.owns(&green.marked(&object)));
        assert!(green.owns(&installation(None).marked(&object)));
        assert!(!installation(Some("2")).owns(&green.marked(&object)));
        assert!(!installation(None).owns(&green.marked(&object)));
        let blue = Installation {
            namespace: "blue".to_owned(),
            ..green.clone()
        };
        assert!(!blue.owns(&green.marked(&object)));
        let roses = Installation {
            program: "roses".to_owned(),
            ..green.clone()
        };
        assert!(!roses.owns(&green.marked(&object)));
    }

    #[test]
    fn a_namespace_is_marked_without_its_uid() {
        let namespace = json!({"kind": "Namespace", "metadata": {"name": "green"}});
        let marked = installation(Some("1")).marked(&namespace);
        assert_eq!(
            marked["metadata"]["annotations"],
            json!({INSTALLATION: "gardens/green"})
        );
    }

    #[test]
    fn an_object_is_adopted_by_its_kind_and_its_whole_name() {
        let adopt = |name: &str| Adopt {
            names: vec![name.to_owned()],
        };
        let object = json!({"kind": "Role", "metadata": {"name": "a", "namespace": "green"}});
        assert!(adopt("role/green/a").names(&object));
        for name in ["Role/a", "a", "Role/blue/a", "ClusterRole/green/a"] {
            assert!(!adopt(name).names(&object), "{name}");
            assert!(adopt(name).check(std::slice::from_ref(&object)).is_err());
        }
    }
}
