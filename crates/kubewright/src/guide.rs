//! The guide: from an empty folder to a program in a cluster, and pages to look things up.
//!
//! `just book` makes a book of the same pages, with search.
//!
//! 1. [`tutorial`]: from an empty folder to a deployed program, step by step.
//! 2. [`concepts`]: the principles behind it, each with what it replaces.
//! 3. [`first_webhooks`]: a validator, a mutator, and what they can answer.
//! 4. [`checking`]: manifests, checked as a cluster would check them.
//! 5. [`testing_policies`]: tables of cases for admission policies, and what they cover.
//! 6. [`policies`]: rules in CEL that API servers evaluate, or webhooks in their place.
//! 7. [`controllers`]: reconcilers, caches, and handles that are permissions.
//! 8. [`programs`]: options, configuration that reloads, manifests, certificates.
//! 9. [`testing`]: from calling a function to a cluster in your test process.
//! 10. [`certificates`]: a CA in a Secret, and how it is rotated.
//! 11. [`conversion`]: several versions of one custom resource.
//! 12. [`projects`]: the files of `kubewright init` and `kubewright create`.
//! 13. [`deploying`]: manifests from the code, and how they are applied.
//! 14. [`shadow`]: what a new rule would decide, on an audit log and in shadow mode.
//! 15. [`observability`]: logs, metrics and traces.
//! 16. [`troubleshooting`]: a message, its cause, and what to do.
//! 17. [`coming_from_controller_runtime`]: its controllers, webhooks, flags and envtest, with code side by side.
//! 18. [`coming_from_kube_rs`]: controllers, finalizers and webhooks, with code side by side.
//! 19. [`coming_from_kubebuilder`]: the counterparts of its commands and markers.
//! 20. [`envtest`]: tests in Go, Java and other languages on the embedded API server.
//! 21. [`commands`]: every command of `kubewright`, with its options.
//! 22. [`options`]: every command of a program, with its options.
//! 23. [`metrics`]: every metric of a program.
//! 24. [`defaults`]: every default, and where to change it.
//! 25. [`not_implemented`]: the requests that only a kubelet could answer, and what they get instead.
//! 26. [`glossary`]: the words of Kubewright, and the first of Kubernetes.

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

#[doc = include_str!("../../../docs/guide/checking.md")]
pub mod checking {}

#[doc = include_str!("../../../docs/guide/testing-policies.md")]
pub mod testing_policies {}
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

#[doc = include_str!("../../../docs/guide/shadow.md")]
pub mod shadow {}

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
