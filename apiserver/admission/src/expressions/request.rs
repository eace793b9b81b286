//! The variables that expressions have of a request.

use std::sync::Arc;

use kubewright_cel::{Authority, ResourceAttributes, Variables};
use serde_json::Value;

use crate::attributes::Attributes;
use crate::head::Head;
use crate::kinds::is_built_in;
use crate::matching::Matched;

/// A request as expressions see it, its objects in the version that was matched.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    attributes: &'a Attributes,
    object: &'a Value,
    old: &'a Value,
    /// Whether the API server holds the objects in Go types, and not as the JSON that custom objects are.
    has_native_objects: bool,
    head: Value,
    /// What match conditions see instead, if it is not the same: the matched kind, but the resource of the request.
    head_of_conditions: Option<Value>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(
        attributes: &'a Attributes,
        matched: &Matched,
        object: &'a Value,
        old: &'a Value,
    ) -> Self {
        let own = &attributes.resource;
        let of_conditions = || {
            let matched = Matched {
                resource: Arc::clone(own),
                kind: matched.kind.clone(),
            };
            head(attributes, &matched)
        };
        Self {
            attributes,
            object,
            old,
            has_native_objects: is_built_in(&matched.kind),
            head: head(attributes, matched),
            head_of_conditions: (!Arc::ptr_eq(own, &matched.resource)).then(of_conditions),
        }
    }

    /// The request with its objects as JSON, whatever their kind: what mutations of policies without match conditions get.
    pub(crate) fn with_json_objects(self) -> Self {
        Self {
            has_native_objects: false,
            ..self
        }
    }

    /// The object and the old object.
    pub(crate) fn objects(&self) -> [&Value; 2] {
        [self.object, self.old]
    }

    /// The `request` that policies see.
    pub(crate) fn head(&self) -> &Value {
        &self.head
    }

    /// The variables of match conditions, which see nothing of the namespace.
    pub(crate) fn variables_of_conditions<'v>(
        &'v self,
        authority: &Authority<'v>,
    ) -> Variables<'v> {
        let variables = self.variables(&Value::Null, Some(authority));
        match &self.head_of_conditions {
            Some(head) => variables.with_native("request", head),
            None => variables,
        }
    }

    /// The variables, without those of a policy: `params` and `variables`. Expressions for messages have no authorizer.
    pub(crate) fn variables<'v>(
        &'v self,
        namespace: &'v Value,
        authority: Option<&Authority<'v>>,
    ) -> Variables<'v> {
        let variables = if self.has_native_objects {
            Variables::new()
                .with_native("object", self.object)
                .with_native("oldObject", self.old)
        } else {
            Variables::new()
                .with_json("object", self.object)
                .with_json("oldObject", self.old)
        };
        let variables = variables
            .with_native("request", &self.head)
            .with_native("namespaceObject", namespace);
        let Some(authority) = authority else {
            return variables;
        };
        let attributes = self.attributes;
        let checked = authority.request_resource(&ResourceAttributes {
            group: &attributes.resource.group,
            resource: &attributes.resource.plural,
            subresource: &attributes.subresource,
            namespace: &attributes.namespace,
            name: &attributes.name,
            ..ResourceAttributes::default()
        });
        variables
            .with("authorizer", authority.clone().value())
            .with("authorizer.requestResource", checked)
    }
}

/// The `request` of the review, with an empty uid and without objects, which are variables.
fn head(attributes: &Attributes, matched: &Matched) -> Value {
    let request = Head::of("", attributes, matched);
    let mut request = serde_json::to_value(request).expect("text keys");
    if let Value::Object(members) = &mut request {
        members.insert("object".to_owned(), Value::Null);
        members.insert("oldObject".to_owned(), Value::Null);
        members.insert("dryRun".to_owned(), attributes.dry_run.into());
        members.insert("options".to_owned(), attributes.options.clone());
    }
    request
}
