//! What a URL path asks for (spec section C.1.1).

use kubewright_apimachinery::percent;

use super::query::Query;

/// A path below `/api/<version>` or `/apis/<group>/<version>` that names a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) plural: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// What follows the sub-resource, without a leading slash: the path to a proxied service.
    pub(crate) rest: String,
    /// Whether a slash stands at the end, which only a proxy passes on.
    pub(crate) slash: bool,
    /// The deprecated form `/api/v1/watch/…`.
    pub(crate) watch: bool,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// `/api/<version>/…` or `/apis/<group>/<version>/…` with a resource.
    Resource(ResourcePath),
    /// Everything else: discovery, health, version, OpenAPI, and paths that do not exist.
    Other(Vec<String>),
    /// A path with an empty segment in it leads nowhere; the group tells who says so (none: the router). It may still
    /// have the form of a resource, which is what its sender is asked to be allowed.
    Broken(Option<String>, Option<Box<ResourcePath>>),
}

impl Path {
    /// Whether a GET of the path follows changes.
    pub(crate) fn is_watched(&self, query: &Query) -> bool {
        match self {
            Self::Resource(path) => {
                let of_many = path.name.is_empty() && path.subresource.is_empty();
                path.watch || of_many && query.flag("watch")
            }
            Self::Other(_) | Self::Broken(..) => false,
        }
    }

    /// Reads a path. A slash at its end is harmless.
    pub(crate) fn parse(path: &str) -> Self {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (path, slash) = match path.strip_suffix('/') {
            Some(path) => (path, true),
            None => (path, false),
        };
        let segments: Vec<String> = path
            .split('/')
            .filter(|_| !path.is_empty())
            .map(|segment| percent::decode(segment).into_owned())
            .collect();
        let words: Vec<&str> = segments.iter().map(String::as_str).collect();
        if words.contains(&"") {
            let group = match words.as_slice() {
                ["api", ..] => Some(String::new()),
                ["apis", group, ..] => Some((*group).to_owned()),
                _ => None,
            };
            // The router takes any number of slashes behind a resource for none.
            let end = words
                .iter()
                .rev()
                .take_while(|word| word.is_empty())
                .count();
            let trimmed = words.get(..words.len() - end).unwrap_or_default();
            if !trimmed.contains(&"")
                && let Some(resource) = of_resource(trimmed)
            {
                let slash = true;
                return Self::Resource(ResourcePath { slash, ..resource });
            }
            let start = words.iter().take_while(|word| word.is_empty()).count();
            let inner = trimmed.get(start..).unwrap_or_default();
            return Self::Broken(group, of_resource(inner).map(Box::new));
        }
        of_resource(&words).map_or(Self::Other(segments), |resource| {
            Self::Resource(ResourcePath { slash, ..resource })
        })
    }
}

fn of_resource(words: &[&str]) -> Option<ResourcePath> {
    match words {
        ["api", version, rest @ ..] => resource("", version, rest),
        ["apis", group, version, rest @ ..] => resource(group, version, rest),
        _ => None,
    }
}

fn resource(group: &str, version: &str, mut words: &[&str]) -> Option<ResourcePath> {
    let watch = words.first() == Some(&"watch");
    if watch {
        words = &words[1..];
    }
    let own = |text: &&str| (*text).to_owned();
    let mut path = ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        watch,
        ..ResourcePath::default()
    };
    // `namespaces/<ns>/status` and `/finalize` belong to the namespace itself.
    let in_namespace = match words {
        ["namespaces", _, "status" | "finalize", ..] => false,
        ["namespaces", _, _, ..] => true,
        _ => false,
    };
    if in_namespace {
        path.namespace = own(&words[1]);
        words = &words[2..];
    }
    path.plural = words.first().map(own)?;
    path.name = words.get(1).map(own).unwrap_or_default();
    path.subresource = words.get(2).map(own).unwrap_or_default();
    path.rest = words
        .get(3..)
        .map(|rest| rest.join("/"))
        .unwrap_or_default();
    if path.plural == "namespaces" && path.namespace.is_empty() && group.is_empty() {
        path.namespace.clone_from(&path.name);
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Option<[String; 6]> {
        match Path::parse(path) {
            Path::Resource(p) => Some([
                p.group,
                p.version,
                p.namespace,
                p.plural,
                p.name,
                p.subresource,
            ]),
            Path::Other(_) | Path::Broken(..) => None,
        }
    }

    #[test]
    fn paths_name_resources() {
        for (path, expected) in [
            ("/api/v1/pods", ["", "v1", "", "pods", "", ""]),
            (
                "/api/v1/namespaces/a/pods/x/status",
                ["", "v1", "a", "pods", "x", "status"],
            ),
            (
                "/apis/apps/v1/namespaces/a/deployments",
                ["apps", "v1", "a", "deployments", "", ""],
            ),
            ("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""]),
            (
                "/api/v1/namespaces/a",
                ["", "v1", "a", "namespaces", "a", ""],
            ),
            (
                "/api/v1/namespaces/a/finalize",
                ["", "v1", "a", "namespaces", "a", "finalize"],
            ),
            (
                "/api/v1/nodes/n/proxy/x",
                ["", "v1", "", "nodes", "n", "proxy"],
            ),
            ("/apis/g/v1/xs/a%3Ab/", ["g", "v1", "", "xs", "a:b", ""]),
        ] {
            assert_eq!(parts(path).unwrap(), expected, "{path}");
        }
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/apis/apps",
            "/apis/apps/v1",
            "/version",
        ] {
            assert_eq!(parts(path), None, "{path}");
        }
    }

    #[test]
    fn an_empty_segment_leads_nowhere() {
        let group = |path: &str| match Path::parse(path) {
            Path::Broken(group, _) => group,
            other => panic!("{path} leads to {other:?}"),
        };
        assert_eq!(group("/api//v1").as_deref(), Some(""));
        assert_eq!(group("/apis/apps/v1//deployments").as_deref(), Some("apps"));
        assert_eq!(group("//version"), None);
        assert_eq!(group("/api/v1//").as_deref(), Some(""));
        assert_eq!(parts("/api/v1/pods//").unwrap()[3], "pods");
    }

    #[test]
    fn the_old_watch_prefix_is_understood() {
        let Path::Resource(path) = Path::parse("/api/v1/watch/namespaces/a/pods") else {
            panic!("a resource path");
        };
        assert!(path.watch);
        assert_eq!(
            (path.namespace.as_str(), path.plural.as_str()),
            ("a", "pods")
        );
    }
}
