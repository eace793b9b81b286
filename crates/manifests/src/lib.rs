//! Kubernetes manifests from the declarations that run.
