//! The reviews: questions about users and rights that clients ask by creating an object (spec section C.10).

mod selectors;

use http::{Response, StatusCode};
use kubewright_admission::Operation;
use kubewright_apimachinery::conform::Medium;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::selectors::Fields;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::time::now;
use kubewright_apimachinery::user::User;
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_auth::{
    About, Decision, Question,
    rbac::{RoleReference, Rule, aggregate, not_found},
};
use serde_json::{Value, json};

use crate::body::Body;
use crate::rest::call::Call;
use crate::rest::decode::{self, Decoded};
use crate::rest::metadata::{Stage, clear_owned, dedup_owners, settle_namespace};
use crate::rest::negotiate::{Form, MediaRange, Output, accepted};
use crate::rest::query::WriteOptions;
use crate::rest::{answer, tracking};

/// Answers a review.
pub(crate) async fn create(call: &Call) -> Result<Response<Body>> {
    // Reviews have no columns.
    let plain = |range: &MediaRange<'_>| range.parameter("as").is_none();
    if matches!(call.output.form, Form::Table(_)) && !accepted(&call.headers).iter().any(plain) {
        return Err(Output::not_acceptable());
    }
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let Decoded {
        object: mut review,
        empties,
        ..
    } = decode::body(call, &call.kind(), &options)?;
    call.resource.default(&mut review);
    call.audit(&call.kind(), &review);
    clear_owned(&mut review);
    settle_namespace(call, &mut review)?;
    dedup_owners(&mut review, Stage::Received, &call.notes);
    let mut attributes = call.attributes(Operation::Create, options.to_value("CreateOptions"));
    attributes.dry_run = options.dry_run;
    attributes.object = review;
    attributes.empties = empties;
    tracking::mutate(call, &options, &mut attributes).await?;
    call.validate(&attributes).await?;
    attributes.write_empties(Medium::Json);
    let mut review = attributes.object;
    let status = match call.resource.plural.as_str() {
        "selfsubjectreviews" => {
            review["metadata"] = json!({ "creationTimestamp": now() });
            json!({"userInfo": call.user.user_info()})
        }
        "tokenreviews" => token(call, &review)?,
        "selfsubjectrulesreviews" => {
            let rules = rules(call, &review["spec"])?;
            // The answer does not repeat the question (measured on v1.36).
            review["metadata"] = json!({});
            review["spec"] = json!({});
            rules
        }
        "selfsubjectaccessreviews" => access(call, &review, Some(&call.user))?,
        _ => access(call, &review, None)?,
    };
    review["status"] = status;
    let output = call.output.of_the_object();
    Ok(answer::value(StatusCode::CREATED, &output, &review))
}

