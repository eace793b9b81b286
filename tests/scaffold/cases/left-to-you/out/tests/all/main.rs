//! Tests.

mod pod_webhook;
