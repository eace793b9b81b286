//! An HTTPS listener for any tower service, with live certificates and a drain that loses nothing.
