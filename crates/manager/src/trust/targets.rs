//! Everything that leads API servers to a program.

use std::collections::BTreeSet;

use kubewright_webhook::Role;

use super::target::{Sort, Target};
use crate::App;

/// The objects in whose `caBundle` the authorities of a program have to be.
pub(crate) fn targets(app: &App) -> Vec<Target> {
    let declarations = app.hooks().declarations();
    let mut targets = Vec::new();
    for (sort, role) in [
        (Sort::Mutating, Role::Mutating),
        (Sort::Validating, Role::Validating),
    ] {
        let hooks = declarations.iter().filter(|hook| hook.role == role);
        let hooks: BTreeSet<String> = hooks.map(|hook| hook.name.clone()).collect();
        if !hooks.is_empty() {
            targets.push(Target::configuration(sort, app.configuration_name(), hooks));
        }
    }
    for definition in app.converted_definitions() {
        if let Some(name) = definition["metadata"]["name"].as_str() {
            targets.push(Target::named(Sort::Definition, name));
        }
    }
    let services = app.api_services().iter();
    targets.extend(services.map(|name| Target::named(Sort::ApiService, name)));
    targets
}
