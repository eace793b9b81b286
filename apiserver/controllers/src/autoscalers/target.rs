//! The target of an autoscaler: the scale of any object that has one.

use serde_json::Value;

use crate::client::{Api, Failure, Who};
use crate::object::{number, text};
use crate::work::Context;

/// The scale of a target, and where it is.
#[derive(Debug)]
pub(super) struct Target {
    path: String,
    scale: Value,
}

pub(super) const NAME: &str = "horizontal-pod-autoscaler";
const WHO: Who<'static> = Who::Controller(NAME);

impl Target {
    /// Reads the scale of the object that an autoscaler is for, in the preferred version of its group.
    pub(super) async fn read(cx: &Context, autoscaler: &Value) -> Result<Self, Failure> {
        let reference = &autoscaler["spec"]["scaleTargetRef"];
        let [api_version, kind, name] =
            ["/apiVersion", "/kind", "/name"].map(|at| text(reference, at));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let api = {
            let registry = cx.served.now();
            let group = registry.group(group);
            let mut versions = group.into_iter().flat_map(|group| &group.versions);
            versions.find_map(|version| {
                let mut resources = version.resources.iter();
                let found = resources.find(|resource| resource.kind == kind)?;
                Some(Api::of(found))
            })
        };
        let api = api.ok_or_else(|| {
            Failure::own(format!("no matches for kind {kind:?} in group {group:?}"))
        })?;
        let namespace = text(autoscaler, "/metadata/namespace");
        let path = format!("{}/scale", api.path(namespace, name));
        let scale = cx.client.get(WHO, &path).await?;
        Ok(Self { path, scale })
    }

    /// The replicas that the target asks for.
    pub(super) fn wanted(&self) -> i32 {
        self.replicas("/spec/replicas")
    }

    /// The replicas that the target has.
    pub(super) fn existing(&self) -> i32 {
        self.replicas("/status/replicas")
    }

    pub(super) fn selector(&self) -> &str {
        text(&self.scale, "/status/selector")
    }

    /// Writes the replicas; again if the target has changed meanwhile.
    pub(super) async fn scale(&mut self, cx: &Context, replicas: i32) -> Result<(), Failure> {
        /// The steps of client-go's `retry.DefaultRetry`.
        const TRIES: usize = 5;
        let mut tries = 1;
        loop {
            self.scale["spec"]["replicas"] = replicas.into();
            match cx.client.put(WHO, &self.path, &self.scale).await {
                Err(failure) if failure.is_conflict() && tries < TRIES => {
                    self.scale = cx.client.get(WHO, &self.path).await?;
                    tries += 1;
                }
                answer => return answer.map(drop),
            }
        }
    }

    fn replicas(&self, pointer: &str) -> i32 {
        i32::try_from(number(&self.scale, pointer)).unwrap_or(i32::MAX)
    }
}
