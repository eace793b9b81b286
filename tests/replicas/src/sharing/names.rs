//! What replicas and witness agree on.

/// The namespace of all objects.
pub const NAMESPACE: &str = "default";
/// The Lease by which the replicas share them, or elect a leader.
pub const LEASE: &str = "sharers";
/// Among how many shards.
pub const SHARDS: u16 = 12;
/// The label of the objects.
pub const LABEL: &str = "shared";
/// The annotation that replicas copy.
pub const WANTED: &str = "wanted";
/// Where a replica writes what it has seen.
pub const SEEN: &str = "seen";
/// Where a replica writes its name.
pub const WRITER: &str = "writer";
