//! What a kubelet reads of the API server.

use futures::future::BoxFuture;
use serde_json::Value;

/// The objects that pods refer to.
pub trait Objects: Send + Sync {
    /// The object of a core resource, such as `secrets`.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value>;

    /// A token for the service account of a pod, or why there is none.
    fn token<'a>(&'a self, request: TokenRequest<'a>) -> BoxFuture<'a, Result<String, String>>;
}

/// A token of a projected volume.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TokenRequest<'a> {
    /// The pod.
    pub pod: &'a Value,
    /// Whom the token is for; empty for the API server.
    pub audience: &'a str,
    /// How long it lasts.
    pub expiration_seconds: i64,
}
