//! Access checks: the variable `authorizer` and what expressions ask it.

use std::sync::Arc;

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::named_format::{is_dns1123_label, is_dns1123_subdomain};
use crate::value::authorization::{
    AccessCheck, Authority, Decision, GroupCheck, PathCheck, ResourceAttributes, ResourceCheck,
    ServiceAccount, Target,
};
use crate::value::{Object, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "path",
        "authorizer_path",
        "kubernetes.authorization.Authorizer.(string) -> kubernetes.authorization.PathCheck",
        path,
    ),
    guarded(
        "group",
        "authorizer_group",
        "kubernetes.authorization.Authorizer.(string) -> kubernetes.authorization.GroupCheck",
        group,
    ),
    guarded(
        "serviceAccount",
        "authorizer_serviceaccount",
        "kubernetes.authorization.Authorizer.(string, string) -> kubernetes.authorization.Authorizer",
        service_account,
    ),
    guarded(
        "resource",
        "groupcheck_resource",
        "kubernetes.authorization.GroupCheck.(string) -> kubernetes.authorization.ResourceCheck",
        resource,
    ),
    guarded(
        "subresource",
        "resourcecheck_subresource",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.subresource = text),
    ),
    guarded(
        "namespace",
        "resourcecheck_namespace",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.namespace = text),
    ),
    guarded(
        "name",
        "resourcecheck_name",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.name = text),
    ),
    guarded(
        "check",
        "pathcheck_check",
        "kubernetes.authorization.PathCheck.(string) -> kubernetes.authorization.Decision",
        check,
    ),
    guarded(
        "check",
        "resourcecheck_check",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.Decision",
        check,
    ),
    guarded(
        "errored",
        "decision_errored",
        "kubernetes.authorization.Decision.() -> bool",
        errored,
    ),
    guarded(
        "error",
        "decision_error",
        "kubernetes.authorization.Decision.() -> string",
        error,
    ),
    guarded(
        "allowed",
        "decision_allowed",
        "kubernetes.authorization.Decision.() -> bool",
        allowed,
    ),
    guarded(
        "reason",
        "decision_reason",
        "kubernetes.authorization.Decision.() -> string",
        reason,
    ),
];

/// What restricts a check to the objects that selectors choose.
pub(super) const SELECTORS: &[Declaration] = &[
    guarded(
        "fieldSelector",
        "authorizer_fieldselector",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.field_selector = text),
    ),
    guarded(
        "labelSelector",
        "authorizer_labelselector",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.label_selector = text),
    ),
];

impl<'a> Authority<'a> {
    /// The value of the variable `authorizer`.
    pub fn value(self) -> Value<'a> {
        Value::Object(Object::Authorizer(Arc::new(self)))
    }

    /// The value of the variable `authorizer.requestResource`: the check of the resource that the request is for.
    ///
    /// ```
    /// use kubewright_cel::{AccessCheck, Authority, Budget, Decision, Environment, Variables};
    /// use kubewright_cel::{ResourceAttributes, Target};
    ///
    /// let may_scale = |check: &AccessCheck<'_>| match check.target {
    ///     Target::Resource(resource) if resource.name == "web" => Decision::allow(check.verb),
    ///     _ => Decision::default(),
    /// };
    /// let web = ResourceAttributes {
    ///     group: "apps",
    ///     resource: "deployments",
    ///     namespace: "blue",
    ///     name: "web",
    ///     ..ResourceAttributes::default()
    /// };
    /// let resource = Authority::new(&may_scale).request_resource(&web);
    /// let variables = Variables::new().with("authorizer.requestResource", resource);
    ///
    /// let condition = "authorizer.requestResource.check('scale').reason()";
    /// let program = Environment::admission().compile(condition)?;
    /// let value = program.evaluate(&variables, &mut Budget::match_conditions())?;
    /// assert_eq!(value.as_str(), Some("scale"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn request_resource(&self, resource: &ResourceAttributes<'_>) -> Value<'a> {
        Value::Object(Object::ResourceCheck(Arc::new(ResourceCheck {
            authority: self.clone(),
            group: resource.group.to_owned(),
            resource: resource.resource.to_owned(),
            subresource: resource.subresource.to_owned(),
            namespace: resource.namespace.to_owned(),
            name: resource.name.to_owned(),
            field_selector: resource.field_selector.to_owned(),
            label_selector: resource.label_selector.to_owned(),
        })))
    }
}

