//! Warnings about volumes in which two files would stand at one place, or one where another has its folder.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View;
use serde_json::{Map, Value};

/// A path, and where its content comes from.
struct Source<'a> {
    path: &'a str,
    from: String,
}

/// A sentence for each two paths that overlap.
pub(crate) fn overlaps(volumes: &[Value], out: &mut Vec<String>) {
    for volume in volumes {
        for (source, kind, name) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
        ] {
            let said = volume.at(source);
            // One file has none beside it; nearly every volume is of another kind.
            if said.list("items").len() < 2 {
                continue;
            }
            let what = format!("{kind} {}", quoted(said.text(name)));
            warn(volume, &what, &items(said, ""), out);
        }
        let said = volume.at("downwardAPI");
        warn(volume, "DownwardAPI", &items(said, ""), out);
        let sources = volume.at("projected").list("sources");
        // One warning covers all empty sources.
        let nothing = |source: &Value| source.as_object().is_some_and(Map::is_empty);
        if sources.iter().any(nothing) {
            let name = quoted(volume.text("name"));
            out.push(format!("volume {name} (Projected) has no sources provided"));
        }
        let all: Vec<_> = sources.iter().flat_map(projection).collect();
        warn(volume, "Projected", &all, out);
    }
}

fn projection(source: &Value) -> Vec<Source<'_>> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let said = source.at(field);
        if !said.list("items").is_empty() {
            return items(said, &format!("{kind} {}", quoted(said.text("name"))));
        }
    }
    let said = source.at("downwardAPI");
    if !said.list("items").is_empty() {
        return items(said, "DownwardAPI");
    }
    let one = |path, from: &str| Source {
        path: trimmed(path),
        from: from.to_owned(),
    };
    let token = source.at("serviceAccountToken");
    if !token.is_null() {
        return vec![one(token.text("path"), "ServiceAccountToken")];
    }
    let certificate = source.at("podCertificate");
    let parts = [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ];
    let parts = parts.map(|(field, from)| one(certificate.text(field), from));
    parts
        .into_iter()
        .filter(|part| !part.path.is_empty())
        .collect()
}

fn items<'a>(holder: &'a Value, from: &str) -> Vec<Source<'a>> {
    let source = |item: &'a Value| Source {
        path: trimmed(item.text("path")),
        from: from.to_owned(),
    };
    holder.list("items").iter().map(source).collect()
}

fn trimmed(path: &str) -> &str {
    path.trim_end_matches('/')
}

fn warn(volume: &Value, what: &str, all: &[Source<'_>], out: &mut Vec<String>) {
    for (index, this) in all.iter().enumerate() {
        for other in &all[..index] {
            if this.path.is_empty() || other.path.is_empty() || !overlap(this.path, other.path) {
                continue;
            }
            out.push(format!(
                "volume {} ({what}): overlapping paths: {} with {}",
                quoted(volume.text("name")),
                shown(this),
                shown(other)
            ));
        }
    }
}

fn overlap(one: &str, other: &str) -> bool {
    let within = |path: &str, folder: &str| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

fn shown(source: &Source<'_>) -> String {
    let path = quoted(source.path);
    if source.from.is_empty() {
        path
    } else {
        format!("{path} ({})", source.from)
    }
}
