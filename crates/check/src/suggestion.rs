//! The field that was probably meant.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::types::{self, TypeRef};

/// How alike two names are at least, from 0 to 1, so that one is offered for the other.
const ALIKE: f64 = 0.8;

/// The name of a field of a built-in kind that is most like the last one of `path`, which the kind does not have.
pub(crate) fn field(api_version: &str, kind: &str, path: &str) -> Option<&'static str> {
    let kind = GroupVersionKind::from_api_version_and_kind(api_version, kind);
    let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut of: TypeRef = types::root(&kind)?;
    for parent in parents.split('.').filter(|parent| !parent.is_empty()) {
        let parent = parent.split('[').next().unwrap_or_default();
        of = of.field(parent)?.slot().object()?;
    }
    let alike = |field: &str| strsim::jaro_winkler(&field.to_lowercase(), &name.to_lowercase());
    let candidates = of.fields().map(|field| (alike(field.name()), field.name()));
    let likely = candidates.filter(|(alike, _)| *alike >= ALIKE);
    let best = likely.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_found() {
        for (path, meant) in [
            ("spec.replcas", Some("replicas")),
            (
                "spec.template.spec.containers[0].imagePullpolicy",
                Some("imagePullPolicy"),
            ),
            ("spec.template.spec.container", Some("containers")),
            ("metadata.lables", Some("labels")),
            ("spec.wholly.unknown", None),
            ("spec.xyz", None),
        ] {
            assert_eq!(field("apps/v1", "Deployment", path), meant, "{path}");
        }
        assert_eq!(field("example.com/v1", "Widget", "spec.replcas"), None);
    }
}