fn token(call: &Call, review: &Value) -> Result<Value> {
    let spec = &review["spec"];
    let token = spec["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let asked = spec["audiences"].as_array().into_iter().flatten();
    let mut wanted: Vec<&str> = asked.filter_map(Value::as_str).collect();
    if wanted.is_empty() {
        wanted = call.shared.access.service_accounts.own_audiences();
    }
    // What is not answered stays as it was sent.
    let mut status = match &review["status"] {
        Value::Object(_) => review["status"].clone(),
        _ => json!({}),
    };
    status.drop_field("authenticated");
    match call.shared.access.by_token(token, &wanted) {
        Ok(known) => {
            status["authenticated"] = true.into();
            status["user"] = known.user.user_info();
            status["audiences"] = json!(known.audiences);
        }
        Err(why) => {
            status.fill("user", json!({}));
            status["error"] = why.into();
        }
    }
    Ok(status)
}

/// What the user may do in a namespace.
fn rules(call: &Call, spec: &Value) -> Result<Value> {
    let namespace = spec["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let found = call.shared.access.authorizer.rules(&call.user, namespace);
    let resources = found.told.iter().filter_map(Rule::for_resources);
    let paths = found.told.iter().filter_map(Rule::for_paths);
    let mut status = json!({
        "resourceRules": resources.collect::<Vec<_>>(),
        "nonResourceRules": paths.collect::<Vec<_>>(),
        "incomplete": found.untold.is_some(),
    });
    let mut problems: Vec<String> = found.untold.map(str::to_owned).into_iter().collect();
    problems.extend(not_found(&found.missing, RoleReference::singular));
    if let Some(why) = aggregate(&problems) {
        status["evaluationError"] = why.into();
    }
    Ok(status)
}

/// 422 that does not say of which kind the review is (measured on v1.36).
fn refused(call: &Call, errors: &[FieldError]) -> Status {
    Status::invalid(&call.resource.group, "", "", errors)
}

/// The attributes of a path as Go writes its internal struct.
fn shown(attributes: &Value) -> String {
    let text = |name: &str| quoted(attributes[name].as_str().unwrap_or_default());
    format!(r#"{{"Path":{},"Verb":{}}}"#, text("path"), text("verb"))
}

/// A question has no metadata; a local one says its namespace, and is about nothing else.
fn check_metadata(call: &Call, review: &Value, errors: &mut Vec<FieldError>) {
    let namespaced = call.resource.namespaced;
    let says_more = review["metadata"].as_object().is_some_and(|metadata| {
        metadata.keys().any(|name| match name.as_str() {
            "namespace" => !namespaced,
            "creationTimestamp" | "managedFields" => false,
            _ => true,
        })
    });
    if says_more {
        let detail = if namespaced {
            "must be empty except for namespace"
        } else {
            "must be empty"
        };
        let value = kubewright_validation::internal::shown("m.ObjectMeta", &review["metadata"]);
        let path = Path::new("metadata");
        errors.push(FieldError::invalid_shown(&path, &value, detail));
    }
    let (resource, path) = (
        &review["spec"]["resourceAttributes"],
        &review["spec"]["nonResourceAttributes"],
    );
    let namespace = resource["namespace"].as_str().unwrap_or_default();
    if namespaced && resource.is_object() && namespace != call.path.namespace {
        let field = Path::new("spec.resourceAttributes.namespace");
        let detail = "must match metadata.namespace";
        errors.push(FieldError::invalid(&field, namespace, detail));
    }
    if namespaced && path.is_object() {
        let field = Path::new("spec.nonResourceAttributes");
        let detail = "disallowed on this kind of request";
        errors.push(FieldError::invalid_shown(&field, &shown(path), detail));
    }
}

fn access(call: &Call, review: &Value, asker: Option<&User>) -> Result<Value> {
    let spec = &review["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    if resource.is_object() == path.is_object() {
        let shown = if path.is_object() {
            &shown(path)
        } else {
            "null"
        };
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid_shown(&Path::new("spec"), shown, detail));
    }
    let named;
    let user = if let Some(user) = asker {
        user
    } else {
        named = subject(spec);
        if named.username.is_empty() && named.groups.is_empty() {
            let detail = "at least one of user or group must be specified";
            errors.push(FieldError::invalid(&Path::new("spec.user"), "", detail));
        }
        &named
    };
    selectors::check(resource, &mut errors);
    check_metadata(call, review, &mut errors);
    if !errors.is_empty() {
        return Err(refused(call, &errors));
    }
    let fields;
    let (verb, about) = if resource.is_object() {
        fields = narrowed(resource.at("fieldSelector"));
        let about = About::Resource {
            group: resource.text("group"),
            resource: resource.text("resource"),
            subresource: resource.text("subresource"),
            namespace: resource.text("namespace"),
            name: resource.text("name"),
            fields: fields.as_ref(),
        };
        (resource.text("verb"), about)
    } else {
        (path.text("verb"), About::Path(path.text("path")))
    };
    let question = Question { user, verb, about };
    let (allowed, why) = match call.shared.access.authorizer.decide(&question) {
        Decision::Allow(why) => (true, why),
        Decision::NoOpinion(why) => (false, why),
    };
    let mut status = json!({"allowed": allowed});
    if !why.is_empty() {
        status["reason"] = why.into();
    }
    if let Some(why) = selectors::ignored(resource) {
        status["evaluationError"] = why.into();
    }
    Ok(status)
}

/// What a question about many objects is narrowed to; of the operators only equality says anything to an authorizer.
fn narrowed(selector: &Value) -> Option<Fields> {
    let raw = selector.text("rawSelector");
    if !raw.is_empty() {
        return Fields::parse(raw).ok();
    }
    let equal = |requirement: &Value| match requirement.list("values") {
        [value] if requirement.text("operator") == "In" => Some((
            requirement.text("key").to_owned(),
            value.as_str()?.to_owned(),
        )),
        _ => None,
    };
    let requirements = selector.list("requirements").iter();
    Some(Fields::equal(requirements.filter_map(equal)))
}

fn subject(spec: &Value) -> User {
    let strings = |value: &Value| -> Vec<String> {
        let list = value.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    User {
        username: spec["user"].as_str().unwrap_or_default().to_owned(),
        uid: spec["uid"].as_str().unwrap_or_default().to_owned(),
        groups: strings(&spec["groups"]),
        extra: spec["extra"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, values)| (key.clone(), strings(values)))
            .collect(),
    }
}
