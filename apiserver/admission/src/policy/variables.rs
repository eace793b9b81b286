//! The variables of a policy, which its expressions share.

use kubewright_apimachinery::view::View as _;
use kubewright_cel::Composition;
use serde_json::Value;

/// Declares the variables of a policy's spec. With `coverage`, the values of conditions are seen.
pub(super) fn composition(spec: &Value, coverage: bool) -> Composition {
    let mut composition = Composition::new(spec.has("paramKind"));
    if coverage {
        composition =
            Composition::in_environment(composition.environment().clone().with_coverage());
    }
    for variable in spec.list("variables") {
        // One that does not compile fails the expressions that use it.
        let _ = composition.declare(variable.text("name"), variable.text("expression"));
    }
    composition
}
