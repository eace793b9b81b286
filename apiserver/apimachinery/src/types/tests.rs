//! The table against facts of the API.

use super::*;

fn ty(name: &str) -> TypeRef {
    by_name(name).unwrap()
}

fn kind(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
    }
}

#[test]
fn the_type_of_a_kind_is_found() {
    assert_eq!(
        root(&kind("", "v1", "Pod")).unwrap().name(),
        "api.core.v1.Pod"
    );
    assert_eq!(
        root(&kind("rbac.authorization.k8s.io", "v1", "Role"))
            .unwrap()
            .name(),
        "api.rbac.v1.Role"
    );
    assert_eq!(
        root(&kind("apps", "v1", "DeleteOptions")).unwrap().name(),
        "apimachinery.pkg.apis.meta.v1.DeleteOptions"
    );
    assert!(root(&kind("apps", "v1", "Pod")).is_none());
    assert!(root(&kind("", "v1", "Container")).is_none());
}

#[test]
fn every_type_can_be_read_and_its_fields_are_found() {
    let mut fields = 0;
    for ty in all() {
        for field in ty.fields() {
            let (name, found) = (field.name(), |name: &str| {
                ty.field(name).map(FieldRef::name)
            });
            assert_eq!(found(name), Some(name), "{ty:?}");
            // Names that only begin like it.
            assert_eq!(found(&format!("{name}$")), None, "{ty:?}");
            let _ = field.slot().object();
            fields += 1;
        }
    }
    assert!(fields > 2500, "{fields}");
}

#[test]
fn merge_rules_are_those_of_the_struct_tags() {
    let merged = |ty: &str, field: &str| self::ty(ty).field(field).unwrap().merge();
    let by = |key| Merge {
        merge: true,
        key: Some(key),
        ..Merge::default()
    };
    assert_eq!(merged("api.core.v1.PodSpec", "containers"), by("name"));
    assert_eq!(merged("api.core.v1.PodSpec", "hostAliases"), by("ip"));
    assert_eq!(
        merged("api.core.v1.PodSpec", "topologySpreadConstraints"),
        by("topologyKey")
    );
    assert_eq!(
        merged("api.core.v1.Container", "ports"),
        by("containerPort")
    );
    assert_eq!(
        merged("api.core.v1.Container", "volumeMounts"),
        by("mountPath")
    );
    assert_eq!(merged("api.core.v1.ServiceSpec", "ports"), by("port"));
    assert_eq!(
        merged("api.apps.v1.DeploymentStatus", "conditions"),
        by("type")
    );
    let volumes = merged("api.core.v1.PodSpec", "volumes");
    assert_eq!((volumes.key, volumes.retain_keys), (Some("name"), true));
    let strategy = merged("api.apps.v1.DeploymentSpec", "strategy");
    assert_eq!((strategy.merge, strategy.retain_keys), (false, true));
    let finalizers = merged("apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers");
    assert_eq!((finalizers.merge, finalizers.key), (true, None));
    assert_eq!(
        merged("api.core.v1.PodSpec", "tolerations"),
        Merge::default()
    );
    assert_eq!(merged("api.core.v1.Container", "args"), Merge::default());
    assert_eq!(
        merged("api.policy.v1.PodDisruptionBudgetSpec", "selector"),
        Merge {
            replace: true,
            ..Merge::default()
        }
    );
}

#[test]
fn ownership_is_that_of_the_schema() {
    let owned = |ty: &str, field: &str| self::ty(ty).field(field).unwrap().ownership();
    assert_eq!(
        *owned("api.core.v1.Container", "ports"),
        Ownership::Map(vec!["containerPort", "protocol"])
    );
    assert_eq!(*owned("api.core.v1.Container", "args"), Ownership::Atomic);
    assert_eq!(
        *owned("apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers"),
        Ownership::Set
    );
    assert_eq!(
        *owned("api.core.v1.PodSpec", "nodeSelector"),
        Ownership::Atomic
    );
    assert_eq!(*owned("api.core.v1.ConfigMap", "data"), Ownership::Usual);
}

#[test]
fn go_types_are_named_as_go_prints_them() {
    let go = |ty: &str, field: &str| self::ty(ty).field(field).unwrap().slot().go_type();
    assert_eq!(go("api.apps.v1.DeploymentSpec", "replicas"), "int32");
    assert_eq!(go("api.apps.v1.Deployment", "spec"), "v1.DeploymentSpec");
    assert_eq!(go("api.core.v1.PodSpec", "containers"), "[]v1.Container");
    assert_eq!(
        go("api.core.v1.Container", "imagePullPolicy"),
        "v1.PullPolicy"
    );
    assert_eq!(go("api.core.v1.ConfigMap", "data"), "map[string]string");
    assert_eq!(go("api.core.v1.Secret", "data"), "map[string][]uint8");
    assert_eq!(
        go("api.core.v1.ResourceRequirements", "limits"),
        "v1.ResourceList"
    );
    assert_eq!(
        go(
            "api.core.v1.PersistentVolumeClaimStatus",
            "allocatedResourceStatuses"
        ),
        "map[v1.ResourceName]v1.ClaimResourceStatus"
    );
}
