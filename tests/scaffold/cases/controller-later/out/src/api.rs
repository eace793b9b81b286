//! Types of the kinds that this program uses, by group and version.

/// `police.example.com`
pub mod police {
    /// `police.example.com/v1beta1`
    pub mod v1beta1 {
        mod white_list;

        pub use white_list::{WhiteList, WhiteListSpec, WhiteListStatus};
    }
}
