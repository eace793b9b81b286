//! The guide: from an empty folder to a program in a cluster, and pages to look things up.
//!
//! `just book` makes a book of the same pages, with search.
//!
//! 1. [`tutorial`]: from an empty folder to a deployed program, step by step.
//! 2. [`concepts`]: the principles behind it, each with what it replaces.
//! 3. [`first_webhooks`]: a validator, a mutator, and what they can answer.
//! 4. [`policies`]: rules in CEL that API servers evaluate, or webhooks in their place.
//! 5. [`controllers`]: reconcilers, caches, and handles that are permissions.
//! 6. [`programs`]: options, configuration that reloads, manifests, certificates.
//! 7. [`testing`]: from calling a function to a cluster in your test process.
//! 8. [`certificates`]: a CA in a Secret, and how it is rotated.
//! 9. [`conversion`]: several versions of one custom resource.
//! 10. [`projects`]: the files of `kubewright init` and `kubewright create`.
//! 11. [`deploying`]: manifests from the code, and how they are applied.
//! 12. [`observability`]: logs, metrics and traces.
//! 13. [`troubleshooting`]: a message, its cause, and what to do.
//! 14. [`coming_from_controller_runtime`]: its controllers, webhooks, flags and envtest, with code side by side.
//! 15. [`coming_from_kube_rs`]: controllers, finalizers and webhooks, with code side by side.
//! 16. [`coming_from_kubebuilder`]: the counterparts of its commands and markers.
//! 17. [`envtest`]: tests in Go, Java and other languages on the embedded API server.
//! 18. [`commands`]: every command of `kubewright`, with its options.
//! 19. [`options`]: every command of a program, with its options.
//! 20. [`metrics`]: every metric of a program.
//! 21. [`defaults`]: every default, and where to change it.
//! 22. [`not_implemented`]: the requests that only a kubelet could answer, and what they get instead.
//! 23. [`glossary`]: the words of Kubewright, and the first of Kubernetes.

// Its blocks are the files of one project: tests/scaffold builds it, and runs the commands between them.
#[cfg_attr(not(doctest), doc = include_str!("../../../docs/guide/tutorial.md"))]
#[expect(
    clippy::test_attr_in_doctest,
    reason = "these are the tests of that project, and no doc tests"
)]
pub mod tutorial {}

#[doc = include_str!("../../../docs/guide/concepts.md")]
pub mod concepts {}

#[doc = include_str!("../../../docs/guide/first-webhooks.md")]
pub mod first_webhooks {}

#[doc = include_str!("../../../docs/guide/policies.md")]
pub mod policies {}

#[doc = include_str!("../../../docs/guide/controllers.md")]
pub mod controllers {}

#[doc = include_str!("../../../docs/guide/programs.md")]
pub mod programs {}

#[doc = include_str!("../../../docs/guide/testing.md")]
pub mod testing {}

#[doc = include_str!("../../../docs/guide/certificates.md")]
pub mod certificates {}

#[doc = include_str!("../../../docs/guide/conversion.md")]
pub mod conversion {}

#[doc = include_str!("../../../docs/guide/projects.md")]
pub mod projects {}

#[doc = include_str!("../../../docs/guide/deploying.md")]
pub mod deploying {}

#[doc = include_str!("../../../docs/guide/observability.md")]
pub mod observability {}

#[doc = include_str!("../../../docs/guide/troubleshooting.md")]
pub mod troubleshooting {}

#[doc = include_str!("../../../docs/guide/coming-from-controller-runtime.md")]
pub mod coming_from_controller_runtime {}

#[doc = include_str!("../../../docs/guide/coming-from-kube-rs.md")]
pub mod coming_from_kube_rs {}

#[doc = include_str!("../../../docs/guide/coming-from-kubebuilder.md")]
pub mod coming_from_kubebuilder {}

#[doc = include_str!("../../../docs/guide/envtest.md")]
pub mod envtest {}

#[doc = include_str!("../../../docs/guide/commands.md")]
pub mod commands {}

#[doc = include_str!("../../../docs/guide/options.md")]
pub mod options {}

#[doc = include_str!("../../../docs/guide/metrics.md")]
pub mod metrics {}

#[doc = include_str!("../../../docs/guide/defaults.md")]
pub mod defaults {}

#[doc = include_str!("../../../docs/guide/not-implemented.md")]
pub mod not_implemented {}

#[doc = include_str!("../../../docs/guide/glossary.md")]
pub mod glossary {}
