//! The simulated provisioner: volumes without storage for the claims of its storage classes.

use serde_json::{Value, json};

use super::super::client::{CLAIMS as CLAIMS_API, Failure};
use super::super::object::text;
use super::super::recorder::Kind;
use super::super::work::Context;
use super::objects::{BINDER, PROVISIONED_BY, VOLUMES_API, WHO};

/// The provisioner of storage classes whose volumes are simulated.
pub(super) const NAME: &str = "simulated.kubewright.dev";

/// Makes a volume for a claim, or waits for the provisioner of its class.
pub(super) async fn provision(cx: &Context, claim: &Value, class: &Value) -> Result<(), Failure> {
    const PROVISIONER: [&str; 2] = [
        "volume.kubernetes.io/storage-provisioner",
        "volume.beta.kubernetes.io/storage-provisioner",
    ];
    let provisioner = text(class, "/provisioner");
    if provisioner == "kubernetes.io/no-provisioner" {
        let message = "no volume plugin matched name: kubernetes.io/no-provisioner";
        let reason = "ProvisioningFailed";
        cx.tell(BINDER, claim, Kind::Warning, reason, message).await;
        return Ok(());
    }
    let metadata = &claim["metadata"];
    if PROVISIONER
        .iter()
        .any(|name| metadata["annotations"][name] != provisioner)
    {
        let mut claim = claim.clone();
        for name in PROVISIONER {
            claim["metadata"]["annotations"][name] = provisioner.into();
        }
        cx.client.update(WHO, &CLAIMS_API, &claim).await?;
        // The claim comes back with its annotations.
        return Ok(());
    }
    if provisioner != NAME {
        let message = format!(
            "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the \
             system administrator. If volume creation is delayed, please verify that the provisioner is running and \
             correctly registered."
        );
        let reason = "ExternalProvisioning";
        cx.tell(BINDER, claim, Kind::Normal, reason, &message).await;
        return Ok(());
    }
    let name = format!("pvc-{}", text(metadata, "/uid"));
    let or = |value: &Value, default: &str| {
        let text = value.as_str().unwrap_or_default();
        if text.is_empty() { default } else { text }.to_owned()
    };
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: NAME}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "persistentVolumeReclaimPolicy": or(&class["reclaimPolicy"], "Delete"),
            "storageClassName": class["metadata"]["name"],
            "volumeMode": or(&claim["spec"]["volumeMode"], "Filesystem"),
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
            "csi": {"driver": NAME, "volumeHandle": name},
        },
    });
    for (of_volume, value) in [
        ("mountOptions", &class["mountOptions"]),
        (
            "volumeAttributesClassName",
            &claim["spec"]["volumeAttributesClassName"],
        ),
    ] {
        if !value.is_null() {
            volume["spec"][of_volume] = value.clone();
        }
    }
    match cx.client.create(WHO, &VOLUMES_API, "", &volume).await {
        Ok(_) => {
            let message = format!("Successfully provisioned volume {name}");
            let reason = "ProvisioningSucceeded";
            cx.tell(BINDER, claim, Kind::Normal, reason, &message).await;
            Ok(())
        }
        Err(failure) if failure.already_exists() => Ok(()),
        Err(failure) => Err(failure),
    }
}
