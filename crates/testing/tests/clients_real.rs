//! The real API server, set up by the files that programs print: it shows its certificate to admission webhooks.

use std::fs;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kubewright_certificates::Authority;
use kubewright_manifests::ApiServerAccess;
use kubewright_testing::{ControlPlane, apply, eventually};
use serde_json::json;

use crate::clients::guarded;

#[tokio::test]
async fn a_real_api_server_is_known_by_the_certificate_that_the_printed_files_name() {
    let authority = Authority::new("clients").unwrap();
    let issued = authority
        .sign_client("kube-apiserver", "system:masters", Duration::from_hours(24))
        .unwrap();
    let (endpoint, manifests) = guarded(&authority, "kube-apiserver").await;
    let (other, of_other) = guarded(&authority, "another-client").await;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let access = ApiServerAccess::new([endpoint, other], path("client.crt"), path("client.key"));
    let configuration = ApiServerAccess::configuration(&path("kubeconfig"));
    for (name, text) in [
        ("client.crt", issued.certificate_pem()),
        ("client.key", issued.key_pem()),
        ("kubeconfig", access.kubeconfig().to_yaml()),
        ("configuration", configuration.to_yaml()),
    ] {
        fs::write(path(name), text).unwrap();
    }
    let flag = format!("--admission-control-config-file={}", path("configuration"));
    let control_plane = ControlPlane::builder().flag(flag).start().await.unwrap();
    let client = control_plane.client().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let create = async || {
        let map = ConfigMap {
            metadata: kube::core::ObjectMeta {
                generate_name: Some("map-".to_owned()),
                ..Default::default()
            },
            ..ConfigMap::default()
        };
        maps.create(&PostParams::default(), &map).await
    };
    for object in of_other.objects() {
        if object["kind"] != "CustomResourceDefinition" {
            apply(&client, "default", object).await.unwrap();
        }
    }
    let refused = eventually("a refusal", async || create().await.err()).await;
    let text = refused.to_string();
    let why =
        r#"failed to call webhook: the client "kube-apiserver" is not one of those that may call"#;
    assert!(text.contains(why), "{text}");

    // The same webhook, served by a program that lets this client call.
    for object in manifests.objects() {
        apply(&client, "default", object).await.unwrap();
    }
    eventually("an answer", async || create().await.ok()).await;

    // Conversions come without a certificate, and are answered.
    let widgets = |version| {
        let kind = GroupVersionKind::gvk("example.com", version, "Widget");
        let resource = ApiResource::from_gvk(&kind);
        Api::<DynamicObject>::default_namespaced_with(client.clone(), &resource)
    };
    let widget = json!({
        "apiVersion": "example.com/v2", "kind": "Widget",
        "metadata": {"name": "a"}, "spec": {"width": 3, "height": 4},
    });
    eventually("a widget", async || {
        apply(&client, "default", &widget).await.ok()
    })
    .await;
    let read = widgets("v1").get("a").await.unwrap();
    assert_eq!(read.data["spec"]["area"], json!({"width": 3, "height": 4}));
}
