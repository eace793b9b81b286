//! The attributes of a request (verb, resource, name) for authorization and the audit log (spec section C.1.1).

use std::borrow::Cow;

use http::{Method, Uri};
use kubewright_apimachinery::selectors::Fields;
use kubewright_apimachinery::user::User;
use kubewright_auth::{About, Question};

use super::path::{Path, ResourcePath};
use super::query::Query;

/// The attributes of a request that follow from its request line alone, before the resource is looked up.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// The verb, such as `create` or `list`; for a non-resource path, the method in lower case.
    pub(crate) verb: Cow<'a, str>,
    /// The resource, if the path has the form of one.
    pub(crate) resource: Option<&'a ResourcePath>,
    /// The name of the object, also if a list or a watch selects one name, so that rules with `resourceNames` apply.
    pub(crate) name: Cow<'a, str>,
    /// The field selector of a list, a watch or a collection delete.
    fields: Option<Fields>,
    path: &'a str,
}

impl<'a> Target<'a> {
    pub(crate) fn of(method: &Method, path: &'a Path, query: &'a Query, text: &'a str) -> Self {
        let resource = match path {
            Path::Resource(resource) => Some(resource),
            Path::Broken(_, resource) => resource.as_deref(),
            Path::Other(_) => None,
        };
        let Some(resource) = resource else {
            return Self {
                verb: without_resource(method),
                resource: None,
                name: Cow::Borrowed(""),
                fields: None,
                path: text,
            };
        };
        let named = !resource.name.is_empty();
        let verb = match *method {
            _ if resource.watch => "watch",
            Method::GET | Method::HEAD if named => "get",
            Method::GET | Method::HEAD if query.flag("watch") => "watch",
            Method::GET | Method::HEAD => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if named => "delete",
            Method::DELETE => "deletecollection",
            _ => "",
        };
        // For watches in the deprecated form, authorization ignores the selector.
        let many = matches!(verb, "list" | "watch" | "deletecollection") && !resource.watch;
        let text = if many {
            query.text("fieldSelector")
        } else {
            ""
        };
        let fields = Fields::parse(text).ok().filter(|fields| !fields.is_empty());
        let name = match &fields {
            Some(fields) if verb != "deletecollection" => selected(fields).into(),
            _ => Cow::Borrowed(resource.name.as_str()),
        };
        Self {
            verb: verb.into(),
            resource: Some(resource),
            name,
            fields,
            path: text,
        }
    }

    /// The question to the authorizer whether a user may send the request.
    pub(crate) fn question<'b>(&'b self, user: &'b User) -> Question<'b> {
        let about = self.resource.map_or(About::Path(self.path), |resource| {
            let ResourcePath {
                group,
                plural,
                subresource,
                namespace,
                ..
            } = resource;
            About::Resource {
                group,
                resource: plural,
                subresource,
                namespace,
                name: &self.name,
                fields: self.fields.as_ref(),
            }
        });
        Question {
            user,
            verb: &self.verb,
            about,
        }
    }

    /// Whether the request is long-running: no timeout applies.
    pub(crate) fn is_long_running(&self) -> bool {
        let part = self
            .resource
            .map_or("", |resource| resource.subresource.as_str());
        self.resource.is_some() && self.verb == "watch"
            || matches!(part, "attach" | "exec" | "log" | "portforward" | "proxy")
    }
}

