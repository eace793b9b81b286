//! What becomes of a stored object on its way to a client, and back: the rules of today's definition hold for what was
//! written before.

use kubewright_apimachinery::accessor::metadata_mut;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View;
use kubewright_webhook_client::Reach;
use serde_json::Value;

use super::definition::Version;
use super::{Custom, metadata};

impl Custom {
    /// Makes a stored object what clients of this version see.
    ///
    /// # Errors
    /// Why it cannot be decoded: it has a version that there is no more, or its conversion fails.
    pub async fn read(
        &self,
        reach: Reach<'_>,
        stored: Value,
    ) -> std::result::Result<Value, String> {
        let definition = &self.definition;
        let mut object = stored;
        let version = object.text("apiVersion");
        let name = version.rsplit('/').next().unwrap_or_default();
        let Some(version) = definition.version(name) else {
            return Err(format!(
                "request to convert CR from an invalid group/version: {version}"
            ));
        };
        version.coerce(&mut object)?;
        version.default(&mut object);
        if version.name == self.name {
            return Ok(object);
        }
        // The revision is no part of what is stored: a webhook does not see it.
        let revision = metadata_mut(&mut object).remove("resourceVersion");
        let converted = definition.convert(reach, object, &self.name).await;
        let mut object = converted.map_err(|failure| failure.message().to_owned())?;
        self.coerce(&mut object)?;
        if let Some(revision) = revision {
            metadata_mut(&mut object).insert("resourceVersion".to_owned(), revision);
        }
        Ok(object)
    }

    /// Makes an object of this version what is stored.
    ///
    /// # Errors
    /// A conversion that fails.
    pub async fn store(&self, reach: Reach<'_>, mut object: Value) -> Result<Value> {
        let definition = &self.definition;
        if definition.storage == self.name {
            // A new object has none yet, whatever was sent. It is read back with its default.
            if let Some(schema) = self.schema.as_ref().filter(|_| self.status) {
                schema.default_field(&mut object, "status");
            }
            return Ok(object);
        }
        metadata_mut(&mut object).remove("resourceVersion");
        let mut object = definition
            .convert(reach, object, &definition.storage)
            .await?;
        if let Some(version) = definition.version(&definition.storage) {
            version
                .coerce(&mut object)
                .map_err(|why| Status::internal(&why))?;
        }
        Ok(object)
    }
}

impl Version {
    /// Fills in the defaults.
    pub fn default(&self, object: &mut Value) {
        if let Some(schema) = &self.schema {
            schema.default(object);
        }
    }

    /// Makes what server-side apply has made an object of this version. What the schema does not know stays for validation.
    ///
    /// # Errors
    /// The decoder's words for what does not fit at all.
    pub fn settle_applied(&self, object: &mut Value) -> std::result::Result<(), String> {
        metadata::conform(object).map(drop)
    }

    /// Makes an object one of this version: its metadata are those that there are, and what the schema does not know goes.
    /// Answers the paths of what went.
    ///
    /// # Errors
    /// The decoder's words for what does not fit at all.
    pub fn coerce(&self, object: &mut Value) -> std::result::Result<Vec<String>, String> {
        let mut unknown = metadata::conform(object)?;
        unknown.sort_unstable();
        unknown.extend(self.prune(object)?);
        Ok(unknown)
    }

    /// Takes out of an object what the schema of this version does not know, but for its metadata. Answers the paths of what
    /// went.
    ///
    /// # Errors
    /// The decoder's words for metadata of embedded objects that do not fit.
    pub fn prune(&self, object: &mut Value) -> std::result::Result<Vec<String>, String> {
        match &self.schema {
            Some(schema) => schema.prune(object),
            None => Ok(Vec::new()),
        }
    }
}
