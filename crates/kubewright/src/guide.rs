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
//! 8. [`caches`]: finding objects by keys, and holding only the fields that are read.
//! 9. [`ownership`]: across namespaces, of several owners, and by adoption.
//! 10. [`kinds`]: kinds that come and go, metadata alone, and kinds from the configuration.
//! 11. [`programs`]: options, configuration that reloads, manifests, certificates.
//! 12. [`tasks`]: work beside the controllers, schedules, and reconciles that something outside asks for.
//! 13. [`clusters`]: handles and controllers in other clusters, and fleets whose members come and go.
//! 14. [`testing`]: from calling a function to a cluster in your test process.
//! 15. [`certificates`]: a CA in a Secret, and how it is rotated.
//! 16. [`conversion`]: several versions of one custom resource.
//! 17. [`projects`]: the files of `kubewright init` and `kubewright create`.
//! 18. [`operator`]: a sample with instances, passwords, backups and upgrades, and how it is made.
//! 19. [`deploying`]: manifests from the code, and how they are applied.
//! 20. [`shadow`]: what a new rule would decide, on an audit log and in shadow mode.
//! 21. [`observability`]: logs, metrics and traces.
//! 22. [`troubleshooting`]: a message, its cause, and what to do.
//! 23. [`coming_from_controller_runtime`]: its controllers, webhooks, flags and envtest, with code side by side.
//! 24. [`coming_from_kube_rs`]: controllers, finalizers and webhooks, with code side by side.
//! 25. [`coming_from_kubebuilder`]: the counterparts of its commands and markers.
//! 26. [`envtest`]: tests in Go, Java and other languages on the embedded API server.
//! 27. [`commands`]: every command of `kubewright`, with its options.
//! 28. [`options`]: every command of a program, with its options.
//! 29. [`metrics`]: every metric of a program.
//! 30. [`defaults`]: every default, and where to change it.
//! 31. [`not_implemented`]: the requests that only a kubelet could answer, and what they get instead.
//! 32. [`glossary`]: the words of Kubewright, and the first of Kubernetes.

// Its blocks are the files of one project: tests/scaffold builds it, and runs the commands between them.
#[cfg_attr(not(doctest), doc = include_str!("../guide/tutorial.md"))]
#[expect(
    clippy::test_attr_in_doctest,
    reason = "these are the tests of that project, and no doc tests"
)]
pub mod tutorial {}

#[doc = include_str!("../guide/concepts.md")]
pub mod concepts {}

#[doc = include_str!("../guide/first-webhooks.md")]
pub mod first_webhooks {}

#[doc = include_str!("../guide/checking.md")]
pub mod checking {}

#[doc = include_str!("../guide/testing-policies.md")]
pub mod testing_policies {}
#[doc = include_str!("../guide/policies.md")]
pub mod policies {}

#[doc = include_str!("../guide/controllers.md")]
pub mod controllers {}

#[doc = include_str!("../guide/caches.md")]
pub mod caches {}

#[doc = include_str!("../guide/ownership.md")]
pub mod ownership {}

#[doc = include_str!("../guide/kinds.md")]
pub mod kinds {}

#[doc = include_str!("../guide/programs.md")]
pub mod programs {}

#[doc = include_str!("../guide/tasks.md")]
pub mod tasks {}

#[doc = include_str!("../guide/clusters.md")]
pub mod clusters {}

#[doc = include_str!("../guide/testing.md")]
pub mod testing {}

#[doc = include_str!("../guide/certificates.md")]
pub mod certificates {}

#[doc = include_str!("../guide/conversion.md")]
pub mod conversion {}

#[doc = include_str!("../guide/projects.md")]
pub mod projects {}

#[doc = include_str!("../guide/operator.md")]
pub mod operator {}

#[doc = include_str!("../guide/deploying.md")]
pub mod deploying {}

#[doc = include_str!("../guide/shadow.md")]
pub mod shadow {}

#[doc = include_str!("../guide/observability.md")]
pub mod observability {}

#[doc = include_str!("../guide/troubleshooting.md")]
pub mod troubleshooting {}

#[doc = include_str!("../guide/coming-from-controller-runtime.md")]
pub mod coming_from_controller_runtime {}

#[doc = include_str!("../guide/coming-from-kube-rs.md")]
pub mod coming_from_kube_rs {}

#[doc = include_str!("../guide/coming-from-kubebuilder.md")]
pub mod coming_from_kubebuilder {}

#[doc = include_str!("../guide/envtest.md")]
pub mod envtest {}

#[doc = include_str!("../guide/commands.md")]
pub mod commands {}

#[doc = include_str!("../guide/options.md")]
pub mod options {}

#[doc = include_str!("../guide/metrics.md")]
pub mod metrics {}

#[doc = include_str!("../guide/defaults.md")]
pub mod defaults {}

#[doc = include_str!("../guide/not-implemented.md")]
pub mod not_implemented {}

#[doc = include_str!("../guide/glossary.md")]
pub mod glossary {}
