#![doc = include_str!("../README.md")]
//!
//! A handler is an async function from a [`Change`] and a [`Review`] to a verdict. [`Webhooks`] holds any number of them, is a
//! `tower::Service`, and knows the rules of the webhook configurations.
//!
//! # Three outcomes
//!
//! A handler **allows**, **denies** or **fails**. Only [`deny`], [`OrDeny::or_deny`] and [`Denial`] deny. Every other error that
//! crosses `?`, a panic, and a handler that does not answer before its deadline are failures: the webhook answers that it
//! failed, `failurePolicy` decides what that means, and the cause goes to the log alone. An `anyhow::Error` is not an
//! `Error`; `map_err(Reject::failed)?` makes a failure of it.
//!
//! # What a mutation answers
//!
//! A mutator returns the object that it wants. What changed between the typed object before and after becomes a JSON Patch
//! that applies to the object as the API server sent it, so fields that the type does not know survive. An unchanged object
//! gives no patch. Elements of lists are known by the keys that Kubernetes gives them (`containers` by `name`, `ports` by
//! `containerPort` and `protocol`, `volumeMounts` by `mountPath`, ...), otherwise by `name`, otherwise by being equal. Elements
//! without a key that are changed in the same call in which others are added or removed cannot be told apart: what the type
//! does not know of those is lost. `metadata.managedFields` is hidden from handlers and stays as it is.
//!
//! The type decides how much is read: a full type, a type of your own with the few fields that you need, a `PartialObjectMeta`
//! (only `apiVersion`, `kind` and `metadata` are read then), or a `DynamicObject`.
//!
//! # Conversion
//!
//! [`converting`] makes a conversion of types that are versions of one custom resource; [`Webhooks::with`] takes it as it takes
//! a hook. All objects of a call are converted, several at a time, or none is: the first that cannot be is named in the answer,
//! which the API server shows to the client that requested the objects.
//!
//! # Time
//!
//! The API server says in `?timeout=` how long it waits. A handler is stopped a tenth of that, at most 250 ms, before
//! ([`Review::deadline`]). Handlers that block their thread do not starve others: the first calls of every hook run on threads
//! of their own, quick ones earn a place beside the server's own work, and a call that holds its thread for more than 2 ms loses
//! it. At most 64 calls of one hook hold threads.
//!
//! # Bad input
//!
//! Each has one answer, which is a `Status` with a sentence. The API server takes every one of them for a failed call and shows
//! the sentence to the user if `failurePolicy` is `Fail`.
//!
//! | input | code | sentence |
//! |---|---|---|
//! | unknown path | 404 | `there is no webhook at /x, only at /a, /b` |
//! | another method than POST | 405 | `a webhook is called with POST, and this call was GET` |
//! | another content type than `application/json` | 415 | `a review has the content type application/json, and this call had text/plain` |
//! | a content encoding | 415 | `a review is sent as plain JSON, and this call had a content encoding` |
//! | a body beyond [`Webhooks::body_limit`] | 413 | `the body is larger than the limit of 7340032 bytes` |
//! | a body that does not arrive | 408 | `the body did not arrive before the deadline` |
//! | a body that breaks off with its connection | 400 | `the body broke off` |
//! | no body | 400 | `the body is empty` |
//! | not UTF-8 | 400 | `the body is not UTF-8 from byte 6 on` |
//! | not JSON, cut short, nested more than 9984 levels deep, or a field of another type | 400 | `the body is not the JSON of an AdmissionReview: the text ends inside a string at byte 200` |
//! | another kind, group or version | 400 | ``the body is kind `Pod` of `v1`, not an AdmissionReview of `admission.k8s.io/v1` or `admission.k8s.io/v1beta1` `` |
//! | no request | 400 | `the AdmissionReview has no request` |
//! | no uid | 400 | `the request of the AdmissionReview has no uid` |
//! | no operation, or an unknown one | 400 | `the operation of the AdmissionReview's request is none of CREATE, UPDATE, DELETE and CONNECT` |
//! | `userInfo` of another type, if a handler looks at it | 400 | `the userInfo of the AdmissionReview's request ... is not what the protocol says` |
//! | an object of another kind, null, nested more than 128 levels deep in what is read, or otherwise not of the handler's type | 422, or as [`Hook::when_undecodable`] says | `cannot read object.spec.replicas: expected i32, found string (request ...)` |
//! | the handler fails | 500 | `the webhook failed on request ...; its log says why` |
//! | the handler panics | 500 | `the webhook panicked on request ...; its log says why` |
//! | the handler does not answer | 504 | `the webhook did not answer request ... before its deadline and was stopped` |
//! | a ConversionReview without a `desiredAPIVersion` | 400 | `the request of the ConversionReview has no desiredAPIVersion` |
//! | an object that cannot be converted | 200 | `cannot convert Widget blue/a from example.com/v2 to example.com/v1: ...`, as the message of a `Failure` |
//! | a conversion that panics | 200 | `the conversion of Widget blue/a from ... panicked; the log of the webhook says where`, likewise |
//! | objects that are not converted in time | 200 | `the webhook did not convert the 3 objects of request ... before its deadline`, likewise |
//! | webhooks that [`Webhooks::check`] refuses | 500 | `the webhooks cannot be served: ...` |
//!
//! A body that is no ConversionReview is answered in the same words, with `ConversionReview` and `apiextensions.k8s.io` in them.
//!
//! Of a field that comes twice the last one counts, and half a surrogate pair stands for U+FFFD, as for the API server itself. A
//! derived type refuses an object that has one of its fields twice, which the API server never sends.

mod admit;
mod body;
mod convert;
mod declaration;
mod erased;
mod error;
mod executor;
mod handler;
mod hook;
mod observer;
mod outcomes;
mod policy;
mod refusal;
mod review;
mod room;
mod selector;
mod service;
mod shadow;
mod span;
mod timeout;
mod verdict;
mod webhooks;

pub use convert::{
    Conversion, Convertible, Converting, DefinitionError, Unconvertible, converting,
};
pub use declaration::{
    ConversionDeclaration, Declaration, FailurePolicy, MatchCondition, MatchPolicy, Mode,
    Reinvocation, Role, Rule, Scope, SideEffects,
};
pub use error::DeclarationError;
pub use handler::{Mutate, Object, Validate};
pub use hook::{Hook, Undecodable, mutating, validating};
pub use kubewright_review::Operation::{self, Connect, Create, Delete, Update};
pub use kubewright_review::{
    Change, ConversionVersion, GroupVersionKind, GroupVersionResource, Recording, Version,
};
pub use observer::{Answered, Decision};
pub use outcomes::Outcomes;
pub use policy::{ClusterPolicy, KubernetesVersion, NoKubernetesVersion, PolicyDeclaration};
pub use review::{Review, ReviewBuilder, User};
pub use selector::{Requirement, Selector};
pub use verdict::{Denial, Mutated, OrDeny, Reject, Validated, deny, fail};
pub use webhooks::{Part, Webhooks};
