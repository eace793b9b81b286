//! Objects in the versions of other managers. Field management runs synchronously and records the conversions that need a
//! webhook; the caller then makes these conversions and runs field management again with their results.

use std::fmt;

use kubewright_apiextensions::custom::convert;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_registry::Resource;
use kubewright_webhook_client::Reach;
use parking_lot::Mutex;
use serde_json::Value;

/// Webhook conversions of one request.
#[derive(Default)]
pub struct Versions(Mutex<Known>);

#[derive(Default)]
struct Known {
    made: Vec<Made>,
    wanted: Vec<Wanted>,
    failed: Option<String>,
}

struct Made {
    api_version: String,
    from: Value,
    to: Value,
}

struct Wanted {
    from: Resource,
    to: Resource,
    object: Value,
    what_for: String,
}

impl Versions {
    /// Returns the object in another version if it is converted already; otherwise records the conversion.
    pub(super) fn find(
        &self,
        from: &Resource,
        to: &Resource,
        object: &Value,
        what_for: &str,
    ) -> Option<Value> {
        let mut known = self.0.lock();
        let api_version = to.api_version();
        let same = |made: &&Made| made.api_version == api_version && made.from == *object;
        if let Some(made) = known.made.iter().find(same) {
            return Some(made.to.clone());
        }
        known.wanted.push(Wanted {
            from: from.clone(),
            to: to.clone(),
            object: object.clone(),
            what_for: what_for.to_owned(),
        });
        None
    }

    /// Records the error for a version that does not exist, or for an invalid converted object. Keeps the first error.
    pub(super) fn fail(&self, what_for: &str, why: &str) {
        let failed = &mut self.0.lock().failed;
        failed.get_or_insert_with(|| format!("{what_for}{why}"));
    }

    /// Makes the recorded conversions. Returns false if there are none: the result of field management is final.
    ///
    /// # Errors
    /// A conversion failed, or its result is invalid.
    pub async fn complete(&self, reach: Reach<'_>) -> Result<bool> {
        let (mut wanted, failed) = {
            let mut known = self.0.lock();
            (std::mem::take(&mut known.wanted), known.failed.take())
        };
        if let Some(why) = failed {
            return Err(Status::plain(why));
        }
        // The real server converts the live object first; errors of that conversion have no prefix.
        wanted.sort_by_key(|wanted| !wanted.what_for.is_empty());
        let missing = !wanted.is_empty();
        for Wanted {
            from,
            to,
            object,
            what_for,
        } in wanted
        {
            let converted = convert::between(reach, &from, &to, object.clone()).await;
            let converted = converted.map_err(|why| why.with_message_before(&what_for))?;
            self.0.lock().made.push(Made {
                api_version: to.api_version(),
                from: object,
                to: converted,
            });
        }
        Ok(missing)
    }
}

impl fmt::Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versions").finish_non_exhaustive()
    }
}
