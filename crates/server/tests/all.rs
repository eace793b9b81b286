//! The server seen from outside, by real TLS clients on real sockets.
