//! One version of a custom resource: how an object of it is read into the hub, and written from it.

use std::fmt;

use kubewright_review::read_object;
use serde_json::Value;

use super::definition::{Cause, Convertible, Sort, Versioned};

/// A version whose type is no longer visible.
pub(super) struct Version<Hub> {
    sort: Sort,
    read: Box<Read<Hub>>,
    write: Box<Write<Hub>>,
}

/// Reads an object, and says besides what of it the type knows.
type Read<Hub> = dyn Fn(&str) -> Result<(Hub, Value), Cause> + Send + Sync;

type Write<Hub> = dyn Fn(Hub) -> Result<Value, Cause> + Send + Sync;

impl<Hub: Convertible> Version<Hub> {
    pub(super) fn hub() -> Self {
        Self {
            sort: Sort::of::<Hub>(),
            read: Box::new(read::<Hub>),
            write: Box::new(|hub| Ok(serde_json::to_value(hub)?)),
        }
    }

    pub(super) fn spoke<Spoke, ToError, FromError>(
        to_hub: impl Fn(Spoke) -> Result<Hub, ToError> + Send + Sync + 'static,
        from_hub: impl Fn(Hub) -> Result<Spoke, FromError> + Send + Sync + 'static,
    ) -> Self
    where
        Spoke: Convertible,
        ToError: Into<Cause>,
        FromError: Into<Cause>,
    {
        Self {
            sort: Sort::of::<Spoke>(),
            read: Box::new(move |text| {
                let (spoke, known) = read::<Spoke>(text)?;
                let hub = to_hub(spoke).map_err(Into::into)?;
                Ok((hub, known))
            }),
            write: Box::new(move |hub| {
                let spoke = from_hub(hub).map_err(Into::into)?;
                Ok(serde_json::to_value(spoke)?)
            }),
        }
    }
}

fn read<K: Convertible>(text: &str) -> Result<(K, Value), Cause> {
    let object: K = read_object(text)?;
    let known = serde_json::to_value(&object)?;
    Ok((object, known))
}

impl<Hub> fmt::Debug for Version<Hub> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sort.fmt(f)
    }
}

/// All versions of one custom resource.
pub(super) struct Versions<Hub>(pub(super) Vec<Version<Hub>>);

impl<Hub> Versions<Hub> {
    fn find(&self, api_version: &str) -> Option<&Version<Hub>> {
        let mut versions = self.0.iter();
        versions.find(|version| version.sort.api_version == api_version)
    }
}

impl<Hub: Convertible> Versioned for Versions<Hub> {
    fn sorts(&self) -> Vec<&Sort> {
        self.0.iter().map(|version| &version.sort).collect()
    }

    fn convert(&self, text: &str, from: &str, to: &str) -> Option<Result<(Value, Value), Cause>> {
        let (from, to) = (self.find(from)?, self.find(to)?);
        let converted = (from.read)(text).and_then(|(hub, known)| Ok(((to.write)(hub)?, known)));
        Some(converted)
    }
}
