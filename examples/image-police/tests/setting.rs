//! A cluster with the police, and what is in it.

use std::ffi::OsStr;

use clap::{Args, Command, FromArgMatches};
use image_police::{Options, WhiteList, WhiteListStatus};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::events::v1::Event;
use kubewright::Needs;
use kubewright::testing::{TestCluster, eventually, unique, yaml};
use serde_json::{Value, json};

/// Parses the options from these arguments.
pub(crate) fn options(arguments: &[&str]) -> Options {
    let command = Options::augment_args(Command::new("image-police").no_binary_name(true));
    let arguments = arguments.iter().map(OsStr::new);
    Options::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
}

/// A namespace of a cluster, looked after by the police: on a server that others share, by these alone.
pub(crate) struct Setting {
    pub(crate) cluster: TestCluster,
}

impl Setting {
    pub(crate) async fn with(arguments: &[&str]) -> Self {
        let namespace = unique("police");
        let arguments = [arguments, &["--namespace", &namespace]].concat();
        let app = |needs: &mut Needs| image_police::app(options(&arguments), needs);
        let cluster = TestCluster::builder().app(app).start().await;
        let cluster = cluster.in_namespace(&namespace);
        Self { cluster }
    }

    pub(crate) async fn list(&self, name: &str, images: &Value) -> WhiteList {
        self.cluster
            .create(&white_list(name, images))
            .await
            .expect_allowed()
    }

    pub(crate) async fn deploy(&self, name: &str, image: &str) -> Deployment {
        self.cluster
            .create(&deployment(name, image))
            .await
            .expect_allowed()
    }

    pub(crate) async fn is_there(&self, name: &str) -> bool {
        self.cluster.get::<Deployment>(name).await.is_some()
    }

    pub(crate) async fn gone(&self, name: &str) {
        eventually("the end of the Deployment", async || {
            (!self.is_there(name).await).then_some(())
        })
        .await;
    }

    /// The status of a list, once it is as it should be.
    pub(crate) async fn status(
        &self,
        list: &str,
        is_it: impl Fn(&WhiteListStatus) -> bool,
    ) -> WhiteListStatus {
        eventually("the status", async || {
            let list: WhiteList = self.cluster.get(list).await?;
            list.status.filter(|status| is_it(status))
        })
        .await
    }

    /// The Events about an object, as reasons and notes.
    pub(crate) async fn told_of(&self, name: &str) -> Vec<Event> {
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            self.cluster.namespace()
        );
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let answer = self.cluster.send(request).await;
        let mut list: Value = serde_json::from_slice(answer.body()).unwrap();
        let events: Vec<Event> = serde_json::from_value(list["items"].take()).unwrap();
        let is_about = |event: &Event| {
            let regarding = event.regarding.as_ref();
            regarding.is_some_and(|regarding| regarding.name.as_deref() == Some(name))
        };
        events.into_iter().filter(is_about).collect()
    }
}

/// What the original ships as a sample.
pub(crate) fn sample() -> Value {
    json!([
        {"name": "nginx", "tags": ["latest", "1.14.2"]},
        {"name": "gcr.io/busybox", "tags": ["latest"]},
    ])
}

fn white_list(name: &str, images: &Value) -> WhiteList {
    let list = json!({
        "apiVersion": "police.foo.bar/v1beta1", "kind": "WhiteList",
        "metadata": {"name": name}, "spec": {"images": images},
    });
    serde_json::from_value(list).unwrap()
}

pub(crate) fn deployment(name: &str, image: &str) -> Deployment {
    yaml(&format!(
        "
        apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: {name}}}
        spec:
          selector: {{matchLabels: {{app: {name}}}}}
          template:
            metadata: {{labels: {{app: {name}}}}}
            spec: {{containers: [{{name: app, image: '{image}'}}]}}
        "
    ))
}
