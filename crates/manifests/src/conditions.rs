//! The schema of conditions, as API servers know it of `metav1.Condition`.

use schemars::{Schema, SchemaGenerator, json_schema};

/// The schema of a list of conditions in Kubernetes' standard form, for the status of a kind.
///
/// The types of `k8s-openapi` have none. With this one the API server refuses conditions that other programs could not read,
/// and merges lists of them by `type`, so that several programs may apply conditions of their own.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
///
/// #[derive(schemars::JsonSchema)]
/// struct Status {
///     #[schemars(schema_with = "kubewright_manifests::conditions")]
///     conditions: Vec<Condition>,
/// }
/// let schema = schemars::schema_for!(Status);
/// let conditions = schema.pointer("/properties/conditions").unwrap();
/// assert_eq!(conditions["x-kubernetes-list-map-keys"][0], "type");
/// ```
pub fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "What it is about, such as Ready.",
                    "maxLength": 316,
                    "pattern": NAME,
                },
                "status": {
                    "type": "string",
                    "description": "Whether it holds.",
                    "enum": ["True", "False", "Unknown"],
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "description": "The generation of the object that it is about.",
                    "minimum": 0,
                },
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "Since when its status is what it is.",
                },
                "reason": {
                    "type": "string",
                    "description": "Why, in a word for programs.",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "type": "string",
                    "description": "Why, for people.",
                    "maxLength": 32768,
                },
            },
        },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

const NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
