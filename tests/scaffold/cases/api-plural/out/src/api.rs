//! The kinds that this program has types of: their groups, and the versions of those.

/// `police.example.com`
pub mod police {
    /// `police.example.com/v1`
    pub mod v1 {
        mod sheep;

        pub use sheep::{Sheep, SheepSpec, SheepStatus};
    }
}
