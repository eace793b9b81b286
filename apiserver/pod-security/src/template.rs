//! Where the objects that make pods have their template.

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::pod::Pod;

const TEMPLATES: [(&str, &str, &[&str]); 8] = [
    ("", "replicationcontrollers", &["spec", "template"]),
    ("", "podtemplates", &["template"]),
    ("apps", "replicasets", &["spec", "template"]),
    ("apps", "deployments", &["spec", "template"]),
    ("apps", "statefulsets", &["spec", "template"]),
    ("apps", "daemonsets", &["spec", "template"]),
    ("batch", "jobs", &["spec", "template"]),
    (
        "batch",
        "cronjobs",
        &["spec", "jobTemplate", "spec", "template"],
    ),
];

/// Whether objects of a resource have a template.
pub fn has_template(group: &str, plural: &str) -> bool {
    place(group, plural).is_some()
}

/// The template of an object, if it has one.
pub fn template_of<'a>(group: &str, plural: &str, object: &'a Value) -> Option<Pod<'a>> {
    let place = place(group, plural)?;
    let template = place.iter().fold(object, |value, field| value.at(field));
    if template.is_null() {
        return None;
    }
    Some(Pod::new(template.at("metadata"), template.at("spec")))
}

fn place(group: &str, plural: &str) -> Option<&'static [&'static str]> {
    let mut all = TEMPLATES.iter();
    let found = all.find(|(known, of, _)| *known == group && *of == plural);
    found.map(|(.., place)| *place)
}
