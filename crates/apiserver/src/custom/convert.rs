//! From one version of a custom object to another (spec section D.7).

use serde_json::Value;

use super::Definition;
use crate::kinds::view::Edit;
use crate::server::Shared;
use crate::status::{Result, Status};

impl Definition {
    /// Converts objects that are in other versions to `version`; all of them in one call, where a webhook does it.
    ///
    /// # Errors
    /// 500 with the real server's words.
    #[expect(clippy::unused_async, reason = "a webhook will be asked here")]
    pub(crate) async fn convert(
        &self,
        shared: &Shared,
        mut objects: Vec<Value>,
        version: &str,
    ) -> Result<Vec<Value>> {
        let _ = shared;
        let wanted = format!("{}/{version}", self.group);
        if self.converts_by_webhook() {
            return Err(Status::not_implemented(
                "this server does not call conversion webhooks yet",
            ));
        }
        for object in &mut objects {
            object.put("apiVersion", wanted.as_str());
        }
        Ok(objects)
    }
}
