//! The rules of ARCHITECTURE.md and CONTRIBUTING.md, as tests.