/// The attributes of a request (verb, resource, name) as authorization and the audit log of an API server see them.
///
/// They follow from the method and the URL alone: the resource need not exist.
///
/// # Example: the verb, the resource and the name in a request
///
/// ```
/// use http::Method;
/// use kubewright_endpoints::RequestInfo;
///
/// let info = RequestInfo::of(&Method::PATCH, &"/apis/apps/v1/namespaces/blue/deployments/web/scale".parse()?);
/// assert_eq!((info.verb.as_str(), info.group.as_str()), ("patch", "apps"));
/// assert_eq!((info.resource.as_str(), info.subresource.as_str()), ("deployments", "scale"));
/// assert_eq!((info.namespace.as_str(), info.name.as_str()), ("blue", "web"));
///
/// let info = RequestInfo::of(&Method::GET, &"/api/v1/pods?watch=true".parse()?);
/// assert_eq!((info.verb.as_str(), info.resource.as_str(), info.name.as_str()), ("watch", "pods", ""));
/// # Ok::<(), http::uri::InvalidUri>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct RequestInfo {
    /// The verb, such as `list`; for a path that is no resource, the method in small letters.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, such as `pods`; empty for a path that is none.
    pub resource: String,
    /// The sub-resource, such as `status`; mostly empty.
    pub subresource: String,
    /// The namespace; empty for the whole cluster.
    pub namespace: String,
    /// The name of the object; empty for a collection.
    pub name: String,
    /// The path, if it is no resource.
    pub path: String,
}

impl RequestInfo {
    /// Reads the method and the URL of a request.
    pub fn of(method: &Method, uri: &Uri) -> Self {
        let (path, query) = (Path::parse(uri.path()), Query::parse(uri.query()));
        let target = Target::of(method, &path, &query, uri.path());
        let user = User::default();
        let question = target.question(&user);
        let verb = question.verb.to_owned();
        match question.about {
            About::Path(path) => Self {
                verb,
                path: path.to_owned(),
                ..Self::default()
            },
            About::Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
                ..
            } => Self {
                verb,
                group: group.to_owned(),
                resource: resource.to_owned(),
                subresource: subresource.to_owned(),
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                path: String::new(),
            },
        }
    }
}

fn without_resource(method: &Method) -> Cow<'static, str> {
    match *method {
        Method::GET => "get".into(),
        Method::HEAD => "head".into(),
        Method::POST => "post".into(),
        ref other => other.as_str().to_ascii_lowercase().into(),
    }
}

/// The one name that a field selector asks for.
fn selected(fields: &Fields) -> String {
    let name = fields.exact("metadata.name").unwrap_or_default();
    let is_segment = !matches!(name, "." | "..") && !name.contains(['/', '%']);
    if is_segment {
        name.to_owned()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(method: &Method, uri: &str) -> [String; 4] {
        let (text, query) = uri.split_once('?').unwrap_or((uri, ""));
        let (path, query) = (Path::parse(text), Query::parse(Some(query)));
        let target = Target::of(method, &path, &query, text);
        let user = User::default();
        let question = target.question(&user);
        let (resource, name, path) = match question.about {
            About::Resource { resource, name, .. } => (resource, name, ""),
            About::Path(path) => ("", "", path),
        };
        [question.verb, resource, name, path].map(str::to_owned)
    }

    #[test]
    fn a_verb_follows_from_the_method_the_name_and_the_query() {
        let (get, delete) = (Method::GET, Method::DELETE);
        for (method, uri, expected) in [
            (&get, "/api/v1/pods", ["list", "pods", "", ""]),
            (&get, "/api/v1/pods?watch=1", ["watch", "pods", "", ""]),
            (&get, "/api/v1/watch/pods", ["watch", "pods", "", ""]),
            (
                &get,
                "/api/v1/pods?fieldSelector=metadata.name%3Da",
                ["list", "pods", "a", ""],
            ),
            (
                &get,
                "/api/v1/pods?fieldSelector=metadata.name%3Da/b",
                ["list", "pods", "", ""],
            ),
            (&get, "/api/v1/nodes/n?watch=1", ["get", "nodes", "n", ""]),
            (&delete, "/api/v1/nodes/n", ["delete", "nodes", "n", ""]),
            (
                &delete,
                "/api/v1/nodes",
                ["deletecollection", "nodes", "", ""],
            ),
            (&Method::HEAD, "/version", ["head", "", "", "/version"]),
            (&Method::OPTIONS, "/api/v1/pods", ["", "pods", "", ""]),
            (&get, "/api//v1/pods", ["get", "v1", "pods", ""]),
        ] {
            assert_eq!(about(method, uri), expected, "{method} {uri}");
        }
    }
}
