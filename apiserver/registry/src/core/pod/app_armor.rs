//! AppArmor profiles of pods, which old clients say in annotations and new ones in fields.

use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Copies what a new pod says in annotations into the fields of its containers; answers a warning for each.
pub(super) fn sync(pod: &mut Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let annotations = pod.at("metadata").entries("annotations");
    let profiles: Vec<(String, String)> = annotations
        .filter_map(|(key, value)| Some((key.strip_prefix(ANNOTATION)?, value.as_str()?)))
        .map(|(name, profile)| (name.to_owned(), profile.to_owned()))
        .collect();
    if profiles.is_empty() || pod.at("spec").at("os").text("name") == "windows" {
        return warnings;
    }
    let Some(spec) = pod.existing("spec") else {
        return warnings;
    };
    let whole = spec.at("securityContext").at("appArmorProfile").clone();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.each(list) {
            let name = container.text("name").to_owned();
            let said = profiles.iter().find(|(container, _)| *container == name);
            let Some((_, profile)) = said else {
                continue;
            };
            if container.at("securityContext").has("appArmorProfile") {
                continue;
            }
            let field = field_of(profile);
            if field.as_ref() == Some(&whole) {
                continue;
            }
            if let (Some(field), Some(context)) = (field, container.part("securityContext")) {
                context.put("appArmorProfile", field);
            }
            let key = format!("{ANNOTATION}{name}");
            let path = Path::new("metadata.annotations");
            let at = path.key(&key);
            warnings.push(format!(
                "{at}: deprecated since v1.30; use the \"appArmorProfile\" field instead"
            ));
        }
    }
    warnings
}

/// The field that says what an annotation says; none for what is no profile.
fn field_of(profile: &str) -> Option<Value> {
    Some(match profile {
        "unconfined" => json!({"type": "Unconfined"}),
        "runtime/default" => json!({"type": "RuntimeDefault"}),
        _ => {
            let local = profile.strip_prefix("localhost/")?;
            if local.is_empty() || local.trim() != local || local.len() > 4095 {
                return None;
            }
            json!({"type": "Localhost", "localhostProfile": local})
        }
    })
}
