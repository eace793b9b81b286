#![doc = include_str!("../README.md")]
//!
//! # As a policy and as a webhook
//!
//! [`Webhooks::with`](kubewright_webhook::Webhooks::with) takes a policy as it takes a hook. API servers evaluate it, and the program
//! needs no certificate for it, unless
//! [`Webhooks::for_kubernetes`](kubewright_webhook::Webhooks::for_kubernetes) names a version without its kind:
//! ValidatingAdmissionPolicy is `v1` since Kubernetes 1.30, MutatingAdmissionPolicy since 1.36. The policy is a webhook of the program
//! then. Both decide alike, but for this:
//!
//! | | as a policy | as a webhook |
//! |---|---|---|
//! | message of a denial | `ValidatingAdmissionPolicy 'images.example.com' with binding 'images.example.com' denied request: name a version` | `admission webhook "images.example.com" denied the request: name a version` |
//! | warning of [`Policy::warn`] | `Validation failed for ValidatingAdmissionPolicy 'images.example.com' with binding 'images.example.com': name a version` | `name a version` |
//! | audit annotation of [`Policy::audit`] | `validation.policy.admission.k8s.io/validation_failure` | `images.example.com/validation_failure` |
//! | `authorizer` | the access of the user who makes the request | not available: [`Webhooks::check`](kubewright_webhook::Webhooks::check) fails |
//! | `params` | read by the API server | read from the cache of [`Policy::params_from`], which is a permission of the program |
//! | `namespaceObject` | read by the API server | read from the cache of [`Policy::namespaces_from`], likewise |
//! | defaults between two mutations of one policy | set | set after the last one |
//! | [`Policy::apply`] to a list of a custom resource | merged as its schema says | replaced, unless [`Policy::merge_list`] names its keys |
//! | order of several denials | the first policy in the order of names answers | the first webhook that answers |
//!
//! An expression that cannot be evaluated is subject to the failure policy in both, and its error is the message.

mod answer;
mod check;
mod compiled;
mod expression;
mod form;
mod handler;
mod literal;
mod marker;
mod merge;
mod mutation;
mod namespaces;
mod params;
mod parts;
mod policy;
mod ready;
mod request;
mod schema;
mod tally;
mod validation;

pub use answer::{Answer, Failed, Refused};
pub use check::{Mistake, Typed};
pub use marker::{Mutates, Validates};
pub use params::{NotFound, ParamRef};
pub use parts::Reason;
pub use policy::Policy;
pub use request::Request;
pub use schema::Schema;
pub use tally::{RuleTally, Tally};

/// The functions that a [`Request`] can answer access checks with.
pub use kubewright_cel::{AccessCheck, Decision};
