//! The guide: from the first function to a program in a cluster.
//!
//! 1. [`first_webhooks`]: a validator, a mutator, and what they can answer.
//! 2. [`testing`]: from calling a function to a cluster in your test process.
//! 3. [`programs`]: options, configuration that changes live, manifests, certificates.
//! 4. [`certificates`]: an authority in a Secret that looks after itself, and how it is rotated.
//! 5. [`conversion`]: several versions of one custom resource.
//! 6. [`controllers`]: caches, handles that are permissions, and functions that keep the world as objects want it.
//! 7. [`observability`]: what a program logs, counts and traces.
//! 8. [`deploying`]: everything that installs a program, from its code.
//! 9. [`commands`]: every command of `kubewright`, with its options.
//! 10. [`projects`]: what `kubewright init` and `kubewright create` make.
//! 11. [`coming_from_kubebuilder`]: where its commands, markers and envtest are here.

#[doc = include_str!("../../../docs/guide/first-webhooks.md")]
pub mod first_webhooks {}

#[doc = include_str!("../../../docs/guide/testing.md")]
pub mod testing {}

#[doc = include_str!("../../../docs/guide/programs.md")]
pub mod programs {}

#[doc = include_str!("../../../docs/guide/certificates.md")]
pub mod certificates {}

#[doc = include_str!("../../../docs/guide/conversion.md")]
pub mod conversion {}

#[doc = include_str!("../../../docs/guide/controllers.md")]
pub mod controllers {}

#[doc = include_str!("../../../docs/guide/observability.md")]
pub mod observability {}

#[doc = include_str!("../../../docs/guide/commands.md")]
pub mod commands {}

#[doc = include_str!("../../../docs/guide/deploying.md")]
pub mod deploying {}

#[doc = include_str!("../../../docs/guide/projects.md")]
pub mod projects {}

#[doc = include_str!("../../../docs/guide/coming-from-kubebuilder.md")]
pub mod coming_from_kubebuilder {}
