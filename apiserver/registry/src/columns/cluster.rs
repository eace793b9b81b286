//! The rows of the smaller kinds: namespaces, nodes, events, configuration, access, admission.
