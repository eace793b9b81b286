//! Which versions have one shape.

/// Returns whether objects have the same fields in two versions: v1alpha3 and v1beta1 ask for devices in another form than
/// the versions after them.
pub(super) fn has_same_shape(from: (&str, &str), to: (&str, &str)) -> bool {
    let is_older = |version: &str| matches!(version, "v1alpha3" | "v1beta1");
    from.0 == to.0 && is_older(from.1) == is_older(to.1)
}
