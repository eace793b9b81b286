//! `exec`, `attach`, `portforward` and `proxy`: admission sees the connection; then there is nothing to connect to.

use http::Response;
use serde_json::{Map, Value};

use crate::admission::Operation;
use crate::kinds::GroupVersionKind;
use crate::rest::body::Body;
use crate::rest::call::Call;
use crate::status::{Result, Status};

/// Whether a sub-resource of the core group is a connection.
pub(super) fn is_connect(name: &str) -> bool {
    matches!(name, "attach" | "exec" | "portforward" | "proxy")
}

/// Takes a connection through admission.
///
/// # Errors
/// Always: 501 once admission has let it pass, for this server runs no containers.
pub(super) async fn connect(call: &Call) -> Result<Response<Body>> {
    if !call.query.text("dryRun").is_empty() {
        return Err(Status::bad_request("dryRun is not supported"));
    }
    let part = call.path.subresource.as_str();
    let kind = kind(&call.resource.kind, part);
    let mut attributes = call.attributes(Operation::Connect, Value::Null);
    attributes.object = options(call, part, &kind);
    attributes.kind = GroupVersionKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind,
    };
    call.mutate(&mut attributes).await?;
    call.validate(&attributes).await?;
    call.stored()?;
    Err(Status::not_implemented(&format!(
        "this server runs no containers and no nodes, so {}/{part} has nothing to connect to",
        call.resource.plural
    )))
}

fn kind(parent: &str, part: &str) -> String {
    let what = match part {
        "attach" => "Attach",
        "exec" => "Exec",
        "portforward" => "PortForward",
        _ => "Proxy",
    };
    format!("{parent}{what}Options")
}

/// The query as the options object that admission sees.
fn options(call: &Call, part: &str, kind: &str) -> Value {
    let query = &call.query;
    let mut options = Map::new();
    options.insert("kind".to_owned(), kind.into());
    options.insert("apiVersion".to_owned(), "v1".into());
    match part {
        "attach" | "exec" => {
            for name in ["stdin", "stdout", "stderr", "tty"] {
                if query.flag(name) {
                    options.insert(name.to_owned(), true.into());
                }
            }
            if let Some(container) = query.get("container") {
                options.insert("container".to_owned(), container.into());
            }
            let command: Vec<&str> = query.all("command").collect();
            if part == "exec" {
                options.insert("command".to_owned(), command.into());
            }
        }
        "portforward" => {
            let ports: Vec<i64> = query
                .all("ports")
                .filter_map(|port| port.parse().ok())
                .collect();
            if !ports.is_empty() {
                options.insert("ports".to_owned(), ports.into());
            }
        }
        _ => {
            if !call.path.rest.is_empty() {
                options.insert("path".to_owned(), format!("/{}", call.path.rest).into());
            }
        }
    }
    Value::Object(options)
}
