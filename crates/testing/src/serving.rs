//! The webhooks under test, served over HTTPS as they are in a cluster.
