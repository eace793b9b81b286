use k8s_openapi::api::core::v1::Pod;
use kubewright_policy::{Policy, Request, Schema, Typed};
use serde_json::json;
#[test]
fn scratch() {
     let policy = Policy::<Pod>::validating("owners").audit_annotation("owner", "object.metadata.?labels.owner.orValue('none')");
     let answer = policy.decide(&Request::create::<Pod>(json!({"metadata": {"labels": {"owner": "ann"}}})));
     println!("{answer:?}");
 let document = json!({"components": {"schemas": {"Pod": {
     "type": "object",
     "properties": {"spec": {"type": "object", "properties": {"hostNetwork": {"type": "boolean"}}}},
     "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
 }}}});
 let schema = Schema::of_openapi(&document, "", "v1", "Pod").unwrap();
 let policy = Policy::<Pod>::validating("hosts").rule("!object.spec.hostNetwerk", "no host network");
 let mistakes = policy.check(&Typed::object(schema));
 println!("{mistakes:?}");
}
