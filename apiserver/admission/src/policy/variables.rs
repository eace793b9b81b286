//! The variables of a policy, which its expressions share.

use kubewright_apimachinery::view::View as _;
use kubewright_cel::Composition;
use serde_json::Value;

/// Declares the variables of a policy's spec.
pub(super) fn composition(spec: &Value) -> Composition {
    let mut composition = Composition::new(spec.has("paramKind"));
    for variable in spec.list("variables") {
        // One that does not compile fails the expressions that use it.
        let _ = composition.declare(variable.text("name"), variable.text("expression"));
    }
    composition
}
