//! A pod, or the template of one, as the checks see it.

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

/// A pod or a template.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    pub(crate) annotations: &'a Value,
    pub(crate) spec: &'a Value,
}

impl<'a> Pod<'a> {
    /// The pod with this metadata and specification.
    pub fn new(metadata: &'a Value, spec: &'a Value) -> Self {
        Self {
            annotations: metadata.at("annotations"),
            spec,
        }
    }

    /// The specification.
    pub fn spec(&self) -> &'a Value {
        self.spec
    }

    /// All containers, in the order in which checks list them.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &'a Value> {
        let spec = self.spec;
        let init = spec.list("initContainers").iter();
        init.chain(spec.list("containers"))
            .chain(spec.list("ephemeralContainers"))
    }

    /// The names of the containers that a check finds fault with.
    pub(crate) fn names_of(&self, mut is_bad: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        self.containers()
            .filter(|container| is_bad(container))
            .map(|container| container.text("name"))
            .collect()
    }

    /// The security context of the pod as a whole.
    pub(crate) fn context(&self) -> &'a Value {
        self.spec.at("securityContext")
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.spec.at("os").text("name") == "windows"
    }

    /// Whether root inside of the pod is another user outside.
    pub(crate) fn is_in_user_namespace(&self) -> bool {
        self.spec.at("hostUsers") == false
    }
}

/// Whether an update of a pod is checked: it adds a container or changes an image.
pub fn is_significant_update(new: &Value, old: &Value) -> bool {
    let (new, old) = (new.at("spec"), old.at("spec"));
    let image_changed = |new: &Value, old: &Value| new.text("image") != old.text("image");
    let list_changed = |list: &str| {
        let (new, old) = (new.list(list), old.list(list));
        let mut both = new.iter().zip(old);
        new.len() != old.len() || both.any(|(new, old)| image_changed(new, old))
    };
    let added = |container: &Value| {
        let mut known = old.list("ephemeralContainers").iter();
        let known = known.find(|known| known.text("name") == container.text("name"));
        known.is_none_or(|known| image_changed(container, known))
    };
    list_changed("containers")
        || list_changed("initContainers")
        || new.list("ephemeralContainers").iter().any(added)
}
