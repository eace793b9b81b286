//! Types of the kinds that this program uses, by group and version.

/// `police.example.com`
pub mod police {
    /// `police.example.com/v1`
    pub mod v1 {
        mod sheep;

        pub use sheep::{Sheep, SheepSpec, SheepStatus};
    }
}
