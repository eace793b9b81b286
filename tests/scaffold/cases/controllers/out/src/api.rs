//! Types of the kinds that this program uses, by group and version.

/// `police.example.com`
pub mod police {
    /// `police.example.com/v1`
    pub mod v1 {
        mod patrol;
        mod white_list;

        pub use patrol::{Patrol, PatrolSpec, PatrolStatus};
        pub use white_list::{WhiteList, WhiteListSpec, WhiteListStatus};
    }
}

/// `ship.example.com`
pub mod ship {
    /// `ship.example.com/v1`
    pub mod v1 {
        mod cluster;

        pub use cluster::{Cluster, ClusterSpec, ClusterStatus};
    }
}
