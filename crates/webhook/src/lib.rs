//! Admission handlers as a tower service.
