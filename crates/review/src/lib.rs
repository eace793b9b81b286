//! AdmissionReview on the wire, typed changes and lossless patches.
