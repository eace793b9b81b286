//! Full, dynamic, metadata-only and partial types; old and new objects; sub-resources.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{ApiResource, DynamicObject, PartialObjectMeta, Resource};
use kubewright_webhook::{
    Change, Connect, Create, Delete, Mutated, Operation, Review, Role, Scope, Update, Validated,
    Webhooks, deny, mutating, validating,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::calls::{create, pod, post, review};

/// Makes a type an object like a pod. The field holds the metadata, or something that has it.
macro_rules! as_pod {
    ($type:ty, $field:tt) => {
        impl kube_core::Resource for $type {
            type DynamicType = ();
            type Scope = k8s_openapi::NamespaceResourceScope;
            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                "Pod".into()
            }
            fn group((): &()) -> std::borrow::Cow<'_, str> {
                "".into()
            }
            fn version((): &()) -> std::borrow::Cow<'_, str> {
                "v1".into()
            }
            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                "pods".into()
            }
            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                kube_core::Resource::meta(&self.$field)
            }
            fn meta_mut(
                &mut self,
            ) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                kube_core::Resource::meta_mut(&mut self.$field)
            }
        }
    };
}
pub(crate) use as_pod;

/// The few fields of a pod that a handler needs, and nothing else.
#[derive(Serialize, Deserialize)]
struct Mounts {
    metadata: ObjectMeta,
    spec: MountsSpec,
}

#[derive(Serialize, Deserialize)]
struct MountsSpec {
    #[serde(default)]
    containers: Vec<MountsContainer>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MountsContainer {
    name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    volume_mounts: Vec<Value>,
}

impl Resource for Mounts {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;
    fn kind((): &()) -> Cow<'_, str> {
        "Pod".into()
    }
    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }
    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        "pods".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

async fn mount(change: Change<Mounts>, _: Review) -> Mutated<Mounts> {
    let mut pod = change.into_object();
    for container in &mut pod.spec.containers {
        container
            .volume_mounts
            .push(json!({"name": container.name, "mountPath": "/x"}));
    }
    Ok(pod)
}

async fn label_metadata(
    change: Change<PartialObjectMeta<Pod>>,
    _: Review,
) -> Mutated<PartialObjectMeta<Pod>> {
    let mut pod = change.into_object();
    assert!(pod.metadata.managed_fields.is_none());
    pod.metadata
        .labels
        .get_or_insert_default()
        .insert("a/b".into(), "c".into());
    Ok(pod)
}

async fn label_dynamic(change: Change<DynamicObject>, _: Review) -> Mutated<DynamicObject> {
    let mut object = change.into_object();
    object.data["spec"]["added"] = json!([1, null]);
    Ok(object)
}

fn widgets() -> ApiResource {
    ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        api_version: "example.com/v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!(
        "{}/../review/fixtures/v1.36/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

#[tokio::test]
async fn a_partial_type_changes_what_it_knows_and_keeps_the_rest() {
    let webhooks = Webhooks::new("example.com").with(mutating("mount", mount));
    let answer = post(&webhooks, "/mount", fixture("create-pod")).await;
    assert_eq!(
        answer.patch(),
        json!([
            {"op": "add", "path": "/spec/containers/0/volumeMounts/3", "value": {"name": "checkout", "mountPath": "/x"}},
            {"op": "add", "path": "/spec/containers/1/volumeMounts/2", "value": {"name": "envoy", "mountPath": "/x"}},
        ])
    );
}

#[tokio::test]
async fn metadata_alone_is_read_where_the_type_asks_for_no_more() {
    let webhooks = Webhooks::new("example.com").with(mutating("label", label_metadata));
    let answer = post(&webhooks, "/label", fixture("create-pod")).await;
    assert_eq!(
        answer.patch(),
        json!([{"op": "add", "path": "/metadata/labels/a~1b", "value": "c"}])
    );
    // What is not metadata is not even looked at.
    let mut object = pod();
    object["spec"] = json!("not a spec");
    let answer = review(&webhooks, "/label", create(object)).await;
    assert!(answer.allowed());
}

#[tokio::test]
async fn a_dynamic_object_takes_every_kind() {
    let webhooks = Webhooks::new("example.com")
        .with(mutating("dynamic", label_dynamic).of_resource(&widgets(), Scope::Namespaced));
    assert_eq!(webhooks.check(), Ok(()));
    let mut request = create(json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1.0},
    }));
    request["kind"] = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
    let answer = review(&webhooks, "/dynamic", request).await;
    assert_eq!(
        answer.patch(),
        json!([{"op": "add", "path": "/spec/added", "value": [1, null]}])
    );
}

#[tokio::test]
async fn a_change_has_exactly_the_objects_that_exist() {
    async fn seen(change: Change<DynamicObject>, review: Review) -> Validated {
        let label = |object: &DynamicObject| {
            object
                .metadata
                .labels
                .as_ref()
                .map(std::collections::BTreeMap::len)
        };
        deny(match change {
            Change::Create(_) => "create".to_owned(),
            Change::Update { old, new } => format!("update {:?} {:?}", label(&old), label(&new)),
            Change::Delete(old) => format!("delete {:?}", label(&old)),
            Change::Connect(options) => {
                format!(
                    "connect {:?} {}",
                    review.sub_resource(),
                    options.data["command"][0]
                )
            }
        })
    }
    let hook = validating("seen", seen)
        .on([Create, Update, Delete, Connect])
        .of::<Pod>();
    let webhooks = Webhooks::new("example.com").with(hook);
    for (name, expected) in [
        ("create-pod", "create"),
        ("update-pod", "update Some(1) Some(2)"),
        ("delete-pod", "delete Some(1)"),
        ("connect-pod-exec", r#"connect Some("exec") "ls""#),
    ] {
        let answer = post(&webhooks, "/seen", fixture(name)).await;
        assert_eq!(answer.response()["status"]["message"], expected);
    }
}

#[tokio::test]
async fn a_sub_resource_has_a_kind_of_its_own() {
    async fn limit(change: Change<Scale>, review: Review) -> Validated {
        assert_eq!(review.sub_resource(), Some("scale"));
        assert_eq!(review.resource().resource, "deployments");
        let replicas = change.object().spec.as_ref().and_then(|spec| spec.replicas);
        match replicas {
            Some(replicas) if replicas > 3 => {
                deny(format_args!("{replicas} replicas are too many"))
            }
            _ => Ok(()),
        }
    }
    let webhooks = Webhooks::new("example.com").with(
        validating("limit", limit)
            .of::<Deployment>()
            .sub_resource("scale")
            .on([Update]),
    );
    let declaration = &webhooks.declarations()[0];
    assert_eq!(declaration.role, Role::Validating);
    assert_eq!(declaration.rules[0].groups, ["apps"]);
    assert_eq!(declaration.rules[0].resources, ["deployments/scale"]);
    assert_eq!(declaration.rules[0].operations, [Operation::Update]);
    let answer = post(&webhooks, "/limit", fixture("update-deployment-scale")).await;
    assert_eq!(
        answer.response()["status"]["message"],
        "5 replicas are too many"
    );
}

#[tokio::test]
async fn a_mutator_that_is_called_for_delete_fails_instead_of_answering_nonsense() {
    async fn same(change: Change<Pod>, _: Review) -> Mutated<Pod> {
        Ok(change.into_object())
    }
    let webhooks = Webhooks::new("example.com").with(mutating("same", same));
    let answer = post(&webhooks, "/same", fixture("delete-pod")).await;
    assert_eq!(answer.code, 500);
    assert!(
        post(&webhooks, "/same", fixture("update-pod"))
            .await
            .allowed()
    );
}
