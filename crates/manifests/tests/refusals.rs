//! What is refused before an API server would.

use std::error::Error;

use kubewright_manifests::{ManifestError, WebhookConfigurations};
use kubewright_webhook::{Create, Delete, Hook, SideEffects, Webhooks};

use super::{configurations, local, mutator, validator};

/// The sentences of an error and its causes.
fn refusal(hooks: impl IntoIterator<Item = Hook>) -> String {
    let error = configurations(hooks, local()).build().unwrap_err();
    format!("{error}: {}", error.source().unwrap())
}

#[test]
fn two_hooks_cannot_have_one_name() {
    let error = refusal([validator("a"), validator("b").named("a.example.com")]);
    assert!(
        error.contains("two hooks are named `a.example.com`"),
        "{error}"
    );
}

#[test]
fn a_name_needs_three_segments() {
    let error = refusal([validator("a").named("a.example")]);
    assert!(
        error.contains("`a.example` is not a domain with at least three segments"),
        "{error}"
    );
}

#[test]
fn a_mutator_cannot_be_called_for_delete() {
    let error = refusal([mutator("a").on([Create, Delete])]);
    assert!(
        error.contains("`a.example.com` mutates and is called for DELETE"),
        "{error}"
    );
    assert!(
        configurations([validator("a").on([Delete])], local())
            .build()
            .is_ok()
    );
}

#[test]
fn side_effects_in_a_dry_run_are_refused() {
    let error = refusal([mutator("a").side_effects(SideEffects::Some)]);
    assert!(
        error.contains("`a.example.com` has side effects in a dry run"),
        "{error}"
    );
}

#[test]
fn a_configuration_needs_a_name_that_kubernetes_accepts() {
    let webhooks = Webhooks::new("example.com").with(mutator("a"));
    for name in ["", "Policy", "policy_1", "policy/1"] {
        let refused = WebhookConfigurations::new(name, &webhooks, local()).build();
        assert_eq!(
            refused,
            Err(ManifestError::Name(name.to_owned())),
            "{name:?}"
        );
    }
    // The name of a configuration that is not written does not matter.
    let unused = WebhookConfigurations::new("policy", &webhooks, local()).validating_named("");
    assert!(unused.build().is_ok());
}

#[test]
fn trust_is_certificates_and_never_a_key() {
    let trusting = |pem: &str| {
        configurations([mutator("a")], local())
            .trusting(pem)
            .build()
    };
    assert_eq!(trusting(""), Err(ManifestError::NoCertificate));
    assert_eq!(
        trusting("a certificate, promised"),
        Err(ManifestError::NoCertificate)
    );
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    for kind in ["", "EC ", "RSA "] {
        let key =
            format!("-----BEGIN {kind}PRIVATE KEY-----\nMIIB\n-----END {kind}PRIVATE KEY-----\n");
        assert_eq!(
            trusting(&format!("{certificate}{key}")),
            Err(ManifestError::PrivateKey)
        );
    }
    assert!(trusting(certificate).is_ok());
}
