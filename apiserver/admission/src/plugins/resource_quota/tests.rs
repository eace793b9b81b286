//! ResourceQuota: what a request is charged.

use serde_json::{Value, json};

use crate::tests::setting::{Setting, config_map, create};
use crate::{AdmissionPlugin, Chain, Cluster as _, Enabled};

fn quota(used: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "objects", "namespace": "blue", "resourceVersion": "1"},
        "spec": {"hard": {"count/configmaps": "2"}},
        "status": {"hard": {"count/configmaps": "2"}, "used": {"count/configmaps": used}},
    })
}

fn used(setting: &Setting) -> Value {
    let quota = setting.objects.get("", "resourcequotas", "blue", "objects");
    quota.unwrap()["status"]["used"]["count/configmaps"].clone()
}

#[tokio::test]
async fn each_request_is_charged_until_the_quota_is_used_up() {
    let setting = Setting::new();
    setting.objects.put("", "resourcequotas", quota("0"));
    for expected in ["1", "2"] {
        setting.validate(&create(config_map())).await.unwrap();
        assert_eq!(used(&setting), expected);
    }
    let status = setting.validate(&create(config_map())).await.unwrap_err();
    assert_eq!(
        status.message(),
        "configmaps \"settings\" is forbidden: exceeded quota: objects, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2"
    );
    assert_eq!(used(&setting), "2");
}

#[tokio::test]
async fn a_dry_run_is_judged_and_not_charged() {
    let setting = Setting::new();
    setting.objects.put("", "resourcequotas", quota("1"));
    let mut dry_run = create(config_map());
    dry_run.dry_run = true;
    setting.validate(&dry_run).await.unwrap();
    assert_eq!(used(&setting), "1");
}

#[tokio::test]
async fn without_the_plugin_nothing_is_charged() {
    let mut enabled = Enabled::default();
    enabled.disable(AdmissionPlugin::ResourceQuota);
    let setting = Setting::with(Chain::builder().plugins(enabled));
    setting.objects.put("", "resourcequotas", quota("2"));
    setting.validate(&create(config_map())).await.unwrap();
    assert_eq!(used(&setting), "2");
}
