//! Types of the kinds that this program uses, by group and version.

/// `police.example.com`
pub mod police {
    /// `police.example.com/v1`
    pub mod v1 {
        mod white_list;

        pub use white_list::{WhiteList, WhiteListSpec, WhiteListStatus};
    }
}

/// `example.org`
pub mod example_org {
    /// `example.org/v1`
    pub mod v1 {
        mod ticket;

        pub use ticket::{Ticket, TicketSpec};
    }
}
