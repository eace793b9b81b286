//! The guide: from an empty folder to a program in a cluster, and everything that is there to be looked up.
//!
//! 1. [`tutorial`]: from an empty folder to a deployed program, step by step.
//! 2. [`concepts`]: the principles behind it, each with what it replaces.
//! 3. [`first_webhooks`]: a validator, a mutator, and what they can answer.
//! 4. [`controllers`]: caches, handles that are permissions, and functions that keep the world as objects want it.
//! 5. [`programs`]: options, configuration that changes live, manifests, certificates.
//! 6. [`testing`]: from calling a function to a cluster in your test process.
//! 7. [`certificates`]: an authority in a Secret that looks after itself, and how it is rotated.
//! 8. [`conversion`]: several versions of one custom resource.
//! 9. [`projects`]: what `kubewright init` and `kubewright create` make.
//! 10. [`deploying`]: everything that installs a program, from its code.
//! 11. [`observability`]: what a program logs, counts and traces.
//! 12. [`coming_from_kubebuilder`]: where its commands, markers and envtest are here.
//! 13. [`envtest`]: tests in Go, Java and other languages on the embedded API server.
//! 14. [`commands`]: every command of `kubewright`, with its options.
//! 15. [`options`]: every command of a program, with its options.
//! 16. [`metrics`]: everything that a program counts.
//! 17. [`defaults`]: what holds unless you say otherwise.

// Its blocks are the files of one project: tests/scaffold builds that, and runs the commands between them.
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
