//! The toolkit for Kubernetes admission webhooks and controllers.
