//! How a password is replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Secret};
use kubewright::testing::eventually;
use serde_json::json;

use super::setting::{Setting, pass};

/// What instances accept, by the revision that they have started with.
#[derive(Default)]
pub(crate) struct Accepted(BTreeMap<String, BTreeSet<String>>);

impl Accepted {
    /// Looks at the Secret and the instances, and says which instance does not accept what clients read.
    pub(crate) async fn look(&mut self, setting: &Setting, name: &str) -> Vec<String> {
        let Some(before) = self.password(setting, name).await else {
            return Vec::new();
        };
        let pods = setting.pods(name).await;
        // An instance that started between two looks has started with one of them.
        if self.password(setting, name).await.as_ref() != Some(&before) {
            return Vec::new();
        }
        let refuses = |pod: &Pod| {
            let annotations = pod.metadata.annotations.as_ref()?;
            let (_, revision) = annotations["valkey.example.com/revision"].split_once('/')?;
            let accepted = self.0.get(revision)?;
            (!accepted.contains(&before)).then(|| pod.metadata.name.clone().unwrap_or_default())
        };
        pods.iter().filter_map(refuses).collect()
    }

    async fn password(&mut self, setting: &Setting, name: &str) -> Option<String> {
        let secret: Secret = setting.cluster.get(&format!("{name}-password")).await?;
        let revision = secret.metadata.annotations?["valkey.example.com/revision"].clone();
        let data = secret.data?;
        let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
        let accepted = text("users.acl");
        let accepted = accepted
            .split(' ')
            .filter_map(|word| word.strip_prefix('>'));
        self.0
            .insert(revision, accepted.map(str::to_owned).collect());
        Some(text("password"))
    }
}

#[tokio::test]
async fn every_instance_accepts_what_clients_read_while_the_password_is_replaced() {
    let setting = Setting::start().await;
    let spec = json!({"version": "8.0", "replicas": 3, "password": {"rotateEveryDays": 30}});
    setting.create("cache", spec).await;
    setting.at_rest("cache").await;
    let password = async || {
        setting.secret("cache").await.data.unwrap()["password"]
            .0
            .clone()
    };
    let first = password().await;
    let mut accepted = Accepted::default();
    accepted.look(&setting, "cache").await;
    pass(Duration::from_hours(29 * 24)).await;
    setting
        .change("cache", json!({"metadata": {"annotations": {"day": "29"}}}))
        .await;
    setting.at_rest("cache").await;
    assert_eq!(password().await, first, "it is not due yet");

    pass(Duration::from_hours(2 * 24)).await;
    eventually("another password", async || {
        assert!(accepted.look(&setting, "cache").await.is_empty());
        (password().await != first).then_some(())
    })
    .await;
    let has = async |key: &str| {
        setting
            .secret("cache")
            .await
            .data
            .unwrap()
            .contains_key(key)
    };
    assert!(has("previous").await && !has("next").await);
    pass(Duration::from_hours(1)).await;
    eventually("the end of the old one", async || {
        assert!(accepted.look(&setting, "cache").await.is_empty());
        (!has("previous").await).then_some(())
    })
    .await;
    setting.at_rest("cache").await;
    assert!(accepted.look(&setting, "cache").await.is_empty());
    assert_eq!(setting.told("PasswordRotated").await.len(), 1);
    assert_eq!(
        accepted.0.len(),
        3,
        "instances start twice for another password"
    );
}

#[tokio::test]
async fn a_secret_without_a_password_is_reported_and_one_that_is_deleted_is_made_again() {
    let setting = Setting::start().await;
    setting.create("cache", json!({"version": "8.0"})).await;
    setting.at_rest("cache").await;
    let first = setting.secret("cache").await;
    let deleted = setting.cluster.delete::<Secret>("cache-password");
    deleted.await.expect_allowed();
    let second = eventually("another Secret", async || {
        let secret: Secret = setting.cluster.get("cache-password").await?;
        (secret.metadata.uid != first.metadata.uid).then_some(secret)
    })
    .await;
    assert_ne!(
        second.data.unwrap()["password"],
        first.data.unwrap()["password"]
    );
    setting.at_rest("cache").await;
}
