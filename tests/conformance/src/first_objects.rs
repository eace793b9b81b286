//! The objects that a real server makes at its start, as the table from which the embedded server has them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use kubewright_apiserver::KubernetesVersion;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use crate::client::{Ask, Client};
use crate::server::Server;

/// What depends on where and how the server runs: what it probes, where it is, its lease, and its authority.
const LEFT_OUT: [&str; 5] = [
    "componentstatuses\t",
    "configmaps\tkube-system/extension-apiserver-authentication",
    "endpoints\tdefault/kubernetes",
    "endpointslices.discovery.k8s.io\tdefault/kubernetes",
    "leases.coordination.k8s.io\tkube-system/apiserver-",
];

const HEAD: &str = "\
# Written by `conformance first-objects`; do not edit.
#
# What a kube-apiserver has made at its start: the resource, the path and the object, without what each server makes anew
# (uid, version, times). `{now}` is the time of the start, `{today}` its day.
";

/// The table of a real server that was just started.
///
/// # Errors
/// The server does not answer, or was not just started.
pub async fn read(server: &Server) -> Result<String> {
    let client = Client::connect(server).await?;
    made(&client).await?;
    let mut lines = Vec::new();
    let groups = get(&client, "/apis").await?;
    let mut places = vec![("/api/v1".to_owned(), String::new())];
    for group in listed(&groups, "groups") {
        let name = group["name"].as_str().context("a group has a name")?;
        let version = group["preferredVersion"]["version"]
            .as_str()
            .context("a group has a version")?;
        places.push((format!("/apis/{name}/{version}"), format!(".{name}")));
    }
    for (place, suffix) in &places {
        for resource in listed(&get(&client, place).await?, "resources") {
            let lists = listed(resource, "verbs").any(|verb| verb == "list");
            let plural = resource["name"].as_str().unwrap_or_default();
            // The same objects as those of the core group.
            if !lists || plural == "events" && !suffix.is_empty() {
                continue;
            }
            let list = get(&client, &format!("{place}/{plural}")).await?;
            let api_version = list["apiVersion"].as_str().unwrap_or_default();
            for item in listed(&list, "items") {
                let kind = resource["kind"].as_str().unwrap_or_default();
                let line = line(&format!("{plural}{suffix}"), kind, api_version, item);
                lines.push(line);
            }
        }
    }
    lines.retain(|line| !LEFT_OUT.iter().any(|start| line.starts_with(start)));
    lines.sort_unstable();
    let strange = lines
        .iter()
        .find(|line| line.starts_with("secrets\t") || line.starts_with("pods\t"));
    ensure!(
        strange.is_none(),
        "the server was not just started: {strange:?}"
    );
    lines.push(String::new());
    Ok(HEAD.to_owned() + &lines.join("\n"))
}

/// It leads to the server's port, whatever its version.
const OF_THE_PORT: &str = "services\tdefault/kubernetes";

/// The table of what differs in older versions: a line for each object that one has in another form, or does not have.
pub fn older(newest: &str, others: &[(KubernetesVersion, String)]) -> String {
    const HEAD: &str = "\
# Written by `conformance first-objects`; do not edit.
#
# What a kube-apiserver makes at its start when it emulates an older version, where it is not what the newest makes: the version, the
# resource, the path and the object, or nothing where it makes no such object.
";
    let mut lines = Vec::new();
    let newest = by_path(newest);
    for (version, table) in others {
        let older = by_path(table);
        for (place, object) in &older {
            if newest.get(place) != Some(object) && *place != OF_THE_PORT {
                lines.push(format!("{version}\t{place}\t{object}"));
            }
        }
        let gone = newest.keys().filter(|place| !older.contains_key(*place));
        lines.extend(gone.map(|place| format!("{version}\t{place}\t")));
    }
    lines.sort_unstable();
    lines.push(String::new());
    HEAD.to_owned() + &lines.join("\n")
}

/// The objects of a table by resource and path.
fn by_path(table: &str) -> BTreeMap<&str, &str> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.rsplit_once('\t')).collect()
}

/// Waits until a server has made its first objects: those that it makes last are there.
pub(crate) async fn made(client: &Client) -> Result<()> {
    const LAST: [(&str, &str); 3] = [
        (
            "/api/v1/namespaces/default/services/kubernetes",
            "/spec/clusterIP",
        ),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/catch-all",
            "/status/conditions/0",
        ),
        (
            "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
            "/status/conditions/0",
        ),
    ];
    let late = Instant::now() + Duration::from_secs(30);
    for (path, pointer) in LAST {
        loop {
            let answer = client.send(asked(path)).await?;
            if answer.body.pointer(pointer).is_some() {
                break;
            }
            ensure!(Instant::now() < late, "the server never made {path}");
            sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

fn line(table: &str, kind: &str, api_version: &str, item: &Value) -> String {
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    object.insert("apiVersion".into(), api_version.into());
    for (name, value) in item.as_object().into_iter().flatten() {
        object.insert(name.clone(), value.clone());
    }
    let mut object = Value::Object(object);
    let mut path = String::new();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for own in ["creationTimestamp", "resourceVersion", "uid"] {
            metadata.remove(own);
        }
        let text = |name: &str| metadata.get(name).and_then(Value::as_str);
        path.extend(text("namespace").map(|namespace| format!("{namespace}/")));
        path.push_str(text("name").unwrap_or_default());
    }
    timeless(&mut object);
    format!("{table}\t{path}\t{object}")
}

/// Puts words in the places of times.
fn timeless(value: &mut Value) {
    match value {
        Value::String(text) if text.parse::<Timestamp>().is_ok() => "{now}".clone_into(text),
        Value::String(text) if text.parse::<jiff::civil::Date>().is_ok() => {
            "{today}".clone_into(text);
        }
        Value::Array(items) => items.iter_mut().for_each(timeless),
        Value::Object(fields) => fields.values_mut().for_each(timeless),
        _ => {}
    }
}

async fn get(client: &Client, path: &str) -> Result<Value> {
    let answer = client.send(asked(path)).await?;
    ensure!(answer.succeeded(), "GET {path}: {}", answer.body);
    Ok(answer.body)
}

fn asked(path: &str) -> Ask {
    Ask {
        method: "GET".into(),
        path: path.to_owned(),
        ..Ask::default()
    }
}

fn listed<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_each_server_makes_anew_is_left_out() {
        let item = json!({
            "metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "5", "creationTimestamp": "x"},
            "status": {"at": "2026-11-21T10:00:00Z", "since": "2026-11-21", "name": "2026"},
        });
        let line = line("things.example.com", "Thing", "example.com/v1", &item);
        let (head, object) = line.split_once("\t{").expect("an object");
        assert_eq!(head, "things.example.com\tn/a");
        let object: Value = serde_json::from_str(&format!("{{{object}")).expect("JSON");
        assert_eq!(
            object,
            json!({
                "kind": "Thing", "apiVersion": "example.com/v1",
                "metadata": {"name": "a", "namespace": "n"},
                "status": {"at": "{now}", "since": "{today}", "name": "2026"},
            })
        );
    }
}
