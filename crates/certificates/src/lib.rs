//! Identities, trust bundles and where they come from.
