//! Reading and replacing one object, without losing what its type does not know.

use std::time::Duration;

use kube::Client;
use kube::core::params::{GetParams, PostParams};
use kube::core::{Request, Status};
use serde_json::Value;
use tokio::time::timeout;

use super::target::Target;

/// Why an object was not read or replaced. It is fit for a log: an API server quotes what it refuses, and that is left out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the API server says {} ({})", .0.reason, .0.code)]
    Refused(Box<Status>),
    /// Kept verbatim: only the API server's message names the user and the missing permission.
    #[error("{}", .0.message)]
    Forbidden(Box<Status>),
    #[error("the API server does not answer")]
    Unreachable(#[source] Box<kube::Error>),
    #[error("the API server says nothing for {} s", REQUEST_TIMEOUT.as_secs())]
    Silent,
}

impl Failure {
    /// Whether another client has written the object meanwhile.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 409)
    }

    fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 404)
    }

    pub(crate) fn of(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 403 => Self::Forbidden(status),
            kube::Error::Api(status) => Self::Refused(status),
            error => Self::Unreachable(Box::new(error)),
        }
    }
}

/// An object, if there is one.
pub(crate) async fn get(client: &Client, target: &Target) -> Result<Option<Value>, Failure> {
    let request = Request::new(target.collection()).get(&target.name, &GetParams::default());
    match ask(client, request).await {
        Ok(object) => Ok(Some(object)),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Replaces an object, unless another client has written it since it was read.
pub(crate) async fn replace(
    client: &Client,
    target: &Target,
    program: &str,
    object: &Value,
) -> Result<Value, Failure> {
    let parameters = PostParams {
        field_manager: Some(program.to_owned()),
        ..PostParams::default()
    };
    let body = object.to_string().into_bytes();
    let request = Request::new(target.collection()).replace(&target.name, &parameters, body);
    ask(client, request).await
}

async fn ask(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<Value, Failure> {
    let request = request.map_err(|error| Failure::of(kube::Error::BuildRequest(error)))?;
    match timeout(REQUEST_TIMEOUT, client.request(request)).await {
        Ok(answer) => answer.map_err(Failure::of),
        Err(_) => Err(Failure::Silent),
    }
}

const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
