//! The namespaces that a webhook reads for `namespaceObject`.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use kubewright_controller::{Cached, Object};
use serde_json::Value;

use crate::params::Cause;

/// Reads a namespace by its name from a cache of the program.
#[derive(Clone)]
pub(crate) struct Namespaces(Arc<Read>);

type Read = dyn Fn(String) -> Reading + Send + Sync;
type Reading = Pin<Box<dyn Future<Output = Result<Option<Value>, Cause>> + Send>>;

impl Namespaces {
    pub(crate) fn cached<N: Object>(cache: &Cached<N>) -> Self {
        let cache = cache.decode_as::<Value>();
        Self(Arc::new(move |name| {
            let cache = cache.clone();
            Box::pin(async move {
                let all = cache.list().await?;
                let mut all = all.into_iter();
                Ok(all.find(|namespace| namespace["metadata"]["name"] == *name))
            })
        }))
    }

    pub(crate) async fn read(&self, name: &str) -> Result<Option<Value>, Cause> {
        (self.0)(name.to_owned()).await
    }
}

impl fmt::Debug for Namespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Namespaces").finish_non_exhaustive()
    }
}
