//! Types of the kinds that this program uses, by group and version.

/// `example.org`
pub mod example_org {
    /// `example.org/v1`
    pub mod v1 {
        mod ticket;

        pub use ticket::{Ticket, TicketSpec};
    }
}