fn authority<'v, 'a>(values: &'v [Value<'a>]) -> Result<&'v Authority<'a>, Failure> {
    match values.first() {
        Some(Value::Object(Object::Authorizer(authority))) => Ok(authority),
        _ => Err(Failure::no_such_overload()),
    }
}

fn text(values: &[Value<'_>], index: usize) -> Result<String, Failure> {
    let text = values.get(index).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(Failure::no_such_overload)
}

fn path<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (authority, path) = (authority(values)?.clone(), text(values, 1)?);
    if path.trim().is_empty() {
        return Err(Failure::new("path must not be empty"));
    }
    Ok(Value::Object(Object::PathCheck(Arc::new(PathCheck {
        authority,
        path,
    }))))
}

fn group<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (authority, group) = (authority(values)?.clone(), text(values, 1)?);
    Ok(Value::Object(Object::GroupCheck(Arc::new(GroupCheck {
        authority,
        group,
    }))))
}

fn service_account<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let authority = authority(values)?;
    let (namespace, name) = (text(values, 1)?, text(values, 2)?);
    if !is_dns1123_subdomain(&name) {
        return Err(Failure::new("Invalid service account name"));
    }
    if !is_dns1123_label(&namespace) {
        return Err(Failure::new("Invalid service account namespace"));
    }
    let account = Authority {
        authorizer: authority.authorizer,
        service_account: Some(Arc::new(ServiceAccount { namespace, name })),
    };
    Ok(account.value())
}

fn resource<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let Some(Value::Object(Object::GroupCheck(check))) = values.first() else {
        return Err(Failure::no_such_overload());
    };
    let resource = text(values, 1)?;
    if resource.trim().is_empty() {
        return Err(Failure::new("resource must not be empty"));
    }
    Ok(check.authority.request_resource(&ResourceAttributes {
        group: &check.group,
        resource: &resource,
        ..ResourceAttributes::default()
    }))
}

fn with<'a>(values: &[Value<'a>], set: fn(&mut ResourceCheck<'a>, String)) -> Evaluated<'a> {
    let Some(Value::Object(Object::ResourceCheck(check))) = values.first() else {
        return Err(Failure::no_such_overload());
    };
    let mut changed = (**check).clone();
    set(&mut changed, text(values, 1)?);
    Ok(Value::Object(Object::ResourceCheck(Arc::new(changed))))
}

fn check<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let verb = text(values, 1)?;
    let (authority, target) = match values.first() {
        Some(Value::Object(Object::PathCheck(check))) => {
            (&check.authority, Target::Path(&check.path))
        }
        Some(Value::Object(Object::ResourceCheck(check))) => (
            &check.authority,
            Target::Resource(ResourceAttributes {
                group: &check.group,
                resource: &check.resource,
                subresource: &check.subresource,
                namespace: &check.namespace,
                name: &check.name,
                field_selector: &check.field_selector,
                label_selector: &check.label_selector,
            }),
        ),
        _ => return Err(Failure::no_such_overload()),
    };
    let decision = authority.authorizer.authorize(&AccessCheck {
        user: authority.user(),
        verb: &verb,
        target,
    });
    Ok(Value::Object(Object::Decision(Arc::new(decision))))
}

fn decision<'v>(values: &'v [Value<'_>]) -> Result<&'v Decision, Failure> {
    match values {
        [Value::Object(Object::Decision(decision))] => Ok(decision),
        _ => Err(Failure::no_such_overload()),
    }
}

fn errored<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(!decision(values)?.error.is_empty()))
}

fn error<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::text(decision(values)?.error.as_str()))
}

fn allowed<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(decision(values)?.allowed))
}

fn reason<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::text(decision(values)?.reason.as_str()))
}
