//! OpenAPI v2, as far as old kubectl needs it.
//!
//! kubectl 1.27 and 1.28 read the protobuf form of `/openapi/v2` before they do anything with a manifest, and stop if there is
//! none; what they look for they then find in v3. So this is a correct document that describes nothing.

/// What the real server calls the form (the `@` of the request is a `.` in the answer, or Go could not read it).
pub const CONTENT_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The form that clients ask for in `Accept`.
pub const ACCEPT: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The document: a version and a title, no paths and no definitions.
pub const PROTOBUF: &[u8] = b"\x0a\x032.0\x12\x19\x0a\x0aKubernetes\x12\x0bunversioned";
