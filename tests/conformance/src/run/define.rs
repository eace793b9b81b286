//! Creates the definitions that a session needs.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::client::Ask;
use crate::run::{Session, definitions};

impl Session {
    /// Creates a definition and waits until the server serves its objects.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses it.
    pub(crate) async fn define(&self, definition: &Value) -> Result<()> {
        let client = self.0.client().await?;
        let ask = Ask {
            method: "POST".into(),
            path: definitions::DEFINITIONS.into(),
            headers: vec![("content-type".into(), "application/json".into())],
            body: definition.to_string().into_bytes(),
        };
        let answer = client.send(ask.clone()).await?;
        ensure!(answer.succeeded(), "define a kind: {}", answer.body);
        definitions::noticed(&client, &ask, &answer).await
    }
}
