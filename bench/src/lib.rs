//! Load and start-up measurements, each a ratio against a constant answer over the same TLS.
