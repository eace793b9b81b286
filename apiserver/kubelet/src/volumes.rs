//! The volumes of a pod, as files in a temporary directory.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kubewright_apimachinery::go_text::quoted;
use serde_json::Value;
use tokio::fs;

use crate::container::Mount;
use crate::fields::field;
use crate::objects::{Objects, TokenRequest};

/// The directories of a pod's volumes, by name.
#[derive(Debug, Default)]
pub(crate) struct Volumes(BTreeMap<String, PathBuf>);

/// The files of a volume, by their path in it.
type Files = BTreeMap<String, Bytes>;

impl Volumes {
    /// Writes the files of all volumes below a directory.
    pub(crate) async fn write(
        objects: &dyn Objects,
        pod: &Value,
        address: IpAddr,
        directory: &Path,
    ) -> Result<Self, String> {
        let mut volumes = Self::default();
        let source = Source {
            objects,
            pod,
            address,
        };
        for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
            let name = volume["name"].as_str().unwrap_or_default();
            let failed = |why: String| {
                format!(
                    "MountVolume.SetUp failed for volume {} : {why}",
                    quoted(name)
                )
            };
            let files = source.files(volume).await.map_err(failed)?;
            let folder = directory.join(name);
            let written = write(&folder, files).await;
            written.map_err(|error| failed(error.to_string()))?;
            volumes.0.insert(name.to_owned(), folder);
        }
        Ok(volumes)
    }

    /// The mounts of a container.
    pub(crate) fn mounts(&self, container: &Value) -> Vec<Mount> {
        let mounts = container["volumeMounts"].as_array().into_iter().flatten();
        mounts
            .filter_map(|mount| {
                let text = |field: &str| mount[field].as_str().unwrap_or_default();
                let mut files = self.0.get(text("name"))?.clone();
                if is_below(text("subPath")) {
                    files.push(text("subPath"));
                }
                Some(Mount {
                    path: text("mountPath").to_owned(),
                    files,
                })
            })
            .collect()
    }
}

#[derive(Clone, Copy)]
struct Source<'a> {
    objects: &'a dyn Objects,
    pod: &'a Value,
    address: IpAddr,
}

impl Source<'_> {
    async fn files(self, volume: &Value) -> Result<Files, String> {
        if volume["emptyDir"].is_object() {
            return Ok(Files::new());
        }
        if volume["projected"].is_object() {
            let mut files = Files::new();
            let sources = volume["projected"]["sources"].as_array();
            for source in sources.into_iter().flatten() {
                files.extend(self.of_one(source).await?);
            }
            return Ok(files);
        }
        self.of_one(volume).await
    }

    /// The files of a source, which is a volume or a part of a projected one.
    async fn of_one(self, source: &Value) -> Result<Files, String> {
        if source["secret"].is_object() {
            let secret = &source["secret"];
            let name = secret.get("secretName").unwrap_or(&secret["name"]);
            return self.of_object("secrets", secret, name);
        }
        if source["configMap"].is_object() {
            let map = &source["configMap"];
            return self.of_object("configmaps", map, &map["name"]);
        }
        if source["downwardAPI"].is_object() {
            return self.of_pod(&source["downwardAPI"]);
        }
        if source["serviceAccountToken"].is_object() {
            let token = &source["serviceAccountToken"];
            let request = TokenRequest {
                pod: self.pod,
                audience: token["audience"].as_str().unwrap_or_default(),
                expiration_seconds: token["expirationSeconds"].as_i64().unwrap_or(3600),
            };
            let path = token["path"].as_str().unwrap_or_default().to_owned();
            let token = self.objects.token(request).await?;
            return Ok(Files::from([(path, token.into())]));
        }
        let keys = source.as_object().into_iter().flatten();
        let kind = keys.map(|(key, _)| key.as_str()).find(|key| *key != "name");
        let kind = kind.unwrap_or("no source");
        Err(format!("this kubelet does not support volumes of {kind}"))
    }

    fn of_object(self, resource: &str, source: &Value, name: &Value) -> Result<Files, String> {
        let name = name.as_str().unwrap_or_default();
        let namespace = self.pod["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default();
        let is_optional = source["optional"] == true;
        let Some(object) = self.objects.get(resource, namespace, name) else {
            if is_optional {
                return Ok(Files::new());
            }
            let kind = resource.trim_end_matches('s');
            return Err(format!("{kind} {} not found", quoted(name)));
        };
        let mut data = Files::new();
        for (field, is_encoded) in [("data", resource == "secrets"), ("binaryData", true)] {
            for (key, value) in object[field].as_object().into_iter().flatten() {
                let text = value.as_str().unwrap_or_default();
                let bytes = if is_encoded {
                    STANDARD.decode(text).unwrap_or_default().into()
                } else {
                    text.to_owned().into()
                };
                data.insert(key.clone(), bytes);
            }
        }
        let Some(items) = source["items"].as_array() else {
            return Ok(data);
        };
        let mut files = Files::new();
        for item in items {
            let text = |field: &str| item[field].as_str().unwrap_or_default();
            match data.get(text("key")) {
                Some(bytes) => drop(files.insert(text("path").to_owned(), bytes.clone())),
                None if is_optional => {}
                None => return Err("references non-existent key: ".to_owned() + text("key")),
            }
        }
        Ok(files)
    }

    fn of_pod(self, source: &Value) -> Result<Files, String> {
        let items = source["items"].as_array().into_iter().flatten();
        items
            .map(|item| {
                let path = item["path"].as_str().unwrap_or_default();
                let name = item["fieldRef"]["fieldPath"].as_str().unwrap_or_default();
                let value = field(self.pod, name, self.address)?;
                Ok((path.to_owned(), value.into()))
            })
            .collect()
    }
}

async fn write(folder: &Path, files: Files) -> io::Result<()> {
    fs::create_dir_all(folder).await?;
    for (path, contents) in files {
        if !is_below(&path) {
            return Err(io::Error::other(format!("invalid path {path}")));
        }
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).await?;
        }
        fs::write(path, contents).await?;
    }
    Ok(())
}

/// Whether a relative path leads to a place below where it starts.
fn is_below(path: &str) -> bool {
    !path.is_empty()
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
