//! Each plugin on objects of its own, without a server.
