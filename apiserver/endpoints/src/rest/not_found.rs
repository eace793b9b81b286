//! Answers to paths that lead to nothing.

use http::{Response, StatusCode};
use kubewright_apimachinery::status::{Result, Status};

use super::answer;
use super::shared::Shared;
use crate::body::Body;

/// What a path answers that leads to no resource: below a known group the API says so, elsewhere the router.
pub(crate) fn nowhere(shared: &Shared, group: Option<&str>) -> Result<Response<Body>> {
    if group.is_some_and(|group| is_installed(shared, group)) {
        return Err(Status::no_such_resource());
    }
    Ok(not_found())
}

/// Whether a group has a handler of its own: those of definitions are looked up for each request.
fn is_installed(shared: &Shared, group: &str) -> bool {
    let served = shared.served.now();
    let versions = served.group(group).map(|group| &group.versions);
    let mut resources = versions
        .into_iter()
        .flatten()
        .flat_map(|version| &version.resources);
    resources.any(|resource| resource.strategy.installs_routes())
}

/// The router's answer to a path that nothing serves.
pub(crate) fn not_found() -> Response<Body> {
    answer::text(StatusCode::NOT_FOUND, "404 page not found\n")
}
