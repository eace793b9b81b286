//! Types of the kinds that this program uses, by group and version.

/// `police.example.com`
pub mod police {
    /// `police.example.com/v1`
    pub mod v1 {
        mod patrol;

        pub use patrol::{Patrol, PatrolSpec, PatrolStatus};
    }
}

/// `ship.example.com`
pub mod ship {
    /// `ship.example.com/v1`
    pub mod v1 {
        mod patrol;
        mod pod;

        pub use patrol::{Patrol, PatrolSpec, PatrolStatus};
        pub use pod::{Pod, PodSpec, PodStatus};
    }
}
