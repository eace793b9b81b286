//! The kinds that this program has types of: their groups, and the versions of those.

/// `example.org`
pub mod example_org {
    /// `example.org/v1`
    pub mod v1 {
        mod ticket;

        pub use ticket::{Ticket, TicketSpec};
    }
}
